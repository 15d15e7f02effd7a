//! Runs: ask for one, list, look at, cancel.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench::{BenchRun, BenchRunDetail, BenchState, CreateBenchRun, Load};
use fleethold_bench::data::DataSet;
use fleethold_bench::guard::LoadReport;
use fleethold_bench::record;
use fleethold_bench::runner::Measurements;
use fleethold_bench_model::matrix::Matrix;
use fleethold_format::names::Authid;
use uuid::Uuid;

use super::lab::Lab;
use super::plan::Plan;
use super::table::BenchCell;
use super::{convert, floors};
use crate::actors::bench::{Admit, Cancel};
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::paging::{PageRequest, foreign_cursor};
use crate::state::AppState;

/// Queues a run.
///
/// # Errors
/// When the workload is none, a field is out of bounds, or too many wait.
pub async fn create(state: &AppState, request: CreateBenchRun, operator: &Authid) -> ServiceResult<BenchRun> {
    let plan = Plan::of(request, &state.lab.workloads)?;
    let operator = operator.to_string();
    state.bench.send(Admit { plan, operator }).await?
}

/// Asks a run to stop; what it measured is kept.
///
/// # Errors
/// When it does not wait or measure.
pub async fn cancel(state: &AppState, id: Uuid, by: &Authid) -> ServiceResult<BenchRun> {
    state
        .bench
        .send(Cancel {
            id,
            by: by.to_string(),
        })
        .await?
}

/// Runs, the newest first.
///
/// # Errors
/// When the cursor is none of this list.
pub async fn list(
    state: &AppState,
    workload: Option<&str>,
    wanted: Option<BenchState>,
    page: &PageRequest,
) -> ServiceResult<Page<BenchRun>> {
    let after: Option<Uuid> = page
        .after()
        .map(|text| text.parse().map_err(|_| foreign_cursor()))
        .transpose()?;
    let mut runs = state.views.bench.list();
    runs.retain(|run| {
        workload.is_none_or(|workload| run.workload == workload)
            && wanted.is_none_or(|wanted| run.state == wanted)
    });
    Ok(page.cut(
        runs,
        |run| run.id.to_string(),
        |run, _| after.is_none_or(|after| run.id < after),
    ))
}

/// One run with its matrix.
///
/// # Errors
/// When there is none with this id, or it is in the database only and that is away.
pub async fn get(state: &AppState, id: Uuid) -> ServiceResult<BenchRunDetail> {
    let Some(cell) = state.views.bench.get(id) else {
        return Err(unknown(id));
    };
    let lab = Arc::clone(&state.lab);
    state.lab.compute(move || in_memory(&lab, &cell)).await
}

fn in_memory(lab: &Lab, cell: &BenchCell) -> ServiceResult<BenchRunDetail> {
    let run = cell.run();
    let measured = matrix_of(lab, cell);
    let comparison = measured
        .as_ref()
        .map(|(matrix, _)| convert::comparison(matrix, vec![run.id]));
    Ok(BenchRunDetail {
        comparison: comparison.transpose()?,
        load: measured.as_ref().and_then(|(_, load)| *load).map(load),
        floors: match measured {
            Some((matrix, Some(load))) => floors::of_matrix(&cell.plan.workload.definition, &matrix, load),
            _ => Vec::new(),
        },
        machine: None,
        facts: BTreeMap::new(),
        attachments: Vec::new(),
        command: cell.plan.command(),
        run,
    })
}

/// What a run measured, so far or in the end; the load is known in the end only.
fn matrix_of(lab: &Lab, cell: &BenchCell) -> Option<(Matrix, Option<LoadReport>)> {
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
        load: LoadReport {
            others: None,
            steal: None,
            quiet: false,
        },
        attachments: Vec::new(),
    };
    let data = DataSet {
        dir: PathBuf::new(),
        sha256: String::new(),
    };
    let plan = &cell.plan;
    let matrix = record::matrix(
        &plan.workload.definition,
        &plan.options,
        &data,
        &lab.environment,
        &measured,
    );
    Some((matrix, None))
}

fn load(of: LoadReport) -> Load {
    Load {
        others: of.others,
        steal: of.steal,
        quiet: of.quiet,
    }
}

fn unknown(id: Uuid) -> ServiceError {
    ServiceError::not_found("unknown-run", format!("there is no benchmark run {id}"))
}
