//! The spool: what waits on disk for the database.
//!
//! ```text
//! <spool>/lock  instance           one process; whose jobs these are
//!         jobs-<number>.spool      jobs, machines, interruptions: fsynced, dropped last
//!         samples-<number>.spool   curves: dropped first, the oldest segment at a time
//!         rejected.jsonl           what the database refused for good, for a person to read
//!         *.damaged                a copy of the last segment that did not read back, or of such an `instance`
//! ```
//!
//! Everything here blocks; [`thread`] gives it a thread of its own.

mod frame;
mod store;
mod stream;
pub(crate) mod thread;

use std::path::PathBuf;

pub(crate) use store::{Batch, Kind, Spool};

/// Why a record could not be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Somebody else uses the folder.
    #[error("{} is locked: another fleethold process uses this spool", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// A file of the spool does not hold what it should.
    #[error("{}: found {found:?}, expected {expected}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// The spool is full, and holds no samples that could make room.
    #[error("the spool in {} is full: {need} bytes do not fit into {max}", dir.display())]
    Full {
        /// The folder.
        dir: PathBuf,
        /// What the record needs.
        need: u64,
        /// The bound.
        max: u64,
    },
    /// One record is larger than any should be.
    #[error("a record has {len} bytes, expected at most {max}")]
    TooLarge {
        /// Its length.
        len: usize,
        /// The most a record may have.
        max: usize,
    },
    /// The record contradicts itself.
    #[error("job {id}: {message}")]
    Invalid {
        /// The job.
        id: uuid::Uuid,
        /// In what.
        message: &'static str,
    },
    /// The record has no JSON form.
    #[error("cannot write a record as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The recorder was stopped.
    #[error("the recorder is stopped")]
    Stopped,
}

impl SpoolError {
    fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> SpoolError {
        let path = path.into();
        move |source| SpoolError::Io { action, path, source }
    }
}
