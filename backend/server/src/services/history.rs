//! Past restores, from PostgreSQL.

use fleethold_api_types::{HistoryItem, HistoryQuery, HistorySamples, Page};
use fleethold_history::{Database, HistoryError, JobFilter, Machine, OutcomeFilter};
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

use super::error::{ServiceError, ServiceResult};
use super::paging::foreign_cursor;
use crate::jobs::history_rows::{job_of, outcome_of, sample_of};
use crate::state::AppState;

/// Rows of a page when the request does not say.
const DEFAULT_LIMIT: u32 = 50;
/// Rows of a page at most.
const MAX_LIMIT: u32 = 200;
/// Points of a curve when the request does not say.
const DEFAULT_POINTS: u32 = 1000;
/// Points of a curve at most.
const MAX_POINTS: u32 = 10_000;

/// A page of past restores, the newest first.
///
/// # Errors
/// When the query is malformed or the database is away.
pub async fn list(state: &AppState, query: HistoryQuery) -> ServiceResult<Page<HistoryItem>> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        let text = format!("limit: expected 1 to {MAX_LIMIT}, found {limit}");
        return Err(ServiceError::bad_request("invalid-limit", text));
    }
    let cursor = query
        .cursor
        .map(|cursor| cursor.parse::<Uuid>())
        .transpose()
        .map_err(|_| foreign_cursor())?;
    let filter = JobFilter {
        store: query.store,
        outcome: query
            .state
            .map(|state| outcome_of(state).map_or(OutcomeFilter::Unfinished, OutcomeFilter::Is)),
        text: query.text.filter(|text| !text.is_empty()),
    };
    let database = Arc::clone(&state.views.database);
    let (page, machines, counts) = state
        .work
        .spawn(async move {
            let page = database.jobs(&filter, cursor, limit).await?;
            let mut machines: HashMap<String, Option<Machine>> = HashMap::new();
            for job in &page.items {
                if !machines.contains_key(&job.machine) {
                    machines.insert(job.machine.clone(), database.machine(&job.machine).await?);
                }
            }
            let ids: Vec<Uuid> = page.items.iter().map(|job| job.id).collect();
            let counts = database.sample_counts(&ids).await?;
            Ok::<_, HistoryError>((page, machines, counts))
        })
        .await??;
    let items = page
        .items
        .into_iter()
        .map(|row| HistoryItem {
            machine: row.machine.clone(),
            machine_text: machines
                .get(&row.machine)
                .and_then(Option::as_ref)
                .map(words)
                .unwrap_or_default(),
            samples: counts.get(&row.id).copied().unwrap_or(0),
            job: job_of(row),
        })
        .collect();
    Ok(Page {
        items,
        next_cursor: page.next_cursor.map(|id| id.to_string()),
        total: None,
    })
}

/// One past restore.
///
/// # Errors
/// When there is none with this id or the database is away.
pub async fn get(state: &AppState, id: Uuid) -> ServiceResult<HistoryItem> {
    let database = Arc::clone(&state.views.database);
    let found = state
        .work
        .spawn(async move {
            let Some(row) = database.job(id).await? else {
                return Ok(None);
            };
            let machine = database.machine(&row.machine).await?;
            let samples = sample_count(&database, id).await?;
            Ok::<_, HistoryError>(Some((row, machine, samples)))
        })
        .await??;
    let (row, machine, samples) = found
        .ok_or_else(|| ServiceError::not_found("unknown-job", format!("the history has no restore {id}")))?;
    Ok(HistoryItem {
        machine: row.machine.clone(),
        machine_text: machine.as_ref().map(words).unwrap_or_default(),
        samples,
        job: job_of(row),
    })
}

/// How many points of a curve are asked for.
///
/// # Errors
/// When there are too few or too many.
pub fn points_of(asked: Option<u32>) -> ServiceResult<u32> {
    let points = asked.unwrap_or(DEFAULT_POINTS);
    if (4..=MAX_POINTS).contains(&points) {
        return Ok(points);
    }
    let text = format!("points: expected 4 to {MAX_POINTS}, found {points}");
    Err(ServiceError::bad_request("invalid-points", text))
}

/// Samples of a past restore, thinned to `points`.
///
/// # Errors
/// When there is no such restore or the database is away.
pub async fn samples(state: &AppState, id: Uuid, points: Option<u32>) -> ServiceResult<HistorySamples> {
    let points = points_of(points)?;
    let database = Arc::clone(&state.views.database);
    let (known, found, total) = state
        .work
        .spawn(async move {
            let known = database.job(id).await?.is_some();
            let total = sample_count(&database, id).await?;
            Ok::<_, HistoryError>((known, database.samples(id, points).await?, total))
        })
        .await??;
    if !known {
        return Err(ServiceError::not_found(
            "unknown-job",
            format!("the history has no restore {id}"),
        ));
    }
    Ok(HistorySamples {
        id,
        samples: found.iter().map(|point| sample_of(&point.sample)).collect(),
        total,
    })
}

async fn sample_count(database: &Database, id: Uuid) -> Result<u64, HistoryError> {
    Ok(database.sample_counts(&[id]).await?.remove(&id).unwrap_or(0))
}

/// A machine in words.
fn words(machine: &Machine) -> String {
    let mut parts = Vec::new();
    parts.extend(machine.cpu_model.clone());
    parts.extend(machine.cores.map(|cores| format!("{cores} cores")));
    parts.extend(machine.ram_bytes.map(|bytes| format!("{} GiB", bytes >> 30)));
    parts.extend(machine.kernel.clone());
    parts.extend(machine.file_system.clone());
    parts.join(", ")
}
