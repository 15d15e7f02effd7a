//! Runs one restore: plan, sink, engine; samples while it runs; its end, whatever it is, on disk before it is told.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleethold_api_types::{Job, JobError, JobProgress, JobSample, JobState, JobTotals};
use fleethold_restore::{Progress, RestoreEngine, RestoreReport, Sink};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::history_rows;
use super::load::{Load, Pour};
use super::rate::{RateMeter, eta_ns, per_second};
use super::record::{JobRecord, JobRecords};
use super::spec::RestoreSpec;
use super::table::JobCell;
use super::task_files::{TaskEnd, TaskLog};
use crate::clock;
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::targets::Targets;
use crate::views::Views;

/// Samples for the live chart are taken this often.
const SAMPLE_EVERY: Duration = Duration::from_millis(250);
/// Every so many samples the record on disk is brought up to date.
const RECORD_EVERY: u64 = 8;
/// The task log has a line each time so much more is done.
const LOG_STEP_PERCENT: u64 = 10;

/// What all jobs share.
pub struct Runner {
    /// What is published.
    pub views: Arc<Views>,
    /// Records on disk.
    pub records: JobRecords,
    /// The engine.
    pub engine: RestoreEngine,
    /// Where jobs may write.
    pub targets: Arc<Targets>,
    /// The history.
    pub history: history_rows::History,
    /// The server shuts down: what is cancelled now is interrupted.
    pub stopping: AtomicBool,
}

/// How a job ended.
pub enum JobEnd {
    /// Well.
    Done(Box<RestoreReport>),
    /// Not well.
    Failed {
        /// Why.
        error: JobError,
        /// Figures up to there, when it got as far as the engine.
        report: Option<Box<RestoreReport>>,
    },
    /// Somebody asked for it.
    Cancelled {
        /// Figures up to there.
        report: Option<Box<RestoreReport>>,
    },
}

/// Runs an admitted job to its end.
pub async fn run(runner: Arc<Runner>, cell: Arc<JobCell>, spec: RestoreSpec, log: TaskLog) {
    let log = Arc::new(log);
    let (about, file) = (spec.file.to_string(), spec.file.file.clone());
    let work = tokio::spawn(attempt(
        Arc::clone(&runner),
        Arc::clone(&cell),
        spec,
        Arc::clone(&log),
    ));
    let end = match work.await {
        Ok(Ok(end)) => end,
        Ok(Err(error)) => failed(&error, &about, file),
        Err(error) => failed(&ServiceError::internal(error), &about, file),
    };
    conclude(&runner, &cell, log, end).await;
}

/// The end of a restore that did not get as far as the engine.
fn failed(error: &ServiceError, about: &str, file: String) -> JobEnd {
    let error = JobError {
        code: error.code.to_string(),
        message: format!("restoring {about}: {}", error.message),
        file: Some(file),
        chunk: None,
        position: None,
    };
    JobEnd::Failed { error, report: None }
}

async fn attempt(
    runner: Arc<Runner>,
    cell: Arc<JobCell>,
    spec: RestoreSpec,
    log: Arc<TaskLog>,
) -> ServiceResult<JobEnd> {
    if cell.cancel.is_cancelled() {
        return Ok(JobEnd::Cancelled { report: None });
    }
    let job = runner.views.jobs.update(&cell, |job| {
        job.state = JobState::Running;
        job.waits_for = None;
        job.started_at = Some(clock::now());
    });
    let _read = spec.file.store.read()?;
    let (sha256, parallel) = (spec.sha256, spec.parallel);
    runner.history.started(&job, sha256).await;
    let (load, sink, record) = {
        let (runner, log) = (Arc::clone(&runner), Arc::clone(&log));
        spawn_blocking(move || prepare(&runner, &log, job, &spec)).await??
    };
    let (progress, watched) = watch::channel(Progress::default());
    let watcher = Watcher {
        runner: &runner,
        cell: &cell,
        log: &log,
        distinct: load.chunks_distinct,
        record,
    };
    let how = Pour {
        sink,
        parallel,
        progress,
        cancel: cell.cancel.clone(),
        sha256,
    };
    let pour = load.pour(&runner.engine, how);
    // The engine keeps the sender until it is done: the watcher ends with it.
    let (outcome, ()) = tokio::join!(pour, watcher.run(watched));
    Ok(match outcome {
        Ok(report) => JobEnd::Done(Box::new(report)),
        Err(error) if error.is_cancelled() => JobEnd::Cancelled {
            report: Some(Box::new(error.report().clone())),
        },
        Err(error) => {
            let place = error.place();
            let described = JobError {
                code: error.code().to_owned(),
                message: error.to_string(),
                file: Some(error.identity().archive.to_string()),
                chunk: place.map(|place| place.digest.to_string()),
                position: place.map(|place| place.position),
            };
            JobEnd::Failed {
                error: described,
                report: Some(Box::new(error.report().clone())),
            }
        }
    })
}

