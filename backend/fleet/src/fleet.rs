//! The published configuration and how it follows the file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use fleethold_format::names::DatastoreName;
use parking_lot::Mutex;

use crate::config_file::{self, ConfigLock, LOCK_TIMEOUT};
use crate::error::{ConfigProblem, FleetError};
use crate::generation::{Generation, ParsedFleet, StoreEntry};
use crate::handle::Live;
use crate::shared::{Operations, Shared};

/// The file's name in the configuration directory.
const FILE_NAME: &str = "datastore.cfg";
/// The lock's name beside it.
const LOCK_NAME: &str = ".datastore.lck";
/// Parsed generations kept: an operator who edits to and fro, and no more.
const CACHED_GENERATIONS: u64 = 8;

/// What can be chosen when the fleet is opened.
#[derive(Clone)]
pub struct FleetOptions {
    /// How long a writer waits for the file's lock.
    pub lock_timeout: Duration,
    /// Where processes of the same configuration meet; `None` for a process that is alone with it.
    pub run_dir: Option<PathBuf>,
    /// Called when nothing of this process uses a datastore that is gone or whose maintenance mode wants it closed: what is open
    /// of it is to be closed. May be called more than once, on any thread, while handles are dropped: it must not wait.
    pub on_unused: Option<OnUnused>,
}

/// See [`FleetOptions::on_unused`].
pub type OnUnused = Arc<dyn Fn(&StoreEntry) + Send + Sync>;

impl Default for FleetOptions {
    fn default() -> Self {
        Self {
            lock_timeout: LOCK_TIMEOUT,
            run_dir: None,
            on_unused: None,
        }
    }
}

impl fmt::Debug for FleetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetOptions")
            .field("lock_timeout", &self.lock_timeout)
            .field("run_dir", &self.run_dir)
            .finish_non_exhaustive()
    }
}

/// What the fleet did since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetStats {
    /// Times the file was read.
    pub reads: u64,
    /// Times its text was parsed.
    pub parses: u64,
    /// Times a parsed generation was found in the cache.
    pub cache_hits: u64,
    /// Parsed generations in the cache now.
    pub cached_generations: u64,
    /// Changes of the configuration, as all processes count them.
    pub shared_generation: u64,
    /// Processes that share it, this one included.
    pub processes: usize,
}

/// The datastores of one configuration directory. Clones share everything.
#[derive(Clone)]
pub struct Fleet {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("file", &self.inner.file)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Inner {
    pub(crate) directory: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) lock_file: PathBuf,
    pub(crate) options: FleetOptions,
    pub(crate) published: ArcSwap<Generation>,
    pub(crate) shared: Arc<Shared>,
    /// Held while the file is read and published, so that an older content never replaces a newer one.
    reload: Mutex<()>,
    parsed: moka::sync::Cache<[u8; 32], Arc<ParsedFleet>>,
    reads: AtomicU64,
    parses: AtomicU64,
    cache_hits: AtomicU64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Handles may live on; lookups do not.
        self.shared.looks_no_more();
    }
}

impl Fleet {
    /// Reads `<config_dir>/datastore.cfg`. A missing file or directory means no datastores; a broken file too, with
    /// [`Generation::error`] saying why. Blocking.
    ///
    /// # Errors
    /// [`FleetError::Io`] without memory.
    pub fn open(config_dir: &Path) -> Result<Self, FleetError> {
        Self::open_with(config_dir, FleetOptions::default())
    }

    /// As [`Fleet::open`], with options.
    ///
    /// # Errors
    /// The file in the run directory cannot be made, or is another program's; all its slots are taken.
    pub fn open_with(config_dir: &Path, options: FleetOptions) -> Result<Self, FleetError> {
        let shared = match &options.run_dir {
            Some(run_dir) => Shared::join(run_dir, config_dir)?,
            None => Shared::alone()?,
        };
        let nothing = ParsedFleet::new(Vec::new());
        let empty = Generation {
            number: 0,
            digest: config_file::digest(b""),
            stores: nothing.stores,
            error: None,
            by_name: nothing.by_name,
        };
        let fleet = Self {
            inner: Arc::new(Inner {
                directory: config_dir.to_owned(),
                file: config_dir.join(FILE_NAME),
                lock_file: config_dir.join(LOCK_NAME),
                options,
                published: ArcSwap::from_pointee(empty),
                shared: Arc::new(shared),
                reload: Mutex::new(()),
                parsed: moka::sync::Cache::new(CACHED_GENERATIONS),
                reads: AtomicU64::new(0),
                parses: AtomicU64::new(0),
                cache_hits: AtomicU64::new(0),
            }),
        };
        fleet.reload(true);
        Ok(fleet)
    }

