//! The fleet's configuration: parse, generation, cached lookups, atomic writes.
//!
//! ```text
//!  datastore.cfg ──read──▶ digest ──▶ moka: digest → parsed fleet ──▶ ArcSwap<Generation> ──▶ lookup(name)
//!        ▲                                 (parse on a miss)               (published)          no file, no lock
//!        └── temp + fsync + rename ◀── flock .datastore.lck ◀── store_add, store_remove, edit
//! ```
//! A [`Generation`] never changes once published; a new one replaces it when the file's content does. An edit that does not
//! parse keeps the last good stores and says what is wrong in [`Generation::error`].
//!
//! | | `lookup`, `current` | `refresh` | a writer here | a writer in another process |
//! |---|---|---|---|---|
//! | waits for | nothing | another `refresh` of this process | the file lock, at most 10 s | the file lock |
//! | sees | the published generation | the file as it is (old or new, never half) | the file as it is | the file as it is |

mod clock;
pub mod config_file;
mod error;
mod fleet;
mod generation;
mod handle;
mod lookup;
mod maintenance;
mod shared;
mod watch;
mod writer;

pub use error::{ConfigProblem, FleetError};
pub use fleet::{Fleet, FleetOptions, FleetStats, OnUnused};
pub use generation::{Generation, StoreEntry};
pub use handle::StoreHandle;
pub use lookup::{Lookup, LookupError};
pub use maintenance::{Maintenance, MaintenanceMode, MaintenanceRefusal, Operation};
pub use shared::Operations;
pub use watch::Watch;