/// Opens source and target. Blocks.
fn prepare(
    runner: &Runner,
    log: &TaskLog,
    job: Job,
    spec: &RestoreSpec,
) -> ServiceResult<(Load, Sink, JobRecord)> {
    let disk = |error| ServiceError::internal(format!("cannot write the task's files: {error}"));
    let open = spec.file.open(spec.key.as_deref())?;
    let load = Load::read(&runner.engine, open, spec.key.clone(), spec.latency)?;
    log.line(&load.lock_note()).map_err(disk)?;
    if let Some(note) = load.signature_note() {
        log.line(note).map_err(disk)?;
    }
    let (sink, unfinished) = runner.targets.open_sink(&spec.target)?;
    let inode = match &unfinished {
        Some(path) => {
            let file = std::fs::symlink_metadata(path).map_err(ServiceError::internal)?;
            Some((file.dev(), file.ino()))
        }
        None => None,
    };
    let record = JobRecord {
        job,
        unfinished,
        inode,
    };
    // The unfinished file's name is on disk before a byte is in it: whoever comes after a crash can remove it.
    runner.records.write(&record, true).map_err(disk)?;
    if let Some(bytes) = load.plain_bytes {
        log.line(&format!(
            "{bytes} bytes, {} distinct chunks to fetch",
            load.chunks_distinct
        ))
        .map_err(disk)?;
    }
    Ok((load, sink, record))
}

/// Follows a running job: rate, samples, record, log.
struct Watcher<'a> {
    runner: &'a Arc<Runner>,
    cell: &'a Arc<JobCell>,
    log: &'a Arc<TaskLog>,
    distinct: u64,
    /// As it is on disk, to be brought up to date.
    record: JobRecord,
}

impl Watcher<'_> {
    async fn run(self, mut watched: watch::Receiver<Progress>) {
        let start = clock::monotonic();
        let mut tick = tokio::time::interval(SAMPLE_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut rate = RateMeter::default();
        let mut logged_percent = 0;
        for n in 0u64.. {
            tokio::select! {
                _ = tick.tick() => {}
                () = closed(&mut watched) => break,
            }
            let now = *watched.borrow();
            let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let job = self.note(&now, elapsed, &mut rate);
            if n.is_multiple_of(RECORD_EVERY) {
                self.record(job).await;
            }
            let percent = now
                .bytes_done
                .saturating_mul(100)
                .checked_div(now.bytes_total)
                .unwrap_or(0);
            if percent / LOG_STEP_PERCENT > logged_percent / LOG_STEP_PERCENT && percent < 100 {
                logged_percent = percent;
                self.line(format!(
                    "{percent} %: {} of {} bytes",
                    now.bytes_done, now.bytes_total
                ))
                .await;
            }
        }
        let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let last = *watched.borrow();
        self.note(&last, elapsed, &mut rate);
    }

    fn note(&self, now: &Progress, elapsed_ns: u64, rate: &mut RateMeter) -> Job {
        let sample = JobSample {
            t_ns: elapsed_ns,
            bytes_done: now.bytes_done,
            encoded_bytes_read: now.encoded_bytes_read,
            bytes_written: now.bytes_written,
            in_flight: u32::try_from(now.in_flight).unwrap_or(u32::MAX),
            memory_bytes: now.budget_used_bytes,
        };
        let rate = rate.push(elapsed_ns, now.bytes_done);
        self.runner.views.jobs.sample(self.cell, sample);
        let job = self.runner.views.jobs.update(self.cell, |job| {
            job.progress = progress_of(now, self.distinct);
            job.progress.elapsed_ns = elapsed_ns;
            job.progress.rate_bytes_per_s = rate;
            job.progress.eta_ns = eta_ns(now.bytes_total.saturating_sub(now.bytes_done), rate);
        });
        self.runner.history.sample(&job, &sample);
        job
    }

    async fn record(&self, job: Job) {
        let id = job.id;
        let record = JobRecord {
            job,
            ..self.record.clone()
        };
        let runner = Arc::clone(self.runner);
        let written = spawn_blocking(move || runner.records.write(&record, false)).await;
        if let Err(error) = written.map_err(std::io::Error::other).and_then(|written| written) {
            tracing::warn!(%id, %error, "the record of a running restore was not brought up to date");
        }
    }

    async fn line(&self, text: String) {
        let log = Arc::clone(self.log);
        let written = spawn_blocking(move || log.line(&text)).await;
        if let Err(error) = written.map_err(std::io::Error::other).and_then(|written| written) {
            tracing::warn!(%error, "a line of a task log was not written");
        }
    }
}

