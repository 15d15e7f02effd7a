//! Jobs and samples as rows of the history, and back.

use std::sync::Arc;

use fleethold_api_types::{
    Job, JobError, JobProgress, JobSample, JobState, JobTotals, RestoreSource, RestoreTarget, TargetKind,
};
use fleethold_history::{JobRow, Machine, Outcome, Recorder, SampleRow, Totals};
use serde_json::{Value, json};

use super::rate::per_second;

/// The way into the history.
#[derive(Clone)]
pub struct History {
    /// Takes rows, whether or not the database is there.
    pub recorder: Arc<Recorder>,
    /// What jobs run on.
    pub machine: Machine,
    /// The budget they share.
    pub memory_bytes: u64,
}

impl History {
    /// Notes a job that was asked for or admitted.
    pub async fn started(&self, job: &Job, sha256: bool) {
        if let Err(error) = self.recorder.job_started(self.row(job, sha256)).await {
            tracing::warn!(id = %job.id, %error, "the history took no note of a restore");
        }
    }

    /// Notes the end of a job.
    pub async fn finished(&self, job: &Job, sha256: bool) {
        if let Err(error) = self.recorder.job_finished(self.row(job, sha256)).await {
            tracing::warn!(id = %job.id, %error, "the history took no note of the end of a restore");
        }
    }

    /// Notes a sample; the recorder thins them.
    pub fn sample(&self, job: &Job, sample: &JobSample) {
        let row = SampleRow {
            t_ns: sample.t_ns,
            bytes_done: sample.bytes_done,
            bytes_written: sample.bytes_written,
            encoded_bytes_read: sample.encoded_bytes_read,
            chunks_done: job.progress.chunks_done,
            in_flight: sample.in_flight,
            budget_used_bytes: sample.memory_bytes,
        };
        self.recorder.samples(job.id, vec![row]);
    }

    fn row(&self, job: &Job, sha256: bool) -> JobRow {
        JobRow {
            id: job.id,
            upid: job.upid.clone(),
            store: job.source.store.clone(),
            ns: job.source.ns.clone(),
            snapshot: job.source.snapshot.clone(),
            archive: job.source.archive.clone(),
            target: target_text(&job.target),
            parallel: Some(job.parallel),
            memory_bytes: self.memory_bytes,
            params: json!({
                "simulate_latency_ms": job.simulate_latency_ms,
                "sha256": sha256,
                "overwrite": job.target.overwrite,
                "target_kind": job.target.kind,
                "is_zero": job.target.is_zero,
                "crypt_mode": job.crypt_mode,
            }),
            user: job.user.clone(),
            machine: self.machine.fingerprint.clone(),
            created_at: job.created_at,
            started_at: job.started_at,
            finished_at: job.finished_at.filter(|_| outcome(job.state).is_some()),
            outcome: outcome(job.state),
            error: job
                .error
                .as_ref()
                .and_then(|error| serde_json::to_value(error).ok()),
            totals: totals(job),
        }
    }
}

fn target_text(target: &RestoreTarget) -> String {
    target.path.clone().unwrap_or_else(|| "null".to_owned())
}

fn totals(job: &Job) -> Totals {
    let progress = &job.progress;
    let Some(end) = &job.totals else {
        return Totals::default();
    };
    Totals {
        bytes_total: Some(progress.bytes_total),
        bytes_done: Some(progress.bytes_done),
        bytes_written: Some(progress.bytes_written),
        zero_bytes: Some(progress.zero_bytes),
        chunks_total: Some(progress.chunks_total),
        chunks_distinct: Some(progress.chunks_distinct),
        chunks_fetched: Some(progress.chunks_fetched),
        refetched: Some(progress.chunks_refetched),
        encoded_bytes_read: Some(progress.encoded_bytes_read),
        duration_ns: Some(end.duration_ns),
        cpu_ns: Some(end.cpu_ns),
        index_csum: end.index_csum.clone(),
        sha256: end.sha256.clone(),
    }
}

