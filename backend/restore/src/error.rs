//! What can go wrong in a restore, each with a stable code, and the full context a reader needs to act on it.

use std::fmt;
use std::path::PathBuf;

use fleethold_datastore::{DatastoreError, SourceError};
use fleethold_format::blob::{BlobError, ChunkError};
use fleethold_format::digest::ChunkDigest;

use crate::report::{Outcome, ReportError, RestoreIdentity, RestoreReport};
use crate::sink::TargetError;

/// A plan cannot be made of this index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(DatastoreError),
    /// The index is not the one of the manifest.
    #[error("{}: index checksum {actual}, expected {expected} by the manifest", path.display())]
    Checksum {
        /// The index.
        path: PathBuf,
        /// 64 hex digits in the manifest.
        expected: String,
        /// 64 hex digits found.
        actual: String,
    },
    /// The plan would take more than the memory budget.
    #[error(
        "{}: a plan of its {chunks} chunks takes {needed_bytes} bytes of memory, the budget is {budget_bytes}",
        path.display()
    )]
    Budget {
        /// The index.
        path: PathBuf,
        /// Chunks in the index.
        chunks: u64,
        /// Bytes needed.
        needed_bytes: u64,
        /// The budget.
        budget_bytes: u64,
    },
    /// More positions than a plan can number.
    #[error("index has {found} chunks, expected at most {limit}")]
    TooManyChunks {
        /// Chunks in the index.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A chunk that is empty or longer than chunks can be.
    #[error("index gives the chunk at position {position} a length of {found} bytes, expected 1 to {limit}")]
    ChunkLength {
        /// Number of the chunk in the index.
        position: u64,
        /// Its length by the index.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// The same digest with two lengths: one of them must be wrong.
    #[error(
        "index gives chunk {digest} {first} bytes at position {first_position} but {second} bytes at position {position}"
    )]
    TwoLengths {
        /// The chunk.
        digest: ChunkDigest,
        /// Its first position.
        first_position: u64,
        /// Its length there.
        first: u64,
        /// The other position.
        position: u64,
        /// The length there.
        second: u64,
    },
    /// The index ended early.
    #[error("index delivered {actual} entries, expected {expected}")]
    EntriesMissing {
        /// Entries asked for.
        expected: u64,
        /// Entries delivered.
        actual: u64,
    },
    /// The system refused the memory.
    #[error("no memory for a plan of {bytes} bytes")]
    Memory {
        /// Bytes needed.
        bytes: u64,
    },
}

impl From<DatastoreError> for PlanError {
    fn from(error: DatastoreError) -> Self {
        match error {
            DatastoreError::Checksum {
                path,
                expected,
                actual,
            } => Self::Checksum {
                path,
                expected,
                actual,
            },
            other => Self::Index(other),
        }
    }
}

impl PlanError {
    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Index(error) => error.code(),
            Self::Checksum { .. } => "index-csum",
            Self::Budget { .. } => "memory-budget",
            Self::TooManyChunks { .. } => "index-too-large",
            Self::ChunkLength { .. } | Self::TwoLengths { .. } => "index-invalid",
            Self::EntriesMissing { .. } => "index-truncated",
            Self::Memory { .. } => "out-of-memory",
        }
    }
}

/// Why a restore ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreErrorKind {
    /// The index cannot be planned or read.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The index is not the one of the manifest.
    #[error("index checksum: expected {} by the manifest, found {}", Hex(.expected), Hex(.actual))]
    IndexCsum {
        /// Checksum in the manifest.
        expected: [u8; 32],
        /// Checksum of the index's entries.
        actual: [u8; 32],
    },
    /// The index describes another size than the manifest.
    #[error("index size: expected {expected} bytes by the manifest, found {actual}")]
    IndexSize {
        /// Size in the manifest.
        expected: u64,
        /// Size by the index.
        actual: u64,
    },
    /// The plan belongs to another index, or the index was changed in between.
    #[error("index changed while it was read: planned with checksum {}, found {}", Hex(.planned), Hex(.actual))]
    IndexChanged {
        /// Checksum when the plan was made.
        planned: [u8; 32],
        /// Checksum found during the restore.
        actual: [u8; 32],
    },
    /// An entry of the index that was read once more is of another chunk than planned.
    #[error(
        "{}: index entry changed while it was read: expected this chunk of {planned_len} bytes, found chunk {found} of {found_len} bytes",
        path.display()
    )]
    IndexEntryChanged {
        /// The index.
        path: PathBuf,
        /// The chunk's length by the plan.
        planned_len: u64,
        /// The chunk that the entry names now.
        found: ChunkDigest,
        /// The length it gives now.
        found_len: u64,
    },
    /// The archive is encrypted.
    #[error("archive is encrypted and no key was given")]
    KeyMissing,
    /// The chunk could not be fetched.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What was fetched is not the chunk.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The blob cannot be decoded.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The stored blob has another length than the manifest says.
    #[error("stored blob of {actual} bytes, expected {expected} by the manifest")]
    BlobSize {
        /// Size in the manifest.
        expected: u64,
        /// Size of the stored file.
        actual: u64,
    },
    /// The stored blob is not the one of the manifest.
    #[error("stored blob checksum: expected {} by the manifest, found {}", Hex(.expected), Hex(.actual))]
    BlobCsum {
        /// Checksum in the manifest.
        expected: [u8; 32],
        /// SHA-256 of the stored file.
        actual: [u8; 32],
    },
    /// The manifest does not list the blob, so there is nothing to check it against.
    #[error("the manifest does not list this blob")]
    NotInManifest,
    /// The target refused.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Somebody asked for it.
    #[error("cancelled")]
    Cancelled,
    /// The budget is too small for this archive, even with nothing else running.
    #[error("needs {required_bytes} bytes of memory, the budget is {budget_bytes}")]
    MemoryBudget {
        /// Plan and one chunk.
        required_bytes: u64,
        /// The engine's budget.
        budget_bytes: u64,
    },
    /// A bug or a process shutting down.
    #[error("internal: {what}")]
    Internal {
        /// What was found.
        what: &'static str,
    },
}

