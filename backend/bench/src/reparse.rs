//! The before side of `lookup` and `status`: nothing is kept between two lookups.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use fleethold_fleet::{Generation, Lookup, LookupError, Operation, StoreEntry};
use fleethold_format::names::DatastoreName;

/// Reads, hashes and parses the configuration for every lookup, and once more when a store's last handle is dropped.
pub struct ReparseLookup {
    file: PathBuf,
    /// Stores that are open, as PBS keeps them in a map.
    open: Mutex<HashMap<DatastoreName, Weak<Open>>>,
}

/// A store with at least one handle.
pub struct Open {
    entry: Arc<StoreEntry>,
    file: PathBuf,
}

/// One user of a store.
pub struct Handle(Arc<Open>);

impl AsRef<StoreEntry> for Handle {
    fn as_ref(&self) -> &StoreEntry {
        &self.0.entry
    }
}

impl ReparseLookup {
    /// Lookups in this `datastore.cfg`; it is first read by the first of them.
    pub fn new(file: PathBuf) -> Self {
        Self {
            file,
            open: Mutex::default(),
        }
    }
}

impl Lookup for ReparseLookup {
    type Handle = Handle;

    fn find(&self, name: &DatastoreName, operation: Operation) -> Result<Handle, LookupError> {
        let generation = Generation::read(&self.file)?;
        let entry = generation
            .lookup(name)
            .ok_or_else(|| LookupError::Unknown { name: name.clone() })?;
        entry.allows(operation)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // An open store goes on while its section is the same.
        if let Some(known) = open.get(name).and_then(Weak::upgrade)
            && known.entry.section_hash == entry.section_hash
        {
            return Ok(Handle(known));
        }
        let opened = Arc::new(Open {
            entry,
            file: self.file.clone(),
        });
        open.insert(name.clone(), Arc::downgrade(&opened));
        Ok(Handle(opened))
    }
}

impl Drop for Open {
    /// The last user looks whether the store is to be closed.
    fn drop(&mut self) {
        let entry = Generation::read(&self.file)
            .ok()
            .and_then(|generation| generation.lookup(&self.entry.name));
        let maintenance = entry.as_ref().and_then(|entry| entry.maintenance.as_ref());
        if maintenance.is_some_and(|maintenance| maintenance.kind.clears_cache()) {
            tracing::debug!(store = %self.entry.name, "closed");
        }
    }
}
