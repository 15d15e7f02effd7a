//! What a run measured goes to the outbox on disk, and from there into the database: nothing is lost, nothing twice.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use fleethold_history::HistoryError;
use fleethold_history::bench::outbox;
use parking_lot::Mutex;

use super::lab::Lab;
use super::record;
use super::table::BenchCell;
use crate::services::error::{ServiceError, ServiceResult};

/// Keeps what a run measured: on disk when this returns. From there the upkeep takes it to the database, so that the next
/// run does not wait for one that is slow.
pub async fn keep(lab: &Arc<Lab>, cell: &Arc<BenchCell>) {
    if let Err(error) = put(lab, cell).await {
        tracing::error!(id = %cell.id(), %error, "a benchmark run is in memory only; writing it is tried again");
    }
    lab.put.notify_one();
}

/// Writes a run's file into the outbox unless it is there or needs none any more.
async fn put(lab: &Arc<Lab>, cell: &Arc<BenchCell>) -> ServiceResult<()> {
    let Some(outcome) = cell.outcome.lock().clone() else {
        return Ok(());
    };
    let (lab, cell) = (Arc::clone(lab), Arc::clone(cell));
    let written = tokio::task::spawn_blocking(move || {
        let dir = lab.outbox();
        if outbox::file_of(&dir, cell.id()).exists() {
            return Ok(());
        }
        let run = record::of_outcome(&lab, &cell, &outcome);
        outbox::put(&dir, &run)?;
        // Somebody pinned it while it was written.
        if cell.run().pinned && !run.meta.pinned {
            outbox::pin(&dir, cell.id())?;
        }
        Ok::<_, HistoryError>(())
    });
    written.await?.map_err(ServiceError::from)
}

/// Takes note on disk that a run which waits there is kept for good. One that is not there yet is written with it.
///
/// # Errors
/// When its file cannot be read or written.
pub async fn pin(lab: &Arc<Lab>, cell: &Arc<BenchCell>) -> ServiceResult<()> {
    let (dir, id) = (lab.outbox(), cell.id());
    let pinned = tokio::task::spawn_blocking(move || outbox::pin(&dir, id));
    pinned.await?.map(drop).map_err(ServiceError::from)
}

/// Moves what waits in the outbox into the database, and takes note of what arrived.
///
/// # Errors
/// When the database is away; what is not in it waits.
pub async fn upload(lab: &Arc<Lab>) -> Result<(), HistoryError> {
    // One at a time: the folder is read and cleared.
    let _turn = lab.uploading.lock().await;
    let uploaded = outbox::upload_outbox(&lab.views.database, &lab.outbox()).await?;
    for (path, reason) in &uploaded.refused {
        lab.refused.note(path.clone(), reason.clone());
    }
    for cell in lab.views.bench.not_stored() {
        settle(lab, &cell).await?;
    }
    Ok(())
}

/// Takes note that a run arrived. A run that neither arrived nor waits is written again.
async fn settle(lab: &Arc<Lab>, cell: &Arc<BenchCell>) -> Result<(), HistoryError> {
    let database = &lab.views.database;
    let id = cell.id();
    if database.bench_run(id).await?.is_none() {
        if !lab.refused.has(&format!("{id}.json.refused"))
            && let Err(error) = put(lab, cell).await
        {
            tracing::error!(%id, %error, "a benchmark run is in memory only; writing it is tried again");
        }
        return Ok(());
    }
    if cell.run().pinned {
        database.pin_bench_run(id, true).await?;
    }
    lab.views.bench.update(cell, |run| run.stored = true);
    *cell.outcome.lock() = None;
    Ok(())
}

/// Files that the database refused, as long as the server runs; they stay on disk.
#[derive(Debug, Default)]
pub struct Refused(Mutex<BTreeMap<PathBuf, String>>);

impl Refused {
    fn note(&self, path: PathBuf, reason: String) {
        self.0.lock().insert(path, reason);
    }

    fn has(&self, name: &str) -> bool {
        self.0
            .lock()
            .keys()
            .any(|path| path.file_name().is_some_and(|of| of == name))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.lock().len() as u64
    }
}