impl RestoreErrorKind {
    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Plan(error) => error.code(),
            Self::IndexCsum { .. } => "index-csum",
            Self::IndexSize { .. } => "index-size",
            Self::IndexChanged { .. } | Self::IndexEntryChanged { .. } => "index-changed",
            Self::KeyMissing => "key-missing",
            Self::Source(error) => error.code(),
            Self::Chunk(error) => error.code(),
            Self::Blob(error) => error.code(),
            Self::BlobSize { .. } => "blob-size",
            Self::BlobCsum { .. } => "blob-csum",
            Self::NotInManifest => "not-in-manifest",
            Self::Target(error) => error.code(),
            Self::Cancelled => "cancelled",
            Self::MemoryBudget { .. } => "memory-budget",
            Self::Internal { .. } => "internal",
        }
    }
}

/// Which chunk of the archive a failure is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The chunk.
    pub digest: ChunkDigest,
    /// Its number in the index, from 0.
    pub position: u64,
    /// Where it begins in the archive, in bytes.
    pub offset: u64,
}

/// A failure inside a job, before it is put into the job's context.
#[derive(Debug)]
pub(crate) struct Failure {
    pub kind: Box<RestoreErrorKind>,
    pub place: Option<ChunkPlace>,
}

impl Failure {
    pub(crate) fn at(place: ChunkPlace, kind: impl Into<RestoreErrorKind>) -> Self {
        Self {
            kind: Box::new(kind.into()),
            place: Some(place),
        }
    }
}

impl<E: Into<RestoreErrorKind>> From<E> for Failure {
    fn from(kind: E) -> Self {
        Self {
            kind: Box::new(kind.into()),
            place: None,
        }
    }
}

/// A restore that did not succeed: why, of what, where, and how far it came.
#[derive(Debug)]
pub struct RestoreError(Box<Context>);

#[derive(Debug)]
struct Context {
    failure: Failure,
    identity: RestoreIdentity,
    report: RestoreReport,
}

impl RestoreError {
    pub(crate) fn new(failure: Failure, identity: RestoreIdentity, report: RestoreReport) -> Self {
        let mut error = Self(Box::new(Context {
            failure,
            identity,
            report,
        }));
        let told = error.told();
        error.0.report.outcome = if error.is_cancelled() {
            Outcome::Cancelled
        } else {
            Outcome::Failed
        };
        error.0.report.error = Some(told);
        error
    }

    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        self.kind().code()
    }

    /// Why.
    pub fn kind(&self) -> &RestoreErrorKind {
        &self.0.failure.kind
    }

    /// Whether the job was cancelled rather than failed.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.kind(), RestoreErrorKind::Cancelled)
    }

    /// Store, namespace, snapshot and file.
    pub fn identity(&self) -> &RestoreIdentity {
        &self.0.identity
    }

    /// The chunk at fault, when it is about one.
    pub fn place(&self) -> Option<ChunkPlace> {
        self.0.failure.place
    }

    /// The report of the job up to the failure, with `outcome` and `error` filled in.
    pub fn report(&self) -> &RestoreReport {
        &self.0.report
    }

    fn told(&self) -> ReportError {
        ReportError {
            code: self.code(),
            message: self.to_string(),
            file: self.identity().archive.to_string(),
            chunk: self.place().map(|place| place.digest.to_string()),
            position: self.place().map(|place| place.position),
        }
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "restoring {}", self.identity())?;
        if let Some(place) = self.place() {
            write!(
                f,
                ": chunk {} at position {} (offset {})",
                place.digest, place.position, place.offset
            )?;
        }
        write!(f, ": {}", self.kind())
    }
}

impl std::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(self.kind())
    }
}

/// The engine could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Less memory than one chunk may need.
    #[error("memory budget of {given} bytes, expected at least {least}")]
    Memory {
        /// The budget asked for.
        given: u64,
        /// The smallest allowed.
        least: u64,
    },
    /// The system refused a thread.
    #[error("starting restore threads: {source}")]
    Threads {
        /// Why.
        source: std::io::Error,
    },
}

struct Hex<'a>(&'a [u8; 32]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
