//! The published configuration and how it follows the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use fleethold_format::names::DatastoreName;
use parking_lot::Mutex;

use crate::config_file::{self, LOCK_TIMEOUT};
use crate::error::{ConfigProblem, FleetError};
use crate::generation::{Generation, ParsedFleet, StoreEntry};

/// The file's name in the configuration directory.
const FILE_NAME: &str = "datastore.cfg";
/// The lock's name beside it.
const LOCK_NAME: &str = ".datastore.lck";
/// Parsed generations kept: an operator who edits to and fro, and no more.
const CACHED_GENERATIONS: u64 = 8;

/// What can be chosen when the fleet is opened.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// How long a writer waits for the file's lock.
    pub lock_timeout: Duration,
}

impl Default for FleetOptions {
    fn default() -> Self {
        Self {
            lock_timeout: LOCK_TIMEOUT,
        }
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
}

/// The datastores of one configuration directory. Clones share everything.
#[derive(Clone)]
pub struct Fleet {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) directory: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) lock_file: PathBuf,
    pub(crate) options: FleetOptions,
    published: ArcSwap<Generation>,
    /// Held while the file is read and published, so that an older content never replaces a newer one.
    reload: Mutex<()>,
    parsed: moka::sync::Cache<[u8; 32], Arc<ParsedFleet>>,
    reads: AtomicU64,
    parses: AtomicU64,
    cache_hits: AtomicU64,
}

impl Fleet {
    /// Reads `<config_dir>/datastore.cfg`. A missing file or directory means no datastores; a broken file too, with
    /// [`Generation::error`] saying why. Blocking.
    #[must_use]
    pub fn open(config_dir: &Path) -> Self {
        Self::open_with(config_dir, FleetOptions::default())
    }

    /// As [`Fleet::open`], with options.
    #[must_use]
    pub fn open_with(config_dir: &Path, options: FleetOptions) -> Self {
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
                reload: Mutex::new(()),
                parsed: moka::sync::Cache::new(CACHED_GENERATIONS),
                reads: AtomicU64::new(0),
                parses: AtomicU64::new(0),
                cache_hits: AtomicU64::new(0),
            }),
        };
        fleet.reload(true);
        fleet
    }

    /// The published generation. Touches no file and takes no lock.
    #[must_use]
    pub fn current(&self) -> Arc<Generation> {
        self.inner.published.load_full()
    }

    /// A datastore's entry. Touches no file and takes no lock. Whether its maintenance mode allows what the caller wants is
    /// the caller's question: [`crate::Maintenance::check`].
    #[must_use]
    pub fn lookup(&self, name: &DatastoreName) -> Option<Arc<StoreEntry>> {
        self.inner.published.load().lookup(name)
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
        }
    }

    fn reload(&self, first: bool) -> bool {
        let inner = &self.inner;
        let _one_at_a_time = inner.reload.lock();
        let published = inner.published.load_full();
        inner.reads.fetch_add(1, Ordering::Relaxed);
        let next = match config_file::read(&inner.file) {
            Ok(bytes) => {
                let digest = config_file::digest(&bytes);
                if digest == published.digest && published.error.is_none() && !first {
                    return false;
                }
                self.parsed(&digest, &bytes, &published)
                    .map(|parsed| (digest, parsed))
            }
            Err(FleetError::Io { source, .. }) => {
                Err(self.problem(None, format!("cannot be read: {source}")))
            }
            Err(other) => Err(self.problem(None, other.to_string())),
        };
        let number = published.number + 1;
        let next = match next {
            Ok((digest, parsed)) => Generation {
                number,
                digest,
                stores: Arc::clone(&parsed.stores),
                error: None,
                by_name: Arc::clone(&parsed.by_name),
            },
            Err(problem) if published.error.as_ref() == Some(&problem) => return false,
            Err(problem) => {
                tracing::warn!(%problem, "keeping the last good configuration");
                Generation {
                    number,
                    error: Some(problem),
                    ..Generation::clone(&published)
                }
            }
        };
        inner.published.store(Arc::new(next));
        true
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
