//! Finding a datastore for an operation: what every request begins with.

use fleethold_format::names::DatastoreName;

use crate::error::FleetError;
use crate::generation::StoreEntry;
use crate::maintenance::{Maintenance, MaintenanceRefusal, Operation};

/// Why a datastore is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// No such datastore is configured.
    #[error("no such datastore: {name}")]
    Unknown {
        /// The name.
        name: DatastoreName,
    },
    /// Its maintenance mode does not allow the operation.
    #[error("datastore {name}: {source}")]
    Maintenance {
        /// The name.
        name: DatastoreName,
        /// The mode and its message.
        source: MaintenanceRefusal,
    },
    /// The configuration cannot be read, where a lookup reads it.
    #[error(transparent)]
    Config {
        /// Why.
        #[from]
        source: FleetError,
    },
}

/// A way to find datastores. What a handle does when it is dropped belongs to the way.
pub trait Lookup {
    /// What is found.
    type Handle: AsRef<StoreEntry>;

    /// The datastore, if `operation` is allowed on it now.
    ///
    /// # Errors
    /// [`LookupError`]
    fn find(&self, name: &DatastoreName, operation: Operation) -> Result<Self::Handle, LookupError>;
}

impl StoreEntry {
    /// Refuses what the maintenance mode does.
    ///
    /// # Errors
    /// [`LookupError::Maintenance`]
    pub fn allows(&self, operation: Operation) -> Result<(), LookupError> {
        let check = |maintenance: &Maintenance| maintenance.check(operation);
        self.maintenance
            .as_ref()
            .map_or(Ok(()), check)
            .map_err(|source| LookupError::Maintenance {
                name: self.name.clone(),
                source,
            })
    }

    /// Whether its maintenance mode wants it closed when nobody uses it.
    pub(crate) fn wants_closing(&self) -> bool {
        self.maintenance
            .as_ref()
            .is_some_and(|maintenance| maintenance.kind.clears_cache())
    }
}
