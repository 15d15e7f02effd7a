//! The runs that can be asked about without a message: queued ones, the running one, those that ended lately and those
//! that are not in the database yet.
//!
//! `BenchActor` and the run's own task write; everybody reads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fleethold_api_types::bench::{BenchRun, BenchState, LiveSample};
use fleethold_bench::measure::Outcome;
use fleethold_bench::runner::Series;
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::plan::Plan;
use super::standing::Standing;

/// Ended runs kept in memory.
const ENDED_KEPT: usize = 50;
/// Samples that may wait for the live feed; older ones give way, and stay in the run.
const LIVE_KEPT: usize = 5_000;

/// One run.
pub struct BenchCell {
    run: Mutex<BenchRun>,
    /// What it was asked to do.
    pub plan: Plan,
    /// What it measured so far.
    pub(super) series: Mutex<Vec<Series>>,
    /// What it came to, until it is in the database.
    pub(super) outcome: Mutex<Option<Arc<Outcome>>>,
    /// Asks it to stop.
    pub cancel: CancellationToken,
}

impl BenchCell {
    /// The run as it is now.
    #[must_use]
    pub fn run(&self) -> BenchRun {
        self.run.lock().clone()
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.run.lock().id
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> BenchState {
        self.run.lock().state
    }

    /// Nothing of it would be lost with this entry.
    fn may_go(&self) -> bool {
        let run = self.run.lock();
        run.state == BenchState::Failed || (run.state.is_final() && run.stored)
    }
}

/// Figures since the start of the server.
#[derive(Debug, Default)]
pub struct BenchStats {
    /// Runs that measured all of it.
    pub ok: AtomicU64,
    /// Runs that were interrupted.
    pub partial: AtomicU64,
    /// Runs that measured nothing.
    pub failed: AtomicU64,
    /// Requests refused because too many waited.
    pub refused: AtomicU64,
    /// Samples that the live feed did not get.
    pub samples_dropped: AtomicU64,
}

/// All runs in memory.
#[derive(Default)]
pub struct BenchTable {
    runs: RwLock<BTreeMap<Uuid, Arc<BenchCell>>>,
    changed: Mutex<BTreeSet<Uuid>>,
    live: Mutex<VecDeque<LiveSample>>,
    /// Series that got worse, and nobody has said anything to it.
    pub alerts: Standing,
    /// Figures.
    pub stats: BenchStats,
}

impl BenchTable {
    /// Adds a run and forgets the oldest ended ones beyond the limit.
    pub fn insert(&self, run: BenchRun, plan: Plan) -> Arc<BenchCell> {
        let id = run.id;
        let cell = Arc::new(BenchCell {
            run: Mutex::new(run),
            plan,
            series: Mutex::default(),
            outcome: Mutex::default(),
            cancel: CancellationToken::new(),
        });
        let mut runs = self.runs.write();
        runs.insert(id, Arc::clone(&cell));
        // Ids are UUIDv7: the map is in order of creation.
        let ended: Vec<Uuid> = runs
            .iter()
            .filter(|(_, cell)| cell.may_go())
            .map(|(id, _)| *id)
            .collect();
        for id in ended.iter().take(ended.len().saturating_sub(ENDED_KEPT)) {
            runs.remove(id);
        }
        drop(runs);
        self.changed.lock().insert(id);
        cell
    }

    /// The run with this id.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<Arc<BenchCell>> {
        self.runs.read().get(&id).cloned()
    }

    /// All runs in memory, the newest first.
    #[must_use]
    pub fn list(&self) -> Vec<BenchRun> {
        self.runs.read().values().rev().map(|cell| cell.run()).collect()
    }

    /// Ended runs with something to keep that are not in the database yet, the oldest first.
    #[must_use]
    pub(super) fn not_stored(&self) -> Vec<Arc<BenchCell>> {
        let runs = self.runs.read();
        let waits = |cell: &&Arc<BenchCell>| cell.outcome.lock().is_some() && !cell.run.lock().stored;
        runs.values().filter(waits).cloned().collect()
    }

    /// Runs that wait.
    #[must_use]
    pub fn queued(&self) -> u64 {
        let runs = self.runs.read();
        let waits = |cell: &&Arc<BenchCell>| cell.state() == BenchState::Queued;
        runs.values().filter(waits).count() as u64
    }

    /// Changes a run; everybody sees it at the next look, the live feed at its next tick.
    pub fn update(&self, cell: &BenchCell, change: impl FnOnce(&mut BenchRun)) -> BenchRun {
        let mut run = cell.run.lock();
        let ended = run.state.is_final();
        change(&mut run);
        let now = run.clone();
        drop(run);
        if !ended {
            self.count(now.state);
        }
        self.changed.lock().insert(now.id);
        now
    }

    fn count(&self, state: BenchState) {
        let stats = &self.stats;
        let counter = match state {
            BenchState::Ok => &stats.ok,
            BenchState::Partial => &stats.partial,
            BenchState::Failed => &stats.failed,
            BenchState::Queued | BenchState::Running => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Hands a sample to the live feed.
    pub fn sample(&self, sample: LiveSample) {
        let mut live = self.live.lock();
        if live.len() >= LIVE_KEPT {
            live.pop_front();
            self.stats.samples_dropped.fetch_add(1, Ordering::Relaxed);
        }
        live.push_back(sample);
    }

    /// Runs that changed since the last call, and the oldest samples that were not handed out, at most `max`.
    #[must_use]
    pub fn take_changed(&self, max: usize) -> (Vec<BenchRun>, Vec<LiveSample>) {
        let changed = std::mem::take(&mut *self.changed.lock());
        let runs = changed
            .iter()
            .filter_map(|id| self.get(*id).map(|cell| cell.run()))
            .collect();
        let mut live = self.live.lock();
        let count = live.len().min(max);
        (runs, live.drain(..count).collect())
    }
}
