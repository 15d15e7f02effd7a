//! Restores: create, list, look at, cancel, read the log.

use std::sync::Arc;

use fleethold_api_types::{CreateRestore, HistorySamples, Job, JobLog, JobState, LogLine, Page};
use fleethold_format::names::Authid;
use fleethold_format::upid::Upid;
use uuid::Uuid;

use super::error::{ServiceError, ServiceResult};
use super::paging::{PageRequest, foreign_cursor};
use super::rights::Sight;
use super::secrets::Wiped;
use crate::actors::jobs::{Admit, Cancel};
use crate::jobs::spec::RestoreSpec;
use crate::state::AppState;

/// Lines of a log in one reply.
const LOG_LINES: usize = 1000;

/// Checks a request and queues the restore.
///
/// # Errors
/// When anything about it does not exist, does not fit or is not allowed, or too many are waiting.
pub async fn create(state: &AppState, request: Wiped<CreateRestore>, authid: Authid) -> ServiceResult<Job> {
    let (views, targets) = (Arc::clone(&state.views), Arc::clone(&state.targets));
    let parallel = state.settings.default_parallel;
    let prepared = state.work.spawn_blocking(move || {
        let request = request.hand_over();
        let spec = RestoreSpec::prepare(&views, &targets, request, parallel, authid)?;
        let target = targets.identify(&spec.target);
        Ok::<_, ServiceError>(Admit { spec, target })
    });
    state.jobs.send(prepared.await??).await?
}

/// Restores in memory that somebody sees, the newest first.
///
/// # Errors
/// When the cursor is none of this list.
pub fn list(
    state: &AppState,
    sight: &Sight,
    wanted: Option<JobState>,
    page: &PageRequest,
) -> ServiceResult<Page<Job>> {
    let after = page.after().map(id_of).transpose()?;
    let mut jobs = state.views.jobs.list();
    jobs.retain(|job| wanted.is_none_or(|wanted| job.state == wanted) && sight.job(job));
    Ok(page.cut(
        jobs,
        |job| job.id.to_string(),
        |job, _| after.is_none_or(|after| job.id < after),
    ))
}

/// One restore: from memory, else from its record.
///
/// # Errors
/// When there is none with this id.
pub async fn get(state: &AppState, id: Uuid) -> ServiceResult<Job> {
    if let Some(cell) = state.views.jobs.get(id) {
        return Ok(cell.job());
    }
    let records = state.records.clone();
    let record = state.work.spawn_blocking(move || records.get(id)).await?;
    record.map(|record| record.job).ok_or_else(|| unknown(id))
}

/// Asks a restore to stop.
///
/// # Errors
/// When there is none, or it ended already.
pub async fn cancel(state: &AppState, id: Uuid, by: &Authid) -> ServiceResult<Job> {
    state
        .jobs
        .send(Cancel {
            id,
            by: by.to_string(),
        })
        .await?
}

/// Lines of a restore's log behind line `after`.
///
/// # Errors
/// When there is no such restore or its log cannot be read.
pub async fn log(state: &AppState, id: Uuid, after: u64) -> ServiceResult<JobLog> {
    let job = get(state, id).await?;
    let upid = Upid::parse(&job.upid).map_err(ServiceError::internal)?;
    let tasks = Arc::clone(&state.tasks);
    let skip = usize::try_from(after).unwrap_or(usize::MAX);
    let (lines, total) = state
        .work
        .spawn_blocking(move || tasks.log(&upid, skip, LOG_LINES))
        .await?
        .map_err(|error| ServiceError::internal(format!("cannot read the log of {id}: {error}")))?;
    let lines = lines
        .into_iter()
        .zip(after.saturating_add(1)..)
        .map(|(text, n)| LogLine { n, text })
        .collect();
    Ok(JobLog {
        lines,
        total: total as u64,
    })
}

/// Samples of a restore: from memory, else from the history.
///
/// # Errors
/// When `points` is out of bounds, there is no such restore, or it is in the history only and the database is away.
pub async fn samples(state: &AppState, id: Uuid, points: Option<u32>) -> ServiceResult<HistorySamples> {
    // Also where all there are go out anyway: a request is good or bad whatever the restore's age.
    super::history::points_of(points)?;
    match state.views.jobs.get(id) {
        Some(cell) if cell.newest_sample().is_some() => {
            let (samples, total) = cell.samples();
            Ok(HistorySamples { id, samples, total })
        }
        _ => super::history::samples(state, id, points).await,
    }
}

fn id_of(text: &str) -> ServiceResult<Uuid> {
    text.parse().map_err(|_| foreign_cursor())
}

fn unknown(id: Uuid) -> ServiceError {
    ServiceError::not_found("unknown-job", format!("there is no restore {id}"))
}
