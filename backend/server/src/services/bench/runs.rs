//! Runs: ask for one, list, look at, cancel.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench::{
    BenchRun, BenchRunDetail, BenchState, Comparison, CreateBenchRun, FloorReport, Machine,
};
use fleethold_bench_model::matrix::Matrix;
use fleethold_format::names::Authid;
use fleethold_history::HistoryError;
use fleethold_history::bench::{BenchContent, BenchRunFilter, BenchRunRow, CellSeries};
use uuid::Uuid;

use super::content::{self, Held, measured};
use super::encoded::Encoded;
use super::plan::Plan;
use super::table::BenchCell;
use super::{convert, floors, record};
use crate::actors::bench::{Admit, Cancel};
use crate::services::error::ServiceResult;
use crate::services::paging::{PageRequest, foreign_cursor};
use crate::state::AppState;

/// Name of the fact that says why a run has no verdicts.
const NOT_COMPARED: &str = "not_compared";

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
    let by = by.to_string();
    let asked = state.bench.send(Cancel { id, by }).await?;
    match asked {
        // Of a run in the database it is known that it ended.
        Err(error) if error.code == "unknown-run" => match content::find(state, id).await? {
            Held::Kept(_) => Err(crate::actors::bench::already_ended(id)),
            Held::Memory(_) => Err(error),
        },
        asked => asked,
    }
}