    /// The published generation. Touches no file and takes no lock.
    #[must_use]
    pub fn current(&self) -> Arc<Generation> {
        self.inner.published.load_full()
    }

    /// A datastore's entry. Touches no file and takes no lock. Nothing is counted and no mode asked: see [`Fleet::lookup`].
    #[must_use]
    pub fn entry(&self, name: &DatastoreName) -> Option<Arc<StoreEntry>> {
        self.inner.published.load().entry(name)
    }

    /// What goes on with a datastore, in all processes that share the configuration.
    #[must_use]
    pub fn operations(&self, name: &DatastoreName) -> Operations {
        self.inner.shared.operations(name).unwrap_or_default()
    }

    /// Waits until every process that shares the configuration has published it as it is now; whether they did within
    /// `patience`. From then on [`Fleet::operations`] counts what began under an older one. Blocking.
    #[must_use]
    pub fn wait_published(&self, patience: Duration) -> bool {
        let shared = &self.inner.shared;
        let generation = shared.generation();
        self.refresh();
        shared.wait_seen(generation, patience)
    }

    /// Reads the file again and publishes a new generation if its content, or what is wrong with it, changed. Blocking.
    /// Returns whether something was published.
    pub fn refresh(&self) -> bool {
        self.reload(false)
    }

    /// The file this fleet follows.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.inner.file
    }

    /// Counters since it was opened.
    #[must_use]
    pub fn stats(&self) -> FleetStats {
        let inner = &self.inner;
        inner.parsed.run_pending_tasks();
        FleetStats {
            reads: inner.reads.load(Ordering::Relaxed),
            parses: inner.parses.load(Ordering::Relaxed),
            cache_hits: inner.cache_hits.load(Ordering::Relaxed),
            cached_generations: inner.parsed.entry_count(),
            shared_generation: inner.shared.generation(),
            processes: inner.shared.processes(),
        }
    }

    fn reload(&self, first: bool) -> bool {
        let inner = &self.inner;
        let _one_at_a_time = inner.reload.lock();
        // Before the file is read: what is read is at least as new.
        let generation = inner.shared.generation();
        let published = inner.published.load_full();
        inner.reads.fetch_add(1, Ordering::Relaxed);
        let next = match config_file::read(&inner.file) {
            Ok(bytes) => {
                let digest = config_file::digest(&bytes);
                if digest == published.digest && published.error.is_none() && !first {
                    inner.shared.saw(generation);
                    self.announce(&digest);
                    return false;
                }
                self.parsed(&digest, &bytes, &published)
                    .and_then(|parsed| Ok((digest, self.counted(&parsed, &published)?)))
            }
            Err(FleetError::Io { source, .. }) => {
                Err(self.problem(None, format!("cannot be read: {source}")))
            }
            Err(other) => Err(self.problem(None, other.to_string())),
        };
        let number = published.number + 1;
        match next {
            Ok((digest, parsed)) => {
                self.publish(Generation {
                    number,
                    digest,
                    stores: parsed.stores,
                    error: None,
                    by_name: parsed.by_name,
                });
                inner.shared.saw(generation);
                self.announce(&digest);
                true
            }
            // What is not in force was not seen: who waits for it goes on waiting.
            Err(problem) if published.error.as_ref() == Some(&problem) => false,
            Err(problem) => {
                tracing::warn!(%problem, "keeping the last good configuration");
                self.publish(Generation {
                    number,
                    error: Some(problem),
                    ..Generation::clone(&published)
                });
                true
            }
        }
    }

    /// The same entries with counters; those that were published and replaced before are published anew.
    fn counted(&self, parsed: &ParsedFleet, published: &Generation) -> Result<ParsedFleet, ConfigProblem> {
        let current = |entry: &Arc<StoreEntry>| {
            let known = published
                .find(&entry.name)
                .filter(|known| known.same_section(entry));
            match known {
                Some(known) => Arc::clone(known),
                None if entry.live.get().is_some() => Arc::new(entry.renewed()),
                None => Arc::clone(entry),
            }
        };
        let stores: Vec<Arc<StoreEntry>> = parsed.stores.iter().map(current).collect();
        let new: Vec<&Arc<StoreEntry>> = stores.iter().filter(|entry| entry.live.get().is_none()).collect();
        let counters = self
            .inner
            .shared
            .counters(new.iter().map(|entry| &entry.name))
            .map_err(|error| self.problem(None, format!("operations cannot be counted: {error}")))?;
        for (entry, counter) in new.into_iter().zip(counters) {
            entry
                .live
                .get_or_init(|| Live::new(counter, Arc::downgrade(&self.inner)));
        }
        Ok(ParsedFleet::new(stores))
    }

    /// Puts a generation in force and retires the entries that it replaces.
    fn publish(&self, next: Generation) {
        let inner = &self.inner;
        let next = Arc::new(next);
        let before = inner.published.swap(Arc::clone(&next));
        let replaced: Vec<&Arc<StoreEntry>> = before
            .stores
            .iter()
            .filter(|entry| !next.find(&entry.name).is_some_and(|now| Arc::ptr_eq(now, entry)))
            .collect();
        for entry in &replaced {
            if let Some(live) = entry.live.get() {
                live.retire();
            }
        }
        // Those that nobody uses have no last user who would.
        for entry in replaced {
            inner.close_unused(entry);
        }
    }

    /// Says that what was just published is seen, and tells the other processes of it when somebody changed it by hand: one edit is
    /// one step.
    fn announce(&self, digest: &[u8; 32]) {
        let inner = &self.inner;
        let (generation, told) = inner.shared.state();
        if told == *digest {
            inner.shared.saw(generation);
            return;
        }
        if inner.options.run_dir.is_none() {
            inner.shared.saw(inner.shared.bump(digest));
            return;
        }
        // Who writes the file through us holds the lock until the step is made.
        let _locked = match ConfigLock::acquire(&inner.lock_file, inner.options.lock_timeout) {
            Ok(locked) => locked,
            // Who may not write here only follows; the other processes look for themselves, too.
            Err(error) => {
                tracing::debug!(%error, "a changed configuration is left to others to tell of");
                return;
            }
        };
        let still = config_file::read(&inner.file).is_ok_and(|bytes| config_file::digest(&bytes) == *digest);
        // If not, the change that came in between is looked at next.
        if still {
            let (generation, told) = inner.shared.state();
            let step = || inner.shared.bump(digest);
            inner
                .shared
                .saw(if told == *digest { generation } else { step() });
        }
    }

    /// The parsed form of these bytes, from the cache if they were seen before.
    fn parsed(
        &self,
        digest: &[u8; 32],
        bytes: &[u8],
        published: &Generation,
    ) -> Result<Arc<ParsedFleet>, ConfigProblem> {
        let inner = &self.inner;
        if let Some(parsed) = inner.parsed.get(digest) {
            inner.cache_hits.fetch_add(1, Ordering::Relaxed);
            return Ok(parsed);
        }
        inner.parses.fetch_add(1, Ordering::Relaxed);
        let text = self.text(bytes)?;
        let parsed = Arc::new(ParsedFleet::parse(&inner.file, text, Some(published))?);
        inner.parsed.insert(*digest, Arc::clone(&parsed));
        Ok(parsed)
    }

    pub(crate) fn text<'b>(&self, bytes: &'b [u8]) -> Result<&'b str, ConfigProblem> {
        std::str::from_utf8(bytes).map_err(|error| {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            self.problem(Some(line), "expected UTF-8 text".to_owned())
        })
    }

    pub(crate) fn problem(&self, line: Option<usize>, message: String) -> ConfigProblem {
        ConfigProblem {
            file: self.inner.file.clone(),
            line,
            message,
        }
    }
}
