//! What a run measured goes into the database.

use std::sync::Arc;

use super::lab::Lab;
use super::record;
use super::table::BenchCell;
use crate::services::error::{ServiceError, ServiceResult};

/// Keeps what a run measured; says so when it could not.
pub async fn keep(lab: &Arc<Lab>, cell: &Arc<BenchCell>) {
    if let Err(error) = attempt(lab, cell).await {
        tracing::warn!(id = %cell.id(), %error, "a benchmark run is not in the database yet");
    }
}

async fn attempt(lab: &Arc<Lab>, cell: &Arc<BenchCell>) -> ServiceResult<()> {
    let Some(outcome) = cell.outcome.lock().clone() else {
        return Ok(());
    };
    let new = {
        let (lab, cell) = (Arc::clone(lab), Arc::clone(cell));
        tokio::task::spawn_blocking(move || record::of_outcome(&lab, &cell, &outcome)).await?
    };
    let id = new.meta.id;
    let stored = lab.views.database.store_bench_run(new).await?;
    if stored.id != id {
        let text = format!("run {id} has the samples of run {}", stored.id);
        return Err(ServiceError::conflict("known-run", text));
    }
    if cell.run().pinned {
        lab.views.database.pin_bench_run(id, true).await?;
    }
    lab.views.bench.update(cell, |run| run.stored = true);
    *cell.outcome.lock() = None;
    Ok(())
}
