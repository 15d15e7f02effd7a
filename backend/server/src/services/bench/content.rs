//! The numbers of a run, wherever they are.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use fleethold_bench::data::DataSet;
use fleethold_bench::guard::LoadReport;
use fleethold_bench::record;
use fleethold_bench::runner::Measurements;
use fleethold_bench_model::matrix::{Matrix, load};
use fleethold_history::bench::{BenchContent, BenchRunRow};
use uuid::Uuid;

use super::lab::Lab;
use super::table::BenchCell;
use super::turns::Turn;
use crate::services::error::{ServiceError, ServiceResult};
use crate::state::AppState;

/// A run: in memory as long as it is not in the database, else there.
pub enum Held {
    /// Waits, measures, failed, or is on its way to the database.
    Memory(Arc<BenchCell>),
    /// In the database.
    Kept(Box<BenchRunRow>),
}

/// The run with this id.
///
/// # Errors
/// When there is none, or it is in the database only and that is away.
pub async fn find(state: &AppState, id: Uuid) -> ServiceResult<Held> {
    if let Some(cell) = state.views.bench.get(id)
        && !cell.run().stored
    {
        return Ok(Held::Memory(cell));
    }
    let database = Arc::clone(&state.views.database);
    let row = state
        .work
        .spawn(async move { database.bench_run(id).await })
        .await??;
    row.map(|row| Held::Kept(Box::new(row)))
        .ok_or_else(|| unknown(id))
}

/// There is no such run.
#[must_use]
pub fn unknown(id: Uuid) -> ServiceError {
    ServiceError::not_found("unknown-run", format!("there is no benchmark run {id}"))
}

/// The numbers of a run, which may be many: read in a turn.
///
/// # Errors
/// When its raw samples are gone, or the database is away.
pub async fn content(state: &AppState, turn: &Turn, held: &Held) -> ServiceResult<BenchContent> {
    let row = match held {
        Held::Memory(cell) => {
            let (lab, cell) = (Arc::clone(&state.lab), Arc::clone(cell));
            let read = turn.compute(move || {
                let (matrix, _) = measured(&lab, &cell).ok_or_else(|| {
                    let text = format!("run {} has measured nothing yet", cell.id());
                    ServiceError::unprocessable("nothing-measured", text)
                })?;
                Ok(BenchContent::Matrix(Box::new(matrix)))
            });
            return read.await;
        }
        Held::Kept(row) => row,
    };
    let (id, has_matrix) = (row.id, row.has_matrix);
    let (database, turn) = (Arc::clone(&state.views.database), turn.clone());
    let read = state.work.spawn(async move {
        // Whoever waits for it: the memory is taken until this ends.
        let _turn = turn;
        if has_matrix && let Some(matrix) = database.bench_matrix(id).await? {
            return Ok(Some(BenchContent::Matrix(Box::new(matrix))));
        }
        database.bench_content(id).await
    });
    match read.await?? {
        Some(BenchContent::RolledUp) => Err(ServiceError::unprocessable(
            "rolled-up",
            format!("run {id}: its raw samples are gone; the history of its series has their figures"),
        )),
        Some(content) => Ok(content),
        None => Err(unknown(id)),
    }
}

/// The matrix of a run.
///
/// # Errors
/// As [`content`], and when it is an imported file with one side only, or none.
pub async fn matrix(state: &AppState, turn: &Turn, held: &Held) -> ServiceResult<Matrix> {
    match content(state, turn, held).await? {
        BenchContent::Matrix(matrix) => Ok(*matrix),
        _ => Err(ServiceError::unprocessable(
            "one-side-only",
            "expected a run with both its sides, found an imported file with one side or none: compare it with another one",
        )),
    }
}

/// What a run in memory measured, so far or in the end; the load is known in the end only.
#[must_use]
pub fn measured(lab: &Lab, cell: &BenchCell) -> Option<(Matrix, Option<LoadReport>)> {
    if let Some(outcome) = cell.outcome.lock().as_ref() {
        return Some((outcome.matrix.clone(), Some(outcome.measurements.load)));
    }
    let series = cell.series.lock().clone();
    if series.is_empty() {
        return None;
    }
    let measured = Measurements {
        series,
        complete: false,
        failure: None,
        load: LoadReport {
            others: None,
            steal: None,
            quiet: false,
        },
        attachments: Vec::new(),
        notes: BTreeMap::new(),
    };
    let data = DataSet {
        dir: PathBuf::new(),
        sha256: String::new(),
    };
    let plan = &cell.plan;
    let mut matrix = record::matrix(
        &plan.workload.definition,
        &plan.options,
        &data,
        &lab.environment,
        &measured,
    );
    // Nobody knows yet how busy the machine is: what is shown meanwhile is judged as if it were quiet.
    matrix.parameters.remove(load::QUIET);
    Some((matrix, None))
}
