//! The database as the rest of the program sees it: there, or away and coming back.
//!
//! ```text
//!             ┌──────────── probe fails, the cluster ends ───────────┐
//!             ▼                                                      │
//!  Starting ─▶ attempt (launch, connect, migrate) ── it answers ──▶ Ready
//!             │      ▲
//!             ▼      │ bounded backoff
//!           Away ────┘
//! ```

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::PgPool;
use time::OffsetDateTime;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::error::HistoryError;
use crate::supervisor::Supervisor;

/// How long a read may take.
const QUERY_LIMIT: Duration = Duration::from_secs(15);

/// Which database to use.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseConfig {
    /// The user's own server, `postgres://…`.
    External(String),
    /// A cluster of our own in `<state_dir>/pg`.
    Private {
        /// The state directory.
        state_dir: PathBuf,
    },
}

impl fmt::Debug for DatabaseConfig {
    /// Without the URL, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::External(_) => f.write_str("External(..)"),
            Self::Private { state_dir } => f.debug_struct("Private").field("state_dir", state_dir).finish(),
        }
    }
}

/// Whether the database can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DbState {
    /// The first attempt to reach it is under way.
    Starting,
    /// It answers and is migrated.
    Ready,
    /// It cannot be used; attempts go on in the background.
    Away {
        /// Since when.
        since: OffsetDateTime,
        /// What the last attempt said.
        reason: String,
    },
}

/// What the supervisor and the readers share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Set while the state is `Ready`.
    pub(crate) pool: Mutex<Option<PgPool>>,
    /// A reader met a dead connection: look now.
    pub(crate) suspect: Notify,
}

/// A database that may come and go. Reads fail at once while it is away; what has to arrive goes through
/// [`Recorder`](crate::Recorder).
#[derive(Debug)]
pub struct Database {
    state: watch::Receiver<DbState>,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    supervisor: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Database {
    /// Starts to bring the database up and returns at once; [`Database::state`] tells how it goes.
    ///
    /// Must be called within a tokio runtime, which has to live until [`Database::stop`] has returned.
    pub fn start(config: DatabaseConfig) -> Arc<Self> {
        let (state_tx, state) = watch::channel(DbState::Starting);
        let (stop, stop_rx) = watch::channel(false);
        let shared = Arc::new(Shared {
            pool: Mutex::new(None),
            suspect: Notify::new(),
        });
        let supervisor = Supervisor::new(config, state_tx, Arc::clone(&shared), stop_rx);
        let task = tokio::spawn(supervisor.run());
        Arc::new(Self {
            state,
            shared,
            stop,
            supervisor: tokio::sync::Mutex::new(Some(task)),
        })
    }

    /// Joins a database that is there, for a command: nothing is started, nothing reconnects. `None`: the private
    /// cluster of this state directory does not run.
    ///
    /// # Errors
    /// [`HistoryError::Unreachable`] when a database that was named cannot be used.
    pub async fn join(config: DatabaseConfig) -> Result<Option<Arc<Self>>, HistoryError> {
        let joined = crate::supervisor::join(config).await;
        let Some(pool) = joined.map_err(|reason| HistoryError::Unreachable { reason })? else {
            return Ok(None);
        };
        let (_, state) = watch::channel(DbState::Ready);
        let (stop, _) = watch::channel(false);
        Ok(Some(Arc::new(Self {
            state,
            shared: Arc::new(Shared {
                pool: Mutex::new(Some(pool)),
                suspect: Notify::new(),
            }),
            stop,
            supervisor: tokio::sync::Mutex::new(None),
        })))
    }

    /// The state and its changes.
    pub fn state(&self) -> watch::Receiver<DbState> {
        self.state.clone()
    }

    /// Closes the connections and stops the private cluster; returns when it is down. A second call does nothing.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        if let Some(task) = self.supervisor.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the supervisor of the database failed");
        }
        // Of a database that was joined; the supervisor has closed its own.
        let pool = self.shared.pool.lock().take();
        if let Some(pool) = pool {
            pool.close().await;
        }
    }

    /// The pool, or why there is none.
    pub(crate) fn pool(&self) -> Result<PgPool, HistoryError> {
        if let Some(pool) = self.shared.pool.lock().clone() {
            return Ok(pool);
        }
        match &*self.state.borrow() {
            DbState::Away { since, reason } => Err(HistoryError::Away {
                since: *since,
                reason: reason.clone(),
            }),
            DbState::Starting | DbState::Ready => Err(HistoryError::Starting),
        }
    }

    /// Runs a query that a person waits for within the time limit, and has the database looked at when the connection
    /// seems dead.
    pub(crate) async fn bounded<T>(
        &self,
        what: &'static str,
        query: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, HistoryError> {
        self.bounded_by(QUERY_LIMIT, what, query).await
    }

    /// As [`Database::bounded`], with another limit.
    pub(crate) async fn bounded_by<T>(
        &self,
        limit: Duration,
        what: &'static str,
        query: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, HistoryError> {
        match tokio::time::timeout(limit, query).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(source)) => {
                if is_outage(&source) {
                    self.shared.suspect.notify_one();
                }
                Err(HistoryError::Query { what, source })
            }
            Err(_elapsed) => {
                self.shared.suspect.notify_one();
                Err(HistoryError::Slow { what, limit })
            }
        }
    }
}

/// Whether the error says something about the database or the way to it, not about the statement.
pub(crate) fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        // The class of a code: 08 connection, 25 read-only, 53 resources (disk full, too many connections),
        // 57 shutting down or starting, 58 its own file system, XX internal.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            ["08", "25", "53", "57", "58", "XX"]
                .iter()
                .any(|class| code.starts_with(class))
        }),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}