fn outcome(state: JobState) -> Option<Outcome> {
    match state {
        JobState::Queued | JobState::Running => None,
        JobState::Ok => Some(Outcome::Ok),
        JobState::Failed => Some(Outcome::Failed),
        JobState::Cancelled => Some(Outcome::Cancelled),
        JobState::Interrupted => Some(Outcome::Interrupted),
    }
}

/// The outcome that a state of the API stands for; `None` for states without an end.
#[must_use]
pub fn outcome_of(state: JobState) -> Option<Outcome> {
    outcome(state)
}

/// A row as the API shows it.
#[must_use]
pub fn job_of(row: JobRow) -> Job {
    let param = |key: &str| row.params.get(key).cloned().unwrap_or(Value::Null);
    let number = |value: Option<u64>| value.unwrap_or(0);
    let kind = serde_json::from_value(param("target_kind")).unwrap_or(TargetKind::File);
    let totals = &row.totals;
    let duration = number(totals.duration_ns);
    let state = match row.outcome {
        None if row.started_at.is_some() => JobState::Running,
        None => JobState::Queued,
        Some(Outcome::Ok) => JobState::Ok,
        Some(Outcome::Failed | Outcome::Incomplete) => JobState::Failed,
        Some(Outcome::Cancelled) => JobState::Cancelled,
        Some(Outcome::Interrupted) => JobState::Interrupted,
    };
    let rate = per_second(number(totals.bytes_done), duration);
    Job {
        id: row.id,
        upid: row.upid.clone(),
        source: RestoreSource {
            store: row.store.clone(),
            ns: row.ns.clone(),
            snapshot: row.snapshot.clone(),
            archive: row.archive.clone(),
        },
        target: RestoreTarget {
            kind,
            path: (kind != TargetKind::Null).then(|| row.target.clone()),
            overwrite: param("overwrite").as_bool().unwrap_or(false),
            is_zero: param("is_zero").as_bool().unwrap_or(false),
        },
        parallel: row.parallel.unwrap_or(0),
        simulate_latency_ms: param("simulate_latency_ms")
            .as_u64()
            .and_then(|ms| ms.try_into().ok())
            .unwrap_or(0),
        crypt_mode: serde_json::from_value(param("crypt_mode")).ok(),
        user: row.user.clone(),
        state,
        waits_for: None,
        progress: JobProgress {
            bytes_total: number(totals.bytes_total),
            bytes_done: number(totals.bytes_done),
            bytes_written: number(totals.bytes_written),
            zero_bytes: number(totals.zero_bytes),
            chunks_total: number(totals.chunks_total),
            chunks_distinct: number(totals.chunks_distinct),
            chunks_fetched: number(totals.chunks_fetched),
            chunks_refetched: number(totals.refetched),
            encoded_bytes_read: number(totals.encoded_bytes_read),
            elapsed_ns: duration,
            rate_bytes_per_s: rate,
            ..JobProgress::default()
        },
        created_at: row.created_at,
        started_at: row.started_at,
        finished_at: row.finished_at,
        error: row
            .error
            .clone()
            .and_then(|error| serde_json::from_value::<JobError>(error).ok()),
        totals: row.outcome.map(|_| JobTotals {
            duration_ns: duration,
            cpu_ns: number(totals.cpu_ns),
            rate_bytes_per_s: rate,
            sha256: totals.sha256.clone(),
            index_csum: totals.index_csum.clone(),
        }),
    }
}

/// A recorded sample as the API shows it.
#[must_use]
pub fn sample_of(row: &SampleRow) -> JobSample {
    JobSample {
        t_ns: row.t_ns,
        bytes_done: row.bytes_done,
        encoded_bytes_read: row.encoded_bytes_read,
        bytes_written: row.bytes_written,
        in_flight: row.in_flight,
        memory_bytes: row.budget_used_bytes,
    }
}
