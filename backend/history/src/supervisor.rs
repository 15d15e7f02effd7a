//! The task that brings the database up, watches it, and brings it up again.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{Connection as _, PgPool};
use tokio::sync::watch;

use crate::clock;
use crate::cluster::{self, ClusterError, Home, Process};
use crate::database::{DatabaseConfig, DbState, Shared};

/// Name of our database in the private cluster.
const DATABASE: &str = "fleethold";
/// For one connection to be made and answer.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// Between two looks at a database that seems well.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// For a private cluster to replay its log after a crash.
const RECOVERY_LIMIT: Duration = Duration::from_secs(600);
const RECOVERY_STEP: Duration = Duration::from_millis(50);
/// For all migrations together.
const MIGRATE_LIMIT: Duration = Duration::from_secs(600);
const POOL_CONNECTIONS: u32 = 8;
/// For a connection of the pool to become free.
const ACQUIRE_LIMIT: Duration = Duration::from_secs(5);
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_LAST: Duration = Duration::from_secs(15);

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error("private PostgreSQL: {0}")]
    Cluster(#[from] ClusterError),
    #[error("private PostgreSQL: {0}")]
    Ended(String),
    #[error("the database URL is not usable: {0}")]
    Url(sqlx::Error),
    #[error("cannot connect: {0}")]
    Connect(sqlx::Error),
    #[error("no answer within {0:?} to {1}")]
    Slow(Duration, &'static str),
    #[error("cannot migrate the database: {0}")]
    Migrate(#[from] MigrateError),
    #[error("the starting thread failed: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

/// See the module.
pub(crate) struct Supervisor {
    config: DatabaseConfig,
    state: watch::Sender<DbState>,
    shared: Arc<Shared>,
    stop: watch::Receiver<bool>,
    home: Option<Arc<Home>>,
    process: Option<Process>,
}

impl Supervisor {
    pub(crate) fn new(
        config: DatabaseConfig,
        state: watch::Sender<DbState>,
        shared: Arc<Shared>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            config,
            state,
            shared,
            stop,
            home: None,
            process: None,
        }
    }

    pub(crate) async fn run(mut self) {
        let stop = self.stop.clone();
        let mut backoff = BACKOFF_FIRST;
        loop {
            let attempt = self.attempt().await;
            if *stop.borrow() {
                break;
            }
            let reason = match attempt {
                Ok(options) => {
                    backoff = BACKOFF_FIRST;
                    self.become_ready(options.clone());
                    match self.watch(&options).await {
                        Some(reason) => reason,
                        None => break,
                    }
                }
                Err(error) => error.to_string(),
            };
            self.report(&reason);
            self.become_away(reason);
            tokio::select! {
                () = stopping(stop.clone()) => break,
                () = tokio::time::sleep(backoff) => {}
            }
            backoff = (backoff * 2).min(BACKOFF_LAST);
        }
        let pool = self.shared.pool.lock().take();
        if let Some(pool) = pool {
            // Bounded: a connection in the middle of a query on a dead line never comes back.
            if tokio::time::timeout(PROBE_LIMIT, pool.close()).await.is_err() {
                tracing::warn!("connections to the database were cut");
            }
        }
        self.stop_cluster().await;
        self.become_away("stopped".to_owned());
    }

    /// One attempt to get to a migrated database.
    async fn attempt(&mut self) -> Result<PgConnectOptions, AttemptError> {
        let options = match &self.config {
            DatabaseConfig::External(url) => PgConnectOptions::from_str(url).map_err(AttemptError::Url)?,
            DatabaseConfig::Private { .. } => self.private_options().await?,
        };
        let options = options.application_name("fleethold");
        migrate(&options).await?;
        Ok(options)
    }

    /// Has the private cluster running and our database in it.
    async fn private_options(&mut self) -> Result<PgConnectOptions, AttemptError> {
        if self.process.is_none() {
            self.process = Some(self.launch().await?);
        }
        let Some(process) = &self.process else {
            return Err(ClusterError::Cancelled.into());
        };
        let admin = cluster::connect_options(process, "postgres");
        let ended = tokio::select! {
            answered = recovered(&admin) => answered.map(|()| None),
            reason = process.ended() => Ok(Some(reason)),
            () = stopping(self.stop.clone()) => return Err(ClusterError::Cancelled.into()),
        };
        match ended {
            Ok(None) => {}
            Ok(Some(reason)) => {
                self.stop_cluster().await;
                return Err(AttemptError::Ended(reason));
            }
            Err(error) => {
                // Whatever runs there does not answer: the next attempt starts afresh.
                self.stop_cluster().await;
                return Err(error);
            }
        }
        let mut connection = connect(&admin).await?;
        let made = make_database(&mut connection).await;
        connection.close().await.map_err(AttemptError::Connect)?;
        made.map_err(AttemptError::Connect)?;
        Ok(cluster::connect_options(process, DATABASE))
    }

    async fn launch(&mut self) -> Result<Process, AttemptError> {
        let home = match &self.home {
            Some(home) => Arc::clone(home),
            None => {
                let DatabaseConfig::Private { state_dir } = self.config.clone() else {
                    return Err(ClusterError::Cancelled.into());
                };
                let home = tokio::task::spawn_blocking(move || Home::open(&state_dir)).await??;
                Arc::clone(self.home.insert(Arc::new(home)))
            }
        };
        match self.launch_blocking(&home).await {
            Err(AttemptError::Cluster(ClusterError::NoBinaries { .. })) => {
                tokio::select! {
                    downloaded = home.download() => downloaded?,
                    () = stopping(self.stop.clone()) => return Err(ClusterError::Cancelled.into()),
                }
                self.launch_blocking(&home).await
            }
            launched => launched,
        }
    }

    async fn launch_blocking(&self, home: &Arc<Home>) -> Result<Process, AttemptError> {
        let (home, stop) = (Arc::clone(home), self.stop.clone());
        Ok(tokio::task::spawn_blocking(move || home.launch(&|| *stop.borrow())).await??)
    }

    async fn stop_cluster(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop().await;
            if let Some(home) = self.home.clone() {
                let cleaned = tokio::task::spawn_blocking(move || home.clean(&process)).await;
                if let Err(error) = cleaned {
                    tracing::warn!(%error, "the socket folder stays");
                }
            }
        }
    }

    fn become_ready(&mut self, options: PgConnectOptions) {
        *self.shared.pool.lock() = Some(pool_of(options));
        self.state.send_replace(DbState::Ready);
        let process = self.process.as_ref();
        tracing::info!(
            pid = process.map(|process| process.pid),
            adopted = process.map(|process| process.adopted),
            "the history database is ready"
        );
    }

    /// Says that the database is away, once for each reason: attempts go on for as long as it takes.
    fn report(&self, reason: &str) {
        let known = matches!(&*self.state.borrow(), DbState::Away { reason: last, .. } if last == reason);
        if !known {
            tracing::warn!(%reason, "the history database is away");
        }
    }

    /// Keeps the beginning of an outage over all its attempts.
    fn become_away(&mut self, reason: String) {
        if let Some(pool) = self.shared.pool.lock().take() {
            // In the background: closing waits for queries that may hang on a dead line.
            tokio::spawn(async move { pool.close().await });
        }
        let since = match &*self.state.borrow() {
            DbState::Away { since, .. } => *since,
            DbState::Starting | DbState::Ready => clock::now(),
        };
        self.state.send_replace(DbState::Away { since, reason });
    }

    /// Returns why the database is away, or `None` when we are to stop.
    async fn watch(&mut self, options: &PgConnectOptions) -> Option<String> {
        loop {
            let ended = async {
                match &self.process {
                    Some(process) => process.ended().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stopping(self.stop.clone()) => return None,
                reason = ended => {
                    self.stop_cluster().await;
                    return Some(reason);
                }
                () = self.shared.suspect.notified() => {}
                () = tokio::time::sleep(PROBE_EVERY) => {}
            }
            match connect(options).await {
                // It is only told goodbye: an answer would say nothing more.
                Ok(connection) => drop(connection.close().await),
                Err(error) => return Some(error.to_string()),
            }
        }
    }
}

/// Connects and brings the schema up to date.
async fn migrate(options: &PgConnectOptions) -> Result<(), AttemptError> {
    let mut connection = connect(options).await?;
    let migrated = tokio::time::timeout(
        MIGRATE_LIMIT,
        migrations().run_direct(None, &mut connection, false),
    )
    .await;
    // Closing it also frees the migrator's lock, which a failed migration leaves taken.
    let closed = connection.close().await;
    migrated.map_err(|_elapsed| AttemptError::Slow(MIGRATE_LIMIT, "the migrations"))??;
    closed.map_err(AttemptError::Connect)?;
    Ok(())
}

fn pool_of(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(POOL_CONNECTIONS)
        .acquire_timeout(ACQUIRE_LIMIT)
        .connect_lazy_with(options)
}

/// One attempt to get to a database that others run; a command does not start one. `None`: the private cluster of this
/// state directory does not run.
pub(crate) async fn join(config: DatabaseConfig) -> Result<Option<PgPool>, String> {
    let options = match config {
        DatabaseConfig::External(url) => {
            PgConnectOptions::from_str(&url).map_err(|error| AttemptError::Url(error).to_string())?
        }
        DatabaseConfig::Private { state_dir } => {
            let found = tokio::task::spawn_blocking(move || cluster::running(&state_dir, DATABASE)).await;
            match found.map_err(|error| error.to_string())? {
                Some(options) if connect(&options).await.is_ok() => options,
                _ => return Ok(None),
            }
        }
    };
    let options = options.application_name("fleethold bench");
    migrate(&options).await.map_err(|error| error.to_string())?;
    Ok(Some(pool_of(options)))
}

/// The migrations of the top-level folder.
///
/// An older fleethold works on the schema of a newer one (migrations expand first and contract a release later), so
/// applied migrations that it does not know are no reason to refuse.
pub(crate) fn migrations() -> Migrator {
    let mut migrator = sqlx::migrate!("../../migrations");
    migrator.set_ignore_missing(true);
    migrator
}

async fn stopping(mut stop: watch::Receiver<bool>) {
    // A sender that is gone means that nobody wants the database any more.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// One connection that has answered. Not through a pool, which would retry a refused connection until its time is up.
async fn connect(options: &PgConnectOptions) -> Result<PgConnection, AttemptError> {
    let attempt = async {
        let mut connection = PgConnection::connect_with(options).await?;
        connection.ping().await?;
        Ok(connection)
    };
    tokio::time::timeout(PROBE_LIMIT, attempt)
        .await
        .map_err(|_elapsed| AttemptError::Slow(PROBE_LIMIT, "a new connection"))?
        .map_err(AttemptError::Connect)
}

/// Waits until a cluster that has just started takes connections.
async fn recovered(options: &PgConnectOptions) -> Result<(), AttemptError> {
    let wait = async {
        loop {
            match connect(options).await {
                Ok(connection) => return connection.close().await.map_err(AttemptError::Connect),
                Err(error) => tracing::trace!(%error, "postgres does not answer yet"),
            }
            tokio::time::sleep(RECOVERY_STEP).await;
        }
    };
    tokio::time::timeout(RECOVERY_LIMIT, wait)
        .await
        .map_err(|_elapsed| AttemptError::Slow(RECOVERY_LIMIT, "the start of the private cluster"))?
}

async fn make_database(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(DATABASE)
        .fetch_one(&mut *connection)
        .await?;
    if !there {
        sqlx::raw_sql("CREATE DATABASE fleethold")
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
