//! One datastore on disk: chunk sources, namespaces, groups, snapshots, locks.
//!
//! ```text
//! Datastore ── namespaces, groups, snapshots, counts, usage     (listing: blocking, read-only)
//!     │
//!     ├── snapshot() ──▶ OpenSnapshot: shared lock, verified manifest
//!     │                      ├── open_index() ──▶ IndexFile     (windows by pread, never whole)
//!     │                      └── read_blob_raw()
//!     └── chunk_source() ──▶ LocalSource ─┐
//!          MemorySource, Throttled, …   ──┴──▶ dyn ChunkSource  (async, encoded chunks)
//! ```
//! Reading never writes: files are opened for reading only, beneath the store's directory, and never through a
//! symbolic link. No descriptor stays open in a [`Datastore`], so that ten thousand of them cost nothing and an
//! unmounted one can be unmounted. Only [`fixture`] writes, and only into directories of its own.

mod counts;
pub mod error;
pub mod fixture;
mod fs;
pub mod index_file;
pub mod list;
pub mod lock;
pub mod snapshot;
pub mod source;
pub mod sources;
pub mod store;

#[cfg(any(test, feature = "testing"))]
pub mod contract;

pub use counts::{Counts, TypeCounts};
pub use error::DatastoreError;
pub use fs::open_dir_beneath;
pub use index_file::{IndexEntry, IndexFile};
pub use list::{FileInfo, Group, GroupList, SnapshotInfo};
pub use lock::{LockNote, PbsHost};
pub use snapshot::{OpenSnapshot, StoredFile};
pub use source::{ChunkSource, SourceError, SourceErrorKind};
pub use sources::{FaultySource, LocalSource, MemorySource, RecordingSource, ThrottledSource};
pub use store::{Datastore, Usage};