/// Runs, the newest first: those in memory and those in the database. While that is away, those in memory.
///
/// # Errors
/// When the cursor is none of this list, or it leads into a database that is away.
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
    let complete = match wanted {
        None => Some(None),
        Some(BenchState::Ok) => Some(Some(true)),
        Some(BenchState::Partial) => Some(Some(false)),
        // Nothing else is kept.
        Some(BenchState::Queued | BenchState::Running | BenchState::Failed) => None,
    };
    let mut runs: BTreeMap<Uuid, BenchRun> = state
        .views
        .bench
        .list()
        .into_iter()
        .filter(|run| {
            workload.is_none_or(|workload| run.workload == workload)
                && wanted.is_none_or(|wanted| run.state == wanted)
                && after.is_none_or(|after| run.id < after)
        })
        .map(|run| (run.id, run))
        .collect();
    if let Some(complete) = complete {
        let filter = BenchRunFilter {
            workload: workload.map(str::to_owned),
            complete,
            ..BenchRunFilter::default()
        };
        let database = Arc::clone(&state.views.database);
        let count = page.limit() + 1;
        let read = state.work.spawn(async move {
            let (mut found, mut cursor) = (Vec::new(), after);
            while found.len() < count {
                let missing = u32::try_from(count - found.len()).unwrap_or(u32::MAX);
                let page = database.bench_runs(&filter, cursor, missing).await?;
                found.extend(page.items);
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            Ok::<_, HistoryError>(found)
        });
        match read.await? {
            // What the database has is as it will stay.
            Ok(rows) => runs.extend(rows.iter().map(|row| (row.id, record::run_of(row)))),
            Err(HistoryError::Away { .. } | HistoryError::Starting) if after.is_none() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let runs: Vec<BenchRun> = runs.into_values().rev().collect();
    let mut page = page.cut(runs, |run| run.id.to_string(), |_, _| true);
    // Not counted beyond this page.
    page.total = None;
    Ok(page)
}

/// One run with its matrix.
///
/// # Errors
/// When there is none with this id, or it is in the database only and that is away.
pub async fn get(state: &AppState, id: Uuid) -> ServiceResult<Encoded> {
    match content::find(state, id).await? {
        Held::Memory(cell) => {
            let (lab, turn) = (Arc::clone(&state.lab), state.lab.turns.turn().await?);
            turn.compute(move || Encoded::of(&in_memory(&lab, &cell)?)).await
        }
        Held::Kept(row) => kept(state, row).await,
    }
}

fn in_memory(lab: &super::lab::Lab, cell: &BenchCell) -> ServiceResult<BenchRunDetail> {
    let run = cell.run();
    let measured = measured(lab, cell);
    let comparison = measured
        .as_ref()
        .map(|(matrix, _)| convert::comparison(matrix, vec![run.id]));
    let machine = Machine {
        fingerprint: lab.machine.fingerprint.clone(),
        class: lab.machine.class.clone(),
        facts: lab.machine.facts.clone(),
        first_seen: run.created_at,
        runs: 0,
        last_run_at: None,
        this: true,
    };
    Ok(BenchRunDetail {
        comparison: comparison.transpose()?,
        load: measured.as_ref().and_then(|(_, load)| load.map(record::load)),
        floors: match measured {
            Some((matrix, Some(load))) => floors::of_matrix(&cell.plan.workload.definition, &matrix, load),
            _ => Vec::new(),
        },
        machine: Some(machine),
        facts: [("fleethold".to_owned(), lab.build.version.clone())].into(),
        attachments: Vec::new(),
        command: cell.plan.command(),
        run,
    })
}

async fn kept(state: &AppState, row: Box<BenchRunRow>) -> ServiceResult<Encoded> {
    let turn = state.lab.turns.turn().await?;
    let (id, machine) = (row.id, row.machine.clone());
    let database = Arc::clone(&state.views.database);
    let read = state.work.spawn(async move {
        let attachments = database.attachments(id).await?;
        let series = database.series_of_run(id).await?;
        let machines = database.machines().await?;
        Ok::<_, HistoryError>((attachments, series, machines))
    });
    let (attachments, series, machines) = read.await??;
    let held = Held::Kept(row);
    let matrix = match content::content(state, &turn, &held).await {
        Ok(BenchContent::Matrix(matrix)) => Some(*matrix),
        Ok(_) => None,
        Err(error) if error.code == "rolled-up" => None,
        Err(error) => return Err(error),
    };
    let Held::Kept(row) = held else {
        return Err(content::unknown(id));
    };
    let (lab, here) = (Arc::clone(&state.lab), &state.lab.machine.fingerprint);
    let machine = machines
        .into_iter()
        .find(|known| Some(&known.machine.fingerprint) == machine.as_ref())
        .map(|known| record::machine_of(known, here));
    let judged = turn.compute(move || {
        let mut facts = record::facts_of(&row);
        let comparison = match matrix.as_ref().map(|matrix| comparison_of(matrix, id, &series)) {
            Some(Ok(comparison)) => Some(comparison),
            // It was kept before such a matrix was refused: what is known of it can be looked at all the same.
            Some(Err(error)) => {
                facts.insert(NOT_COMPARED.to_owned(), error.message);
                None
            }
            None => None,
        };
        Encoded::of(&BenchRunDetail {
            run: record::run_of(&row),
            comparison,
            load: row.load.map(|load| record::load(record::kept_load(load))),
            machine,
            facts,
            floors: floors_of(&lab, &row, matrix.as_ref()),
            attachments: attachments.into_iter().map(record::attachment_of).collect(),
            command: row.facts.get(record::COMMAND).cloned().unwrap_or_default(),
        })
    });
    judged.await
}

fn comparison_of(matrix: &Matrix, id: Uuid, series: &[CellSeries]) -> ServiceResult<Comparison> {
    let mut comparison = convert::comparison(matrix, vec![id])?;
    convert::name_series(&mut comparison, matrix, series);
    Ok(comparison)
}

/// As they were found when the run ended; of an import, by the workload that is offered here under its name.
fn floors_of(lab: &super::lab::Lab, row: &BenchRunRow, matrix: Option<&Matrix>) -> Vec<FloorReport> {
    let kept = row
        .floors
        .clone()
        .and_then(|floors| serde_json::from_value(floors).ok());
    kept.unwrap_or_else(|| {
        let offered = lab
            .workloads
            .iter()
            .find(|offered| offered.definition.name == row.workload.name);
        match (offered, matrix, row.load) {
            (Some(offered), Some(matrix), Some(load)) => {
                floors::of_matrix(&offered.definition, matrix, record::kept_load(load))
            }
            _ => Vec::new(),
        }
    })
}
