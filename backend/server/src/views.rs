//! What everybody may read without asking an actor: published snapshots of the stores, the jobs and the server's health.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use actix::Addr;
use arc_swap::ArcSwap;
use fleethold_api_types::{FleetSummary, Health, JobState, StoreRow, StoreState, Usage};
use fleethold_bench::reparse::{Handle as Reparsed, ReparseLookup};
use fleethold_fleet::{Fleet, Lookup as _, LookupError, Operation, StoreEntry};
use fleethold_format::names::DatastoreName;
use fleethold_history::{Database, Recorder};
use parking_lot::Mutex;

use crate::actors::events::FeedStats;
use crate::actors::store::StoreActor;
use crate::auth::users::UserStore;
use crate::jobs::table::JobTable;
use crate::services::bench::table::BenchTable;
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::health;
use crate::services::rights::Sight;

/// Reads of one store at once.
pub const MAX_READS: u64 = 32;

/// A store's row and the file system it lies on.
#[derive(Debug, Clone)]
pub struct Published {
    /// As the API shows it.
    pub row: StoreRow,
    /// Device number of its file system, once looked at: stores on one file system share its space.
    pub file_system: Option<u64>,
}

/// One store: what it published, and its actor for changes.
pub struct StoreView {
    /// Its name.
    pub name: DatastoreName,
    entry: ArcSwap<StoreEntry>,
    published: ArcSwap<Published>,
    fleet: Fleet,
    /// Reads under way: listings, downloads, restores.
    pub reads: AtomicU64,
}

impl StoreView {
    /// A view of `entry` that shows `published`.
    #[must_use]
    pub fn new(fleet: Fleet, entry: Arc<StoreEntry>, published: Published) -> Self {
        Self {
            fleet,
            name: entry.name.clone(),
            entry: ArcSwap::new(entry),
            published: ArcSwap::from_pointee(published),
            reads: AtomicU64::new(0),
        }
    }

    /// Its configuration.
    #[must_use]
    pub fn entry(&self) -> Arc<StoreEntry> {
        self.entry.load_full()
    }

    /// Its row.
    #[must_use]
    pub fn published(&self) -> Arc<Published> {
        self.published.load_full()
    }

    /// Notes a read for as long as the guard lives, here and for the other processes of this installation.
    ///
    /// # Errors
    /// When its maintenance mode does not allow reading any more, or it is gone.
    pub fn read(self: &Arc<Self>) -> ServiceResult<ReadGuard> {
        let operation = self.fleet.lookup(&self.name, Operation::Read).map_err(refused)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(ReadGuard {
            view: Arc::clone(self),
            _operation: operation,
        })
    }

    /// As [`StoreView::read`], for requests: a store whose disk hangs must not take the threads of all others.
    ///
    /// # Errors
    /// As [`StoreView::read`]; when [`MAX_READS`] are under way.
    pub fn try_read(self: &Arc<Self>) -> ServiceResult<ReadGuard> {
        let guard = self.read()?;
        if self.reads.load(Ordering::Relaxed) > MAX_READS {
            let text = format!(
                "{MAX_READS} reads of datastore `{}` are under way, try again",
                self.name
            );
            return Err(ServiceError::unavailable("store-busy", text));
        }
        Ok(guard)
    }
}

fn refused(error: LookupError) -> ServiceError {
    match error {
        LookupError::Unknown { name } => {
            ServiceError::not_found("unknown-store", format!("there is no datastore `{name}`"))
        }
        LookupError::Maintenance { name, source } => {
            ServiceError::conflict("maintenance", format!("datastore `{name}`: {source}"))
        }
        other @ LookupError::Config { .. } => ServiceError::internal(other),
    }
}

/// A read under way.
pub struct ReadGuard {
    view: Arc<StoreView>,
    _operation: fleethold_fleet::StoreHandle,
}

