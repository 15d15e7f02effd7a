//! What the processes of one installation tell each other through a file in memory (CONFIG.md §5 and §6.4).
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 8 | version of this layout |
//! | 16 | 8 | generation: counts changes of `datastore.cfg`, from 1 |
//! | 24 | 8 | sequence: odd while generation and digest are being written |
//! | 32 | 32 | SHA-256 of the `datastore.cfg` that the generation stands for |
//! | 64 | 8 | names in the table |
//! | 4,096 | 64 × 64 | slots, one a process, which holds a lock on the byte of its number: pid, start time, generation it has published |
//! | 8,192 | 65,536 × 32 | names of datastores, filled with zeros; only ever added |
//! | 2,105,344 | 64 × 65,536 × 64 | operations of each slot on each name: reads below, writes above bit 32; a cache line each |
//!
//! The file is sparse: 10,000 datastores and three processes take 3 MiB. Numbers are the machine's own.
//!
//! *Order.* A lookup counts itself, then looks whether its entry was retired. Who publishes a generation retires the
//! entries that it replaces, then stores the generation as seen. Who changed a mode waits until all have seen it, then adds
//! the counts. All are sequentially consistent, so an operation under the old mode is in the sum, or sees that it is retired.

mod names;
mod process;
mod region;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fleethold_format::names::DatastoreName;
use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};

use crate::error::FleetError;
use crate::maintenance::Operation;
use crate::{clock, config_file};
use names::{NAMES, Names};
use process::Process;
use region::Region;

const MAGIC: u64 = u64::from_be_bytes(*b"flthshm\x01");
const VERSION: u64 = 1;

const AT_MAGIC: usize = 0;
const AT_VERSION: usize = 8;
const AT_GENERATION: usize = 16;
const AT_SEQUENCE: usize = 24;
const AT_DIGEST: usize = 32;

/// Processes at a time.
const SLOTS: usize = 64;
const SLOT_BYTES: usize = 64;
const SLOT_PID: usize = 0;
const SLOT_START: usize = 8;
const SLOT_SEEN: usize = 16;
const FIRST_SLOT: usize = 4096;

/// A cache line: processors that count on different datastores do not disturb each other.
const COUNT_BYTES: usize = 64;
const FIRST_COUNT: usize = names::END;

const ONE_READ: u64 = 1;
const ONE_WRITE: u64 = 1 << 32;

/// How long the file's own lock is waited for; it is held for microseconds.
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(1);

/// Reads and writes going on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operations {
    /// Restores, lists, counts.
    pub reads: u64,
    /// Backups, prunes, garbage collections.
    pub writes: u64,
}

impl Operations {
    fn of(count: u64) -> Self {
        Self {
            reads: count & (ONE_WRITE - 1),
            writes: count >> 32,
        }
    }

    /// Whether nothing goes on.
    #[must_use]
    pub fn is_idle(self) -> bool {
        self == Self::default()
    }
}

/// This process's view of the file, and its slot in it.
#[derive(Debug)]
pub(crate) struct Shared {
    region: Region,
    slot: usize,
    /// Held open for its lock; `None` when nobody else looks.
    file: Option<(PathBuf, File)>,
    /// Places of names in the table, as far as it was read.
    names: Mutex<Names>,
}

