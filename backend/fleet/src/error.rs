//! What can be wrong with the configuration, and with a change of it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fleethold_format::names::DatastoreName;
use fleethold_format::section_config::SectionConfigError;

/// What is wrong with a configuration file. Shown to the operator while the last good content stays in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from 1, where one is to blame.
    pub line: Option<usize>,
    /// Expected and found.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ": line {line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Why a configuration file cannot be read, locked or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted, such as "create".
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Somebody else kept the lock for too long.
    #[error("cannot lock {} within {} s: another process is changing the configuration", path.display(), waited.as_secs_f32())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// The file is not valid as it is: it is not overwritten.
    #[error("{problem}")]
    Invalid {
        /// What is wrong.
        problem: ConfigProblem,
    },
    /// The file changed since the caller read it.
    #[error("detected modified configuration: expected digest {expected}, found {found}")]
    Modified {
        /// The digest the caller knows, hex.
        expected: String,
        /// The digest of the file, hex.
        found: String,
    },
    /// The memory that processes share is not as it has to be.
    #[error("{}: {reason}", path.display())]
    Shared {
        /// Its file.
        path: PathBuf,
        /// Expected and found.
        reason: String,
    },
    /// A datastore of that name is configured already.
    #[error("datastore {name} already exists, at {}", path.display())]
    Exists {
        /// The name.
        name: DatastoreName,
        /// Its path.
        path: PathBuf,
    },
    /// No datastore of that name is configured.
    #[error("no such datastore: {name}")]
    NotFound {
        /// The name.
        name: DatastoreName,
    },
    /// A path that cannot be a datastore's.
    #[error("datastore {name}: expected {expected}, found path {}", path.display())]
    Path {
        /// The datastore.
        name: DatastoreName,
        /// What is required of it.
        expected: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// One datastore inside the other.
    #[error("datastore {name}: path {} {}", path.display(), overlap(path, other, other_path))]
    Nested {
        /// The new datastore.
        name: DatastoreName,
        /// Its path.
        path: PathBuf,
        /// The configured one.
        other: DatastoreName,
        /// Its path.
        other_path: PathBuf,
    },
    /// A comment that cannot be stored.
    #[error(
        "datastore {name}: expected a comment of at most 128 characters without control characters, found {found:?}"
    )]
    Comment {
        /// The datastore.
        name: DatastoreName,
        /// The comment.
        found: String,
    },
    /// The changed configuration cannot be written in the file's syntax.
    #[error("cannot write {}: {source}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: SectionConfigError,
    },
}

/// How a path overlaps with another datastore's.
fn overlap(path: &Path, other: &DatastoreName, other_path: &Path) -> String {
    if path == other_path {
        format!("is that of datastore {other} already")
    } else {
        format!("is nested with {} of datastore {other}", other_path.display())
    }
}