impl Drop for ReadGuard {
    fn drop(&mut self) {
        self.view.reads.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A store's view and its actor.
#[derive(Clone)]
pub struct StoreHandle {
    /// What it published.
    pub view: Arc<StoreView>,
    /// Who changes it.
    pub actor: Addr<StoreActor>,
}

/// All stores of the fleet in the order of datastore.cfg's names.
#[derive(Default)]
pub struct StoreTable {
    stores: ArcSwap<Stores>,
    changed: Mutex<BTreeSet<DatastoreName>>,
    fleet_changed: AtomicBool,
    reparse: OnceLock<ReparseLookup>,
}

/// The stores of one generation.
#[derive(Default)]
pub struct Stores {
    /// In order of name.
    pub list: Vec<StoreHandle>,
    by_name: HashMap<DatastoreName, usize>,
}

impl Stores {
    /// The store called `name`.
    #[must_use]
    pub fn get(&self, name: &DatastoreName) -> Option<&StoreHandle> {
        self.by_name.get(name).and_then(|at| self.list.get(*at))
    }
}

impl StoreTable {
    /// The stores there are now.
    #[must_use]
    pub fn load(&self) -> Arc<Stores> {
        self.stores.load_full()
    }

    /// From now on [`StoreTable::reparse`] looks into `file`, too: the before side of the benchmark `status`.
    pub fn also_reparse(&self, file: &Path) {
        // Said once, at the start.
        self.reparse.get_or_init(|| ReparseLookup::new(file.to_owned()));
    }

    /// The older way to find a store, at the older cost, where a benchmark asked for it. Blocks; so does the drop.
    ///
    /// # Errors
    /// As [`ReparseLookup`].
    pub fn reparse(
        &self,
        name: &DatastoreName,
        operation: Operation,
    ) -> Result<Option<Reparsed>, LookupError> {
        let older = self.reparse.get();
        older.map(|older| older.find(name, operation)).transpose()
    }

    /// Publishes another set of stores.
    pub fn replace(&self, mut list: Vec<StoreHandle>) {
        list.sort_by(|a, b| a.view.name.cmp(&b.view.name));
        let by_name = list
            .iter()
            .enumerate()
            .map(|(at, handle)| (handle.view.name.clone(), at))
            .collect();
        self.stores.store(Arc::new(Stores { list, by_name }));
        self.fleet_changed.store(true, Ordering::Release);
    }

    /// Publishes a store's row (called by its actor only).
    pub fn publish(&self, view: &StoreView, entry: Arc<StoreEntry>, published: Published) {
        view.entry.store(entry);
        let before = view.published.swap(Arc::new(published));
        if before.row != view.published.load().row {
            self.changed.lock().insert(view.name.clone());
        }
    }

    /// Rows that changed since they were last taken, at most `max`; the rest is taken next time.
    #[must_use]
    pub fn take_changed(&self, max: usize) -> Vec<StoreRow> {
        let mut changed = self.changed.lock();
        let rest = changed
            .iter()
            .nth(max)
            .cloned()
            .map(|first| changed.split_off(&first))
            .unwrap_or_default();
        let names = std::mem::replace(&mut *changed, rest);
        drop(changed);
        let stores = self.load();
        names
            .iter()
            .filter_map(|name| Some(stores.get(name)?.view.published().row.clone()))
            .collect()
    }

    /// Whether stores appeared or went since the last call.
    #[must_use]
    pub fn take_fleet_changed(&self) -> bool {
        self.fleet_changed.swap(false, Ordering::AcqRel)
    }
}

/// Downloads since the start.
#[derive(Default)]
pub struct Downloads {
    /// Completed ones.
    pub completed: AtomicU64,
    /// Their plain bytes.
    pub bytes: AtomicU64,
}

/// Everything that is published.
pub struct Views {
    /// Configuration.
    pub fleet: Fleet,
    /// Users and rights.
    pub users: Arc<UserStore>,
    /// Stores.
    pub stores: StoreTable,
    /// Jobs.
    pub jobs: JobTable,
    /// Benchmark runs.
    pub bench: BenchTable,
    /// Database.
    pub database: Arc<Database>,
    /// What goes to the database, now or later.
    pub recorder: Arc<Recorder>,
    /// Downloads completed and their bytes.
    pub downloads: Downloads,
    /// Figures of the live feed.
    pub feed: FeedStats,
}

impl Views {
    /// Figures over the whole fleet; touches no file.
    #[must_use]
    pub fn summary(&self) -> FleetSummary {
        self.sum(self.jobs.load(), |row| Some(Cow::Borrowed(row)))
    }

    /// As [`Views::summary`], over what somebody sees.
    #[must_use]
    pub fn summary_for(&self, sight: &Sight) -> FleetSummary {
        if sight.everything() {
            return self.summary();
        }
        let jobs = self.jobs.list();
        let seen = jobs.iter().filter(|job| sight.job(job));
        let load = seen.fold((0, 0, 0), |(queued, running, rate), job| match job.state {
            JobState::Queued => (queued + 1, running, rate),
            JobState::Running => (queued, running + 1, rate + job.progress.rate_bytes_per_s),
            _ => (queued, running, rate),
        });
        self.sum(load, |row| sight.store(row))
    }

    /// Queued jobs, running ones and their rate are given; the stores are as `seen_as` says.
    fn sum(
        &self,
        load: (u64, u64, u64),
        seen_as: impl for<'r> Fn(&'r StoreRow) -> Option<Cow<'r, StoreRow>>,
    ) -> FleetSummary {
        let stores = self.stores.load();
        let (queued_jobs, running_jobs, restore_bytes_per_s) = load;
        let mut summary = FleetSummary {
            queued_jobs,
            running_jobs,
            restore_bytes_per_s,
            config_problem: health::config_problem(&self.fleet),
            ..FleetSummary::default()
        };
        let mut seen = BTreeSet::new();
        for handle in &stores.list {
            let published = handle.view.published();
            let Some(row) = seen_as(&published.row) else {
                continue;
            };
            summary.stores += 1;
            *match row.state {
                StoreState::Unknown => &mut summary.unknown,
                StoreState::Ok => &mut summary.ok,
                StoreState::Maintenance => &mut summary.maintenance,
                StoreState::Warning => &mut summary.warning,
                StoreState::Error => &mut summary.error,
                StoreState::Offline => &mut summary.offline,
            } += 1;
            summary.snapshots += row.snapshots.unwrap_or(0);
            if let (Some(usage), Some(device)) = (row.usage, published.file_system)
                && seen.insert(device)
            {
                add_space(&mut summary, &usage);
            }
        }
        summary
    }

    /// Counts a download that was completed.
    pub fn count_download(&self, bytes: u64) {
        self.downloads.completed.fetch_add(1, Ordering::Relaxed);
        self.downloads.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Health of the server; touches no file.
    #[must_use]
    pub fn health(&self) -> Health {
        health::health(&self.fleet, &self.users, &self.database, &self.recorder)
    }
}

/// What network file systems say of their size may be next to the largest number there is.
fn add_space(summary: &mut FleetSummary, usage: &Usage) {
    summary.total_bytes = summary.total_bytes.saturating_add(usage.total_bytes);
    summary.used_bytes = summary.used_bytes.saturating_add(usage.used_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_endless_file_systems_are_not_a_small_one() {
        let endless = Usage {
            total_bytes: u64::MAX,
            used_bytes: u64::MAX / 2 + 1,
            available_bytes: 0,
        };
        let mut summary = FleetSummary::default();
        add_space(&mut summary, &endless);
        add_space(&mut summary, &endless);
        assert_eq!((summary.total_bytes, summary.used_bytes), (u64::MAX, u64::MAX));
    }
}
