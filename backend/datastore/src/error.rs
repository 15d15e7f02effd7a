//! What can go wrong with a datastore on disk.

use std::io;
use std::path::PathBuf;

use fleethold_format::index::IndexError;
use fleethold_format::manifest::ManifestError;
use fleethold_format::names::{ArchiveName, DatastoreName, GroupPath, Namespace, SnapshotPath};

/// An operation on a datastore failed. The text names the file, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatastoreError {
    /// The store's directory is not there.
    #[error("datastore `{store}`: no directory at {}", path.display())]
    StoreMissing {
        /// The store.
        store: DatastoreName,
        /// Its directory by the configuration.
        path: PathBuf,
    },
    /// The directory is no datastore.
    #[error("datastore `{store}`: {} holds no directory `.chunks`", path.display())]
    NotADatastore {
        /// The store.
        store: DatastoreName,
        /// Its directory.
        path: PathBuf,
    },
    /// No such namespace.
    #[error("datastore `{store}`: no namespace `{ns}`")]
    NamespaceMissing {
        /// The store.
        store: DatastoreName,
        /// What was asked for.
        ns: Namespace,
    },
    /// No such group.
    #[error("datastore `{store}`, {}: no group `{group}`", within(ns))]
    GroupMissing {
        /// The store.
        store: DatastoreName,
        /// The namespace.
        ns: Namespace,
        /// What was asked for.
        group: GroupPath,
    },
    /// No such snapshot.
    #[error(
        "datastore `{store}`, {}: no snapshot `{snapshot}`, or not any more",
        within(ns)
    )]
    SnapshotMissing {
        /// The store.
        store: DatastoreName,
        /// The namespace.
        ns: Namespace,
        /// What was asked for.
        snapshot: SnapshotPath,
    },
    /// The snapshot has no manifest: its backup runs, or was interrupted.
    #[error("snapshot {} is unfinished: no `index.json.blob`", path.display())]
    Unfinished {
        /// The snapshot's directory.
        path: PathBuf,
    },
    /// The manifest cannot be read.
    #[error("{}: {source}", path.display())]
    Manifest {
        /// The manifest's file.
        path: PathBuf,
        /// Why.
        source: ManifestError,
    },
    /// The manifest describes another snapshot than the directory it lies in.
    #[error("{}: manifest of snapshot `{found}`, expected `{expected}`", path.display())]
    ManifestOfOther {
        /// The manifest's file.
        path: PathBuf,
        /// The snapshot by its directory.
        expected: SnapshotPath,
        /// The snapshot by the manifest.
        found: SnapshotPath,
    },
    /// A file is not there.
    #[error("{} is missing", path.display())]
    FileMissing {
        /// The file.
        path: PathBuf,
    },
    /// Something else than a regular file.
    #[error("{} is no regular file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// A blob where an index is needed, or the other way round.
    #[error("`{name}` is no {expected}")]
    WrongKind {
        /// The file asked for.
        name: ArchiveName,
        /// What the operation needs.
        expected: &'static str,
    },
    /// Longer than such a file may be.
    #[error("{}: {actual} bytes, expected at most {expected_max}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        expected_max: u64,
        /// Its length in bytes.
        actual: u64,
    },
    /// The file changed while it was read.
    #[error("{}: changed while it was read: {actual} bytes, expected {expected}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Bytes it had.
        expected: u64,
        /// Bytes it has now.
        actual: u64,
    },
    /// An index that cannot be read.
    #[error("{}: {source}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// Why.
        source: IndexError,
    },
    /// An entry that the index does not have.
    #[error("{}: no entry {entry}, the index has {entries}", path.display())]
    NoSuchEntry {
        /// The index.
        path: PathBuf,
        /// The entry asked for, from 0.
        entry: u64,
        /// Entries there are.
        entries: u64,
    },
    /// Another size than the manifest lists.
    #[error("{}: size {actual}, expected {expected} by the manifest", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Bytes by the manifest.
        expected: u64,
        /// Bytes found.
        actual: u64,
    },
    /// Another checksum than the manifest lists.
    #[error("{}: checksum {actual}, expected {expected} by the manifest", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// 64 hex digits by the manifest.
        expected: String,
        /// 64 hex digits found.
        actual: String,
    },
    /// Somebody else has the snapshot for themselves.
    #[error(
        "snapshot `{snapshot}` is in use: {} is held exclusively (a backup or a removal is running)",
        path.display()
    )]
    Locked {
        /// The snapshot.
        snapshot: SnapshotPath,
        /// The lock file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl DatastoreError {
    /// For `map_err`: a refusal of the system while doing `action` on `path`.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.into(),
            source,
        }
    }

    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::StoreMissing { .. } => "store-missing",
            Self::NotADatastore { .. } => "not-a-datastore",
            Self::NamespaceMissing { .. } => "namespace-missing",
            Self::GroupMissing { .. } => "group-missing",
            Self::SnapshotMissing { .. } => "snapshot-missing",
            Self::Unfinished { .. } => "snapshot-unfinished",
            Self::Manifest {
                source: ManifestError::Signature | ManifestError::SignatureMissing { .. },
                ..
            } => "manifest-signature",
            Self::Manifest {
                source: ManifestError::KeyFingerprint { .. },
                ..
            } => "wrong-key",
            Self::Manifest {
                source: ManifestError::NoSuchFile { .. },
                ..
            } => "file-not-listed",
            Self::Manifest { .. } => "manifest-damaged",
            Self::ManifestOfOther { .. } => "manifest-of-other-snapshot",
            Self::FileMissing { .. } => "file-missing",
            Self::NotAFile { .. } => "not-a-file",
            Self::WrongKind { .. } => "wrong-kind",
            Self::TooLarge { .. } => "file-too-large",
            Self::Changed { .. } => "file-changed",
            Self::Index { .. } => "index-damaged",
            Self::NoSuchEntry { .. } => "no-such-entry",
            Self::Size { .. } => "size-mismatch",
            Self::Checksum { .. } => "checksum-mismatch",
            Self::Locked { .. } => "snapshot-locked",
            Self::Io { .. } => "io",
        }
    }

    /// Whether what was asked for does not exist (rather than being broken).
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::StoreMissing { .. }
                | Self::NamespaceMissing { .. }
                | Self::GroupMissing { .. }
                | Self::SnapshotMissing { .. }
                | Self::Manifest {
                    source: ManifestError::NoSuchFile { .. },
                    ..
                }
        )
    }
}

/// A namespace in a sentence; the name of the root is empty.
fn within(ns: &Namespace) -> String {
    if ns.is_root() {
        "root namespace".to_owned()
    } else {
        format!("namespace `{ns}`")
    }
}
