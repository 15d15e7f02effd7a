//! The state itself: stores, jobs, figures, connection.

use std::{collections::BTreeMap, rc::Rc};

use fleethold_api_types::{FleetSummary, Health, Job, JobState};
use uuid::Uuid;

use crate::model::{bench::live::LiveRuns, fleet::Fleet, load::Problem, series::Series, track::Track};

/// Ended jobs kept beside the live ones.
const KEEP_ENDED: usize = 100;

/// State of the feed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Conn {
    /// First attempt.
    Connecting,
    /// Open.
    Live,
    /// Lost since then; attempts and seconds to the next.
    Lost {
        /// Milliseconds since the epoch.
        since_ms: f64,
        /// Attempts.
        attempt: u32,
        /// Seconds.
        retry_in_s: u32,
    },
}

/// A job and what its chart shows.
#[derive(Clone, PartialEq)]
pub struct Followed {
    /// The job.
    pub job: Rc<Job>,
    /// Its rates.
    pub track: Track,
}

/// Benchmark alerts as the feed tells of them. The list itself is asked for by its page, whenever `told` is another.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Alerts {
    /// Open or confirmed, and nobody has said anything to it.
    pub standing: u32,
    /// Times that the feed told of a change.
    pub told: u32,
}

impl Alerts {
    pub(super) fn take(&mut self, standing: u32) {
        self.standing = standing;
        self.told = self.told.wrapping_add(1);
    }
}

/// Everything the feed keeps up to date.
pub struct State {
    /// Stores.
    pub fleet: Fleet,
    /// Why the list of stores could not be fetched.
    pub fleet_error: Option<Rc<Problem>>,
    /// Figures.
    pub summary: Option<FleetSummary>,
    /// Queued, running and lately ended jobs by id (ids are in order of time).
    pub jobs: BTreeMap<Uuid, Followed>,
    /// The first snapshot of jobs has come.
    pub jobs_known: bool,
    /// All running jobs together, MiB/s over seconds since the page was opened.
    pub total: Rc<Series>,
    /// Benchmark runs that changed since the page was opened, with their live samples.
    pub bench: LiveRuns,
    /// Benchmark alerts.
    pub alerts: Alerts,
    /// Server.
    pub health: Option<Health>,
    /// Feed.
    pub conn: Conn,
}

impl State {
    /// Jobs that run.
    pub fn running(&self) -> impl Iterator<Item = &Followed> {
        self.jobs.values().filter(|f| f.job.state == JobState::Running)
    }

    pub(super) fn put_job(&mut self, job: Job) {
        let id = job.id;
        match self.jobs.get_mut(&id) {
            // the answer to a request may arrive behind a newer event
            Some(followed) if followed.job.state.is_final() && !job.state.is_final() => {}
            Some(followed) => followed.job = Rc::new(job),
            None => {
                self.jobs.insert(
                    id,
                    Followed {
                        job: Rc::new(job),
                        track: Track::default(),
                    },
                );
            }
        }
        let ended: Vec<Uuid> = self
            .jobs
            .values()
            .filter(|f| f.job.state.is_final())
            .map(|f| f.job.id)
            .collect();
        for id in ended.iter().take(ended.len().saturating_sub(KEEP_ENDED)) {
            self.jobs.remove(id);
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            fleet: Fleet::default(),
            fleet_error: None,
            summary: None,
            jobs: BTreeMap::new(),
            jobs_known: false,
            total: Rc::default(),
            bench: LiveRuns::default(),
            alerts: Alerts::default(),
            health: None,
            conn: Conn::Connecting,
        }
    }
}
