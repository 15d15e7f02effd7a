//! A restore comes into being: task file, record, entry in the table.

use std::sync::Arc;

use fleethold_api_types::{Job, JobProgress, JobState, RestoreSource};
use uuid::Uuid;

use super::record::JobRecord;
use super::run::Runner;
use super::spec::RestoreSpec;
use super::table::JobCell;
use super::task_files::{TaskFiles, TaskLog};
use crate::clock;
use crate::services::convert::crypt_mode;
use crate::services::error::{ServiceError, ServiceResult};

/// Worker type of a restore's task.
pub const WORKER_TYPE: &str = "restore";

/// Creates a restore; everything is on disk when this returns. Blocks.
///
/// # Errors
/// When task file or record cannot be written.
pub fn create(
    runner: &Runner,
    tasks: &Arc<TaskFiles>,
    spec: RestoreSpec,
) -> ServiceResult<(Arc<JobCell>, RestoreSpec, TaskLog)> {
    let disk = |error| ServiceError::internal(format!("cannot write the task's files: {error}"));
    let log = tasks
        .start(WORKER_TYPE, &worker_id(&spec), &spec.authid)
        .map_err(disk)?;
    let job = Job {
        id: Uuid::now_v7(),
        upid: log.upid().to_string(),
        source: RestoreSource {
            store: spec.file.store.name.to_string(),
            ns: spec.file.ns.to_string(),
            snapshot: spec.file.snapshot.to_string(),
            archive: spec.archive.to_string(),
        },
        target: spec.target.clone(),
        parallel: u32::try_from(spec.parallel).unwrap_or(u32::MAX),
        simulate_latency_ms: u32::try_from(spec.latency.as_millis()).unwrap_or(u32::MAX),
        crypt_mode: Some(crypt_mode(spec.crypt_mode)),
        user: spec.authid.to_string(),
        state: JobState::Queued,
        waits_for: None,
        progress: JobProgress::default(),
        created_at: clock::now(),
        started_at: None,
        finished_at: None,
        error: None,
        totals: None,
    };
    let record = JobRecord::of(job.clone());
    log.line(&describe(&job))
        .and_then(|()| runner.records.write(&record, true))
        .map_err(disk)?;
    Ok((runner.views.jobs.insert(job), spec, log))
}

/// `store:[ns/…:]type/id/HEX time`, as the tasks of PBS name a snapshot, and the archive.
fn worker_id(spec: &RestoreSpec) -> String {
    let (store, snapshot) = (&spec.file.store.name, &spec.file.snapshot);
    let ns = if spec.file.ns.is_root() {
        String::new()
    } else {
        format!("ns/{}:", spec.file.ns)
    };
    format!(
        "{store}:{ns}{}/{:08X}/{}",
        snapshot.group,
        snapshot.time.epoch(),
        spec.archive
    )
}

fn describe(job: &Job) -> String {
    let source = &job.source;
    let ns = if source.ns.is_empty() {
        String::new()
    } else {
        format!(", namespace {}", source.ns)
    };
    let target = job.target.path.as_deref().unwrap_or("null: read and check only");
    format!(
        "restore {} of {} in datastore {}{ns} to {target}, {} fetches in parallel",
        source.archive, source.snapshot, source.store, job.parallel
    )
}
