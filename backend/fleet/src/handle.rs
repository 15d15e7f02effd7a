//! Using a datastore: a handle counts as an operation until it is dropped (CONFIG.md §6.3).

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use fleethold_format::names::DatastoreName;

use crate::fleet::{Fleet, Inner};
use crate::generation::StoreEntry;
use crate::lookup::{Lookup, LookupError};
use crate::maintenance::Operation;
use crate::shared::{Counter, Operations};

/// A datastore in use. Dropping the last one of a datastore that is gone, or that its maintenance mode wants closed, closes it:
/// see [`crate::FleetOptions::on_unused`].
#[derive(Debug)]
pub struct StoreHandle {
    entry: Arc<StoreEntry>,
    operation: Operation,
}

/// What is known of a published entry.
pub(crate) struct Live {
    /// A newer generation has another section of this name, or none.
    retired: AtomicBool,
    counter: Counter,
    owner: Weak<Inner>,
}

impl Live {
    pub(crate) fn new(counter: Counter, owner: Weak<Inner>) -> Self {
        Self {
            retired: AtomicBool::new(false),
            counter,
            owner,
        }
    }

    /// From now on lookups of this entry fail and look for a newer one.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::SeqCst)
    }

    pub(crate) fn here(&self) -> Operations {
        self.counter.here()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("retired", &self.is_retired())
            .field("operations", &self.here())
            .finish_non_exhaustive()
    }
}

impl Fleet {
    /// A datastore for `operation`, if its maintenance mode allows that now. Touches no file, takes no lock, asks the system and
    /// the allocator for nothing.
    ///
    /// # Errors
    /// [`LookupError::Unknown`], [`LookupError::Maintenance`]
    pub fn lookup(&self, name: &DatastoreName, operation: Operation) -> Result<StoreHandle, LookupError> {
        loop {
            let published = self.inner.published.load();
            let Some(entry) = published.find(name) else {
                return Err(LookupError::Unknown { name: name.clone() });
            };
            entry.allows(operation)?;
            if let Some(handle) = StoreHandle::begin(entry, operation) {
                return Ok(handle);
            }
            // The entry was replaced meanwhile: what replaced it was published before.
        }
    }
}

impl Lookup for Fleet {
    type Handle = StoreHandle;

    fn find(&self, name: &DatastoreName, operation: Operation) -> Result<StoreHandle, LookupError> {
        self.lookup(name, operation)
    }
}

impl StoreHandle {
    /// Counts, then looks whether the entry still holds: who changed it waits for this look, or sees the count.
    fn begin(entry: &Arc<StoreEntry>, operation: Operation) -> Option<Self> {
        if let Some(live) = entry.live.get() {
            live.counter.begin(operation);
            if live.is_retired() {
                // What was the last user meanwhile took this look for another one.
                if live.counter.end(operation)
                    && let Some(inner) = live.owner.upgrade()
                {
                    inner.close_unused(entry);
                }
                return None;
            }
        }
        Some(Self {
            entry: Arc::clone(entry),
            operation,
        })
    }

    /// What it is used for.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The datastore as it was configured when the handle was made.
    #[must_use]
    pub fn entry(&self) -> &Arc<StoreEntry> {
        &self.entry
    }
}

impl Clone for StoreHandle {
    /// One operation more, whatever the maintenance mode says by now: it goes on with what has begun.
    fn clone(&self) -> Self {
        if let Some(live) = self.entry.live.get() {
            live.counter.begin(self.operation);
        }
        Self {
            entry: Arc::clone(&self.entry),
            operation: self.operation,
        }
    }
}

impl Deref for StoreHandle {
    type Target = StoreEntry;

    fn deref(&self) -> &StoreEntry {
        &self.entry
    }
}

impl AsRef<StoreEntry> for StoreHandle {
    fn as_ref(&self) -> &StoreEntry {
        &self.entry
    }
}

impl Drop for StoreHandle {
    fn drop(&mut self) {
        let Some(live) = self.entry.live.get() else {
            return;
        };
        let last = live.counter.end(self.operation);
        if last
            && (live.is_retired() || self.entry.wants_closing())
            && let Some(inner) = live.owner.upgrade()
        {
            inner.close_unused(&self.entry);
        }
    }
}

impl Inner {
    /// Tells who wants to know that nothing of this process uses a datastore which is gone, or is to be closed.
    pub(crate) fn close_unused(&self, entry: &StoreEntry) {
        let stays = self
            .published
            .load()
            .find(&entry.name)
            .is_some_and(|current| !current.wants_closing());
        let idle = entry.live.get().is_none_or(|live| live.here().is_idle());
        if idle
            && !stays
            && let Some(on_unused) = &self.options.on_unused
        {
            on_unused(entry);
        }
    }
}
