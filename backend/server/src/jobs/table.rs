//! The jobs that can be asked about without a message: queued, running, and those that ended lately.
//!
//! `JobsActor` and the job's own task write; everybody reads. Ended jobs beyond [`ENDED_KEPT`] are found in the history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleethold_api_types::{Job, JobSample, JobState};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::samples::SampleBuffer;

/// Ended jobs kept in memory.
pub const ENDED_KEPT: usize = 200;

/// One job.
pub struct JobCell {
    job: Mutex<Job>,
    samples: Mutex<SampleBuffer>,
    /// Asks the job to stop.
    pub cancel: CancellationToken,
}

impl JobCell {
    /// A cell for `job`.
    #[must_use]
    pub fn new(job: Job) -> Self {
        Self {
            job: Mutex::new(job),
            samples: Mutex::default(),
            cancel: CancellationToken::new(),
        }
    }

    /// The job as it is now.
    #[must_use]
    pub fn job(&self) -> Job {
        self.job.lock().clone()
    }

    /// State of the job.
    #[must_use]
    pub fn state(&self) -> JobState {
        self.job.lock().state
    }

    /// The newest sample.
    #[must_use]
    pub fn newest_sample(&self) -> Option<JobSample> {
        self.samples.lock().newest()
    }

    /// All samples in memory and the number there ever were.
    #[must_use]
    pub fn samples(&self) -> (Vec<JobSample>, u64) {
        let samples = self.samples.lock();
        (samples.to_vec(), samples.offered())
    }
}

/// All jobs in memory.
#[derive(Default)]
pub struct JobTable {
    jobs: RwLock<BTreeMap<Uuid, Arc<JobCell>>>,
    changed: Mutex<BTreeSet<Uuid>>,
}

impl JobTable {
    /// Adds a job and forgets the oldest ended ones beyond the limit.
    pub fn insert(&self, job: Job) -> Arc<JobCell> {
        let (id, cell) = (job.id, Arc::new(JobCell::new(job)));
        let mut jobs = self.jobs.write();
        jobs.insert(id, Arc::clone(&cell));
        // Ids are UUIDv7: the map is in order of creation.
        let ended: Vec<Uuid> = jobs
            .iter()
            .filter(|(_, cell)| cell.state().is_final())
            .map(|(id, _)| *id)
            .collect();
        for id in ended.iter().take(ended.len().saturating_sub(ENDED_KEPT)) {
            jobs.remove(id);
        }
        drop(jobs);
        self.changed.lock().insert(id);
        cell
    }

    /// The job with this id.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<Arc<JobCell>> {
        self.jobs.read().get(&id).cloned()
    }

    /// The job whose task is `upid`.
    #[must_use]
    pub fn by_upid(&self, upid: &str) -> Option<Arc<JobCell>> {
        self.jobs
            .read()
            .values()
            .find(|cell| cell.job.lock().upid == upid)
            .cloned()
    }

    /// All jobs, the newest first.
    #[must_use]
    pub fn list(&self) -> Vec<Job> {
        self.jobs.read().values().rev().map(|cell| cell.job()).collect()
    }

    /// Changes a job; everybody sees it at the next look, the live feed at its next tick.
    pub fn update(&self, cell: &JobCell, change: impl FnOnce(&mut Job)) -> Job {
        let mut job = cell.job.lock();
        change(&mut job);
        let now = job.clone();
        drop(job);
        self.changed.lock().insert(now.id);
        now
    }

    /// Adds a sample to a job.
    pub fn sample(&self, cell: &JobCell, sample: JobSample) {
        cell.samples.lock().push(sample);
    }

    /// Jobs that changed since the last call, each with its newest sample when it runs.
    #[must_use]
    pub fn take_changed(&self) -> (Vec<Job>, Vec<(Uuid, JobSample)>) {
        let changed = std::mem::take(&mut *self.changed.lock());
        let cells: Vec<_> = changed.iter().filter_map(|id| self.get(*id)).collect();
        let samples = cells
            .iter()
            .filter_map(|cell| Some((cell.job.lock().id, cell.newest_sample()?)))
            .collect();
        (cells.iter().map(|cell| cell.job()).collect(), samples)
    }

    /// Queued jobs, running jobs, and the plain bytes a second of the running ones together.
    #[must_use]
    pub fn load(&self) -> (u64, u64, u64) {
        self.jobs
            .read()
            .values()
            .fold((0, 0, 0), |(queued, running, rate), cell| {
                let job = cell.job.lock();
                match job.state {
                    JobState::Queued => (queued + 1, running, rate),
                    JobState::Running => (queued, running + 1, rate + job.progress.rate_bytes_per_s),
                    _ => (queued, running, rate),
                }
            })
    }
}