/// Resolves when nobody can publish any more.
async fn closed(watched: &mut watch::Receiver<Progress>) {
    while watched.changed().await.is_ok() {}
}

fn progress_of(now: &Progress, distinct: u64) -> JobProgress {
    JobProgress {
        bytes_total: now.bytes_total,
        bytes_done: now.bytes_done,
        bytes_written: now.bytes_written,
        zero_bytes: now.zero_bytes,
        chunks_total: now.chunks_total,
        chunks_done: now.chunks_done,
        chunks_distinct: distinct,
        chunks_fetched: now.chunks_fetched,
        chunks_duplicate: now.chunks_duplicate,
        chunks_refetched: now.refetched,
        encoded_bytes_read: now.encoded_bytes_read,
        in_flight: u32::try_from(now.in_flight).unwrap_or(u32::MAX),
        memory_bytes: now.budget_used_bytes,
        ..JobProgress::default()
    }
}

/// Puts the end of a job on disk and into the history, then tells everybody.
pub async fn conclude(runner: &Arc<Runner>, cell: &Arc<JobCell>, log: Arc<TaskLog>, end: JobEnd) {
    let stopping = runner.stopping.load(Ordering::Acquire);
    let (state, error, report) = match end {
        JobEnd::Done(report) => (JobState::Ok, None, Some(report)),
        JobEnd::Failed { error, report } => (JobState::Failed, Some(error), report),
        // Who cancelled it before the server stopped was told so.
        JobEnd::Cancelled { report } if stopping && cell.job().state != JobState::Cancelled => {
            (JobState::Interrupted, Some(interrupted()), report)
        }
        JobEnd::Cancelled { report } => (JobState::Cancelled, None, report),
    };
    let mut job = cell.job();
    job.state = state;
    job.waits_for = None;
    job.finished_at = Some(clock::now());
    job.progress.in_flight = 0;
    job.progress.eta_ns = None;
    job.error = error;
    let (sha256, totals) = totals(&job, report.as_deref());
    job.totals = Some(totals);
    let text = match (&job.error, state) {
        (Some(error), _) => TaskEnd::Error(error.message.clone()),
        (None, JobState::Cancelled) => TaskEnd::Error("cancelled".into()),
        _ => TaskEnd::Ok,
    };
    let written = {
        let (runner, job) = (Arc::clone(runner), job.clone());
        spawn_blocking(move || {
            // The record first: a crash in between must not leave an ended task whose restore looks running.
            let recorded = runner.records.write(&JobRecord::of(job.clone()), true);
            if let Err(error) = runner.records.prune() {
                tracing::warn!(%error, "old records of restores stay");
            }
            log.line(&summary(&job))
                .and_then(|()| log.finish(&text))
                .and(recorded)
        })
        .await
    };
    if let Err(error) = written.map_err(std::io::Error::other).and_then(|written| written) {
        tracing::error!(id = %job.id, %error, "the end of a restore could not be written to its task files");
    }
    runner.history.finished(&job, sha256).await;
    tracing::info!(id = %job.id, state = ?job.state, error = job.error.as_ref().map(|e| e.message.as_str()), "restore ended");
    runner.views.jobs.update(cell, |shown| *shown = job);
}

fn interrupted() -> JobError {
    JobError {
        code: "interrupted".into(),
        message: "interrupted: the server was stopped while the restore ran".into(),
        file: None,
        chunk: None,
        position: None,
    }
}

/// Figures of the end, and whether a digest of the whole file is among them.
fn totals(job: &Job, report: Option<&RestoreReport>) -> (bool, JobTotals) {
    let totals = match report {
        Some(report) => JobTotals {
            duration_ns: report.duration_ns,
            cpu_ns: report.cpu_ns,
            rate_bytes_per_s: per_second(job.progress.bytes_done, report.duration_ns),
            sha256: report.sha256.clone(),
            index_csum: Some(report.index_csum.clone()).filter(|csum| !csum.is_empty()),
        },
        None => JobTotals {
            duration_ns: job.progress.elapsed_ns,
            rate_bytes_per_s: per_second(job.progress.bytes_done, job.progress.elapsed_ns),
            ..JobTotals::default()
        },
    };
    (totals.sha256.is_some(), totals)
}

fn summary(job: &Job) -> String {
    let (progress, totals) = (&job.progress, job.totals.clone().unwrap_or_default());
    let mut text = format!(
        "{} of {} bytes, {} of them zeros, {} chunks fetched, {} bytes read, {} bytes/s",
        progress.bytes_done,
        progress.bytes_total,
        progress.zero_bytes,
        progress.chunks_fetched,
        progress.encoded_bytes_read,
        totals.rate_bytes_per_s,
    );
    if let Some(digest) = totals.sha256 {
        text.push_str(&format!(", sha256 {digest}"));
    }
    text
}
