//! What is remembered of changes of users, tokens and rules: who, from where, how it was and how it is.
//!
//! A change never waits for the database: its entry goes to an outbox on disk first. What cannot be written there is said
//! in the log, whole, and counted.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fleethold_api_types::{AuditItem, AuditQuery, Page};
use fleethold_history::audit::{self, AuditEntry, AuditVia};
use fleethold_history::{Database, DbState};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::error::{ServiceError, ServiceResult};
use super::paging::foreign_cursor;
use crate::auth::session::{Caller, Via};
use crate::auth::users::Change;
use crate::clock;
use crate::state::AppState;

/// What the command line puts into the outbox is moved this often; what this server puts there, at once.
const LOOK: Duration = Duration::from_secs(2);
/// Rows of a page when the request does not say, and at most.
const LIMIT: (u32, u32) = (50, 500);

/// The outbox of this server.
pub struct Audit {
    dir: PathBuf,
    news: Notify,
    lost: AtomicU64,
}

impl Audit {
    /// In a state directory.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self {
            dir: audit::dir(state_dir),
            news: Notify::new(),
            lost: AtomicU64::new(0),
        }
    }

    /// Entries that stand nowhere but in the log.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// An entry of this moment. What changed nothing needs none.
#[must_use]
pub fn entry(actor: String, via: AuditVia, from: Option<IpAddr>, change: Change) -> Option<AuditEntry> {
    if change.old == change.new {
        return None;
    }
    Some(AuditEntry {
        id: Uuid::now_v7(),
        at: clock::now(),
        actor,
        via,
        address: from.map(|address| address.to_canonical().to_string()),
        action: change.action.to_owned(),
        target: change.target,
        was: change.old,
        became: change.new,
    })
}

/// Remembers what a caller changed.
pub async fn note(state: &AppState, caller: &Caller, from: Option<IpAddr>, change: Change) {
    let via = match caller.via {
        Via::Ticket { .. } => AuditVia::Session,
        Via::Token => AuditVia::Token,
    };
    let Some(entry) = entry(caller.authid.to_string(), via, from, change) else {
        return;
    };
    tracing::info!(actor = %entry.actor, action = %entry.action, target = %entry.target, "changed");
    let audit = Arc::clone(&state.audit);
    let written = tokio::task::spawn_blocking(move || {
        if let Err(error) = audit::put(&audit.dir, &entry) {
            audit.lost.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%error, ?entry, "a change stands in this log only");
        }
        audit.news.notify_one();
    });
    if let Err(error) = written.await {
        tracing::error!(%error, "the audit log's writer ended early");
    }
}

/// Moves what waits into the database until `stop`.
pub async fn follow(audit: Arc<Audit>, database: Arc<Database>, stop: CancellationToken) {
    let mut complained = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = audit.news.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
        if *database.state().borrow() != DbState::Ready {
            continue;
        }
        match audit::upload(&database, &audit.dir).await {
            Ok(_) => complained = false,
            // Said once until it works again.
            Err(error) if !complained => {
                complained = true;
                tracing::error!(%error, "the audit log waits in its outbox");
            }
            Err(_) => {}
        }
    }
}

/// A page of the audit log, the newest first.
///
/// # Errors
/// When the query is malformed or the database is away.
pub async fn list(state: &AppState, query: AuditQuery) -> ServiceResult<Page<AuditItem>> {
    let limit = query.limit.unwrap_or(LIMIT.0);
    if !(1..=LIMIT.1).contains(&limit) {
        let text = format!("limit: expected 1 to {}, found {limit}", LIMIT.1);
        return Err(ServiceError::bad_request("invalid-limit", text));
    }
    let before = query
        .cursor
        .map(|cursor| cursor.parse::<Uuid>())
        .transpose()
        .map_err(|_| foreign_cursor())?;
    let (database, target) = (Arc::clone(&state.views.database), query.target);
    let page = state
        .work
        .spawn(async move { database.audit(target.as_deref(), before, limit).await })
        .await??;
    let item = |entry: AuditEntry| AuditItem {
        id: entry.id,
        at: entry.at,
        actor: entry.actor,
        via: entry.via.as_str().to_owned(),
        address: entry.address,
        action: entry.action,
        target: entry.target,
        was: entry.was,
        became: entry.became,
    };
    Ok(Page {
        items: page.items.into_iter().map(item).collect(),
        next_cursor: page.next_cursor.map(|id| id.to_string()),
        total: None,
    })
}