impl Shared {
    /// Joins the others that use `config_dir` through a file in the run directory, which is made when missing. Blocking.
    ///
    /// # Errors
    /// [`FleetError::Io`]; [`FleetError::Shared`] when the file is another program's or all slots are taken.
    pub(crate) fn join(run_dir: &Path, config_dir: &Path) -> Result<Self, FleetError> {
        let path = run_dir.join(file_name(config_dir));
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| FleetError::Io { action, path, source }
        };
        std::fs::create_dir_all(run_dir).map_err(io("create the directory", run_dir))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io("open", &path))?;
        let locked = lock(&file, &path)?;
        let length = FIRST_COUNT + SLOTS * NAMES * COUNT_BYTES;
        let found = file.metadata().map_err(io("look at", &path))?.len();
        if found == 0 {
            file.set_len(length as u64)
                .map_err(io("set the length of", &path))?;
        } else if found != length as u64 {
            return Err(FleetError::Shared {
                path,
                reason: format!("expected {length} bytes, found {found}"),
            });
        }
        let region = Region::of_file(&file, length).map_err(io("map", &path))?;
        check_magic(&region, &path)?;
        let this = Process::this().map_err(io("find this process for", &path))?;
        let slot = take_slot(&region, &file, this).map_err(io("take a slot in", &path))?;
        let slot = slot.ok_or_else(|| FleetError::Shared {
            path: path.clone(),
            reason: format!("all {SLOTS} processes that it has room for are running"),
        })?;
        drop(locked);
        Ok(Self {
            region,
            slot,
            file: Some((path, file)),
            names: Mutex::default(),
        })
    }

    /// The same for one process alone.
    ///
    /// # Errors
    /// [`FleetError::Io`] when there is no memory.
    pub(crate) fn alone() -> Result<Self, FleetError> {
        let region = Region::private(FIRST_COUNT + NAMES * COUNT_BYTES).map_err(|source| FleetError::Io {
            action: "map memory for the operations on",
            path: "datastore.cfg".into(),
            source,
        })?;
        region
            .word(FIRST_SLOT + SLOT_PID)
            .store(u64::from(std::process::id()), Ordering::SeqCst);
        Ok(Self {
            region,
            slot: 0,
            file: None,
            names: Mutex::default(),
        })
    }

    /// Changes of the configuration so far.
    pub(crate) fn generation(&self) -> u64 {
        self.region.word(AT_GENERATION).load(Ordering::SeqCst)
    }

    /// The generation, and SHA-256 of the configuration that it stands for.
    pub(crate) fn state(&self) -> (u64, [u8; 32]) {
        let sequence = self.region.word(AT_SEQUENCE);
        loop {
            let before = sequence.load(Ordering::SeqCst);
            let state = (self.generation(), self.region.bytes(AT_DIGEST));
            if before.is_multiple_of(2) && sequence.load(Ordering::SeqCst) == before {
                return state;
            }
            // Its writer holds the configuration's lock and writes five words, unless it died between them.
            if !before.is_multiple_of(2) {
                std::thread::sleep(RETRY);
                if sequence.load(Ordering::SeqCst) == before {
                    // No configuration has this digest: the next who holds the lock writes a better one.
                    return (state.0, [0; 32]);
                }
            }
        }
    }

    /// Says that the configuration is another one now. Only under the configuration's lock. Returns the generation.
    pub(crate) fn bump(&self, digest: &[u8; 32]) -> u64 {
        let sequence = self.region.word(AT_SEQUENCE);
        let odd = sequence.load(Ordering::SeqCst) | 1;
        sequence.store(odd, Ordering::SeqCst);
        self.region.write(AT_DIGEST, digest);
        let generation = self.region.word(AT_GENERATION).fetch_add(1, Ordering::SeqCst) + 1;
        sequence.store(odd + 1, Ordering::SeqCst);
        generation
    }

    /// Says that this process has published what generation `generation` stands for, or newer.
    pub(crate) fn saw(&self, generation: u64) {
        let seen = self.region.word(slot_at(self.slot, SLOT_SEEN));
        seen.fetch_max(generation, Ordering::SeqCst);
    }

    /// Says that no operation begins in this process any more: nobody has to wait for it. What goes on still counts.
    pub(crate) fn looks_no_more(&self) {
        self.saw(u64::MAX);
    }

    /// Waits until every living process has seen `generation`; whether they did within `patience`. Blocking.
    pub(crate) fn wait_seen(&self, generation: u64, patience: Duration) -> bool {
        let start = clock::now();
        loop {
            let seen = |slot| self.region.word(slot_at(slot, SLOT_SEEN)).load(Ordering::SeqCst);
            let behind = self
                .slots()
                .any(|slot| seen(slot) < generation && self.is_alive(slot));
            if !behind {
                return true;
            }
            if clock::now().duration_since(start) >= patience {
                return false;
            }
            std::thread::sleep(RETRY);
        }
    }

    /// Processes that share the file, this one included.
    pub(crate) fn processes(&self) -> usize {
        self.slots().filter(|slot| self.is_alive(*slot)).count()
    }

    /// What goes on in all living processes; `None` for a name that nobody ever counted on.
    pub(crate) fn operations(&self, name: &DatastoreName) -> Option<Operations> {
        let place = self.known_place(name)?;
        let mut sum = Operations::default();
        for slot in self.slots() {
            let count = self.region.word(count_at(slot, place)).load(Ordering::SeqCst);
            if count != 0 && self.is_alive(slot) {
                let here = Operations::of(count);
                sum.reads += here.reads;
                sum.writes += here.writes;
            }
        }
        Some(sum)
    }

    /// A counter for each name; names that are new are added to the table. Blocking.
    ///
    /// # Errors
    /// [`FleetError::Shared`] when the table is full, [`FleetError::Locked`].
    pub(crate) fn counters<'n>(
        self: &Arc<Self>,
        wanted: impl Iterator<Item = &'n DatastoreName>,
    ) -> Result<Vec<Counter>, FleetError> {
        let mut names = self.names.lock();
        let wanted: Vec<&DatastoreName> = wanted.collect();
        names.read(&self.region);
        if wanted.iter().any(|name| names.place(name).is_none()) {
            let _locked = self
                .file
                .as_ref()
                .map(|(path, file)| lock(file, path))
                .transpose()?;
            // Another process may have added some meanwhile.
            names.read(&self.region);
            for name in &wanted {
                names.add(&self.region, name).map_err(|full| FleetError::Shared {
                    path: self
                        .file
                        .as_ref()
                        .map_or_else(PathBuf::new, |(path, _)| path.clone()),
                    reason: full.to_string(),
                })?;
            }
        }
        let counter = |name: &&DatastoreName| {
            names.place(name).map(|place| Counter {
                shared: Arc::clone(self),
                at: count_at(self.slot, place),
            })
        };
        Ok(wanted.iter().filter_map(counter).collect())
    }

    fn known_place(&self, name: &DatastoreName) -> Option<usize> {
        let mut names = self.names.lock();
        names.read(&self.region);
        names.place(name)
    }

    /// Slots in use; those of processes that died are among them.
    fn slots(&self) -> impl Iterator<Item = usize> {
        let count = if self.file.is_some() { SLOTS } else { 1 };
        (0..count).filter(|slot| self.region.word(slot_at(*slot, SLOT_PID)).load(Ordering::SeqCst) != 0)
    }

    fn is_alive(&self, slot: usize) -> bool {
        let held = |(_, file): &(PathBuf, File)| process::is_held(file, slot);
        slot == self.slot || self.file.as_ref().is_some_and(held)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Counters hold the value: when it is dropped, none is left.
        self.region
            .word(slot_at(self.slot, SLOT_PID))
            .store(0, Ordering::SeqCst);
    }
}

