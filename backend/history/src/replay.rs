//! The task that carries records from the spool into the database.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::{mpsc, oneshot, watch};

use crate::database::{Database, DbState, is_outage};
use crate::recorder::SpoolStats;
use crate::spool::thread::Command;
use crate::spool::{Batch, Kind, SpoolError};
use crate::write::{self, Record, WriteError};

/// For one batch to arrive.
const APPLY_LIMIT: Duration = Duration::from_secs(60);
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
const BACKOFF_LAST: Duration = Duration::from_secs(5);

/// Runs until it is aborted or the spool's thread ends.
pub(crate) async fn run(
    database: Arc<Database>,
    spool: mpsc::Sender<Command>,
    mut stats: watch::Receiver<SpoolStats>,
) {
    let mut state = database.state();
    let mut backoff = BACKOFF_FIRST;
    loop {
        let something = stats
            .wait_for(|stats| stats.waiting_jobs + stats.waiting_samples > 0)
            .await
            .is_ok();
        let ready = state.wait_for(|state| *state == DbState::Ready).await.is_ok();
        if !(something && ready) {
            return;
        }
        match carry(&database, &spool).await {
            Ok(()) => backoff = BACKOFF_FIRST,
            Err(CarryError::SpoolEnded) => return,
            Err(error) => {
                tracing::warn!(%error, "records wait in the spool");
                tokio::time::sleep(backoff).await;
                backoff = (backoff * 2).min(BACKOFF_LAST);
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum CarryError {
    #[error("the spool has ended")]
    SpoolEnded,
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(transparent)]
    Database(#[from] crate::error::HistoryError),
}

/// Carries one batch over. It is acknowledged only after the commit; one that was committed unseen comes again, and
/// changes nothing the second time.
async fn carry(database: &Database, spool: &mpsc::Sender<Command>) -> Result<(), CarryError> {
    let (done, answer) = oneshot::channel();
    spool
        .send(Command::Read { done })
        .await
        .map_err(|_| CarryError::SpoolEnded)?;
    let Some(Batch { kind, payloads, end }) = answer.await.map_err(|_| CarryError::SpoolEnded)?? else {
        return Ok(());
    };
    let pool = database.pool()?;
    let mut rejected = Vec::new();
    let mut records = Vec::new();
    for payload in payloads {
        match serde_json::from_slice::<Record>(&payload) {
            Ok(record) => records.push((payload, record)),
            Err(error) => rejected.push((payload, error.to_string())),
        }
    }
    let applied = apply(&pool, kind, records, &mut rejected);
    let orphans = database.bounded_by(APPLY_LIMIT, "write records", applied).await?;
    spool
        .send(Command::Arrived {
            kind,
            end,
            orphans,
            rejected,
        })
        .await
        .map_err(|_| CarryError::SpoolEnded)
}

/// All records in one transaction; if one of them is refused, each in its own, and the refused ones are put aside.
/// Answers the number of samples without a job.
async fn apply(
    pool: &PgPool,
    kind: Kind,
    records: Vec<(Vec<u8>, Record)>,
    rejected: &mut Vec<(Vec<u8>, String)>,
) -> Result<u64, sqlx::Error> {
    match write::all(pool, records.iter().map(|(_, record)| record)).await {
        Ok(orphans) => return Ok(orphans),
        Err(WriteError::Sql(error)) if is_outage(&error) => return Err(error),
        Err(error) => tracing::warn!(%error, ?kind, "a batch is refused: writing its records one by one"),
    }
    let mut orphans = 0;
    for (payload, record) in records {
        match write::all(pool, std::iter::once(&record)).await {
            Ok(more) => orphans += more,
            Err(WriteError::Sql(error)) if !is_refusal(&error) => return Err(error),
            Err(error) => rejected.push((payload, error.to_string())),
        }
    }
    Ok(orphans)
}

/// Whether the database will say the same next time: bad data (22) or a broken rule (23).
fn is_refusal(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(|error| error.code())
        .is_some_and(|code| code.starts_with("22") || code.starts_with("23"))
}