/// Counts this process's operations on one datastore. Operations stay on their name whatever becomes of its section.
#[derive(Debug)]
pub(crate) struct Counter {
    shared: Arc<Shared>,
    at: usize,
}

impl Counter {
    /// One operation more.
    pub(crate) fn begin(&self, operation: Operation) {
        if let Some(one) = weight(operation) {
            self.word().fetch_add(one, Ordering::SeqCst);
        }
    }

    /// One operation less; whether nothing of this process goes on any more.
    pub(crate) fn end(&self, operation: Operation) -> bool {
        match weight(operation) {
            Some(one) => self.word().fetch_sub(one, Ordering::SeqCst) == one,
            None => false,
        }
    }

    /// What goes on in this process.
    pub(crate) fn here(&self) -> Operations {
        Operations::of(self.word().load(Ordering::SeqCst))
    }

    fn word(&self) -> &AtomicU64 {
        self.shared.region.word(self.at)
    }
}

fn weight(operation: Operation) -> Option<u64> {
    match operation {
        Operation::Lookup => None,
        Operation::Read => Some(ONE_READ),
        Operation::Write => Some(ONE_WRITE),
    }
}

fn slot_at(slot: usize, field: usize) -> usize {
    FIRST_SLOT + slot * SLOT_BYTES + field
}

fn count_at(slot: usize, place: usize) -> usize {
    FIRST_COUNT + (slot * NAMES + place) * COUNT_BYTES
}

/// A free slot for `this`, or that of a process that died. Only under the file's lock.
fn take_slot(region: &Region, file: &File, this: Process) -> io::Result<Option<usize>> {
    for slot in 0..SLOTS {
        if !process::take(file, slot)? {
            continue;
        }
        for place in 0..names::count(region) {
            let count = region.word(count_at(slot, place));
            // Pages that were never written stay holes.
            if count.load(Ordering::SeqCst) != 0 {
                count.store(0, Ordering::SeqCst);
            }
        }
        let store = |field, value| region.word(slot_at(slot, field)).store(value, Ordering::SeqCst);
        store(SLOT_SEEN, 0);
        store(SLOT_START, this.start);
        store(SLOT_PID, this.pid);
        return Ok(Some(slot));
    }
    Ok(None)
}

fn check_magic(region: &Region, path: &Path) -> Result<(), FleetError> {
    let (magic, version) = (region.word(AT_MAGIC), region.word(AT_VERSION));
    if magic.load(Ordering::SeqCst) == 0 {
        version.store(VERSION, Ordering::SeqCst);
        magic.store(MAGIC, Ordering::SeqCst);
        return Ok(());
    }
    let found = (magic.load(Ordering::SeqCst), version.load(Ordering::SeqCst));
    if found == (MAGIC, VERSION) {
        return Ok(());
    }
    Err(FleetError::Shared {
        path: path.to_owned(),
        reason: format!(
            "expected magic {MAGIC:016x} and version {VERSION}, found {:016x} and {}",
            found.0, found.1
        ),
    })
}

/// One file a configuration directory and layout: a demo and the machine's own server have two, and so have an old and a new build.
fn file_name(config_dir: &Path) -> String {
    let resolved = config_dir
        .canonicalize()
        .unwrap_or_else(|_| config_dir.to_owned());
    let digest = config_file::digest(resolved.as_os_str().as_encoded_bytes());
    format!(
        "fleet-{}.{VERSION}.shm",
        digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    )
}

/// The file's own lock, given up when dropped.
struct Locked<'f>(&'f File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if let Err(error) = flock(self.0, FlockOperation::Unlock) {
            tracing::warn!(%error, "cannot unlock the shared generation");
        }
    }
}

fn lock<'f>(file: &'f File, path: &Path) -> Result<Locked<'f>, FleetError> {
    let start = clock::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Locked(file)),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(FleetError::Io {
                    action: "lock",
                    path: path.to_owned(),
                    source: io::Error::from(error),
                });
            }
        }
        if clock::now().duration_since(start) >= PATIENCE {
            return Err(FleetError::Locked {
                path: path.to_owned(),
                waited: PATIENCE,
            });
        }
        std::thread::sleep(RETRY);
    }
}
