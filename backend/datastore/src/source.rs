//! Where encoded chunks come from: the one interface that restores know.

use std::fmt;
use std::io;
use std::path::PathBuf;

use fleethold_format::digest::ChunkDigest;
use futures_util::future::BoxFuture;

/// Gives the stored bytes of chunks. Each implementation passes the suite in `contract`.
///
/// Decorators (throttle, recording, faults) wrap another source, so that no implementation needs flags.
pub trait ChunkSource: Send + Sync + 'static {
    /// Fetches the stored form of one chunk: at least 1 and at most `max_encoded` bytes.
    ///
    /// `buf` is a buffer to fill, cleared first; at most `max_encoded` bytes are reserved in it, so that a pool
    /// can account for it. Nothing is decoded or checked here: the content is a stranger's. Dropping the future
    /// gives up; the buffer is lost then, as it is with an error.
    ///
    /// # Errors
    /// [`SourceError`] with the chunk, and where it was looked for. A chunk longer than `max_encoded` is
    /// [`SourceErrorKind::TooLarge`] before any of it is read.
    fn fetch(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> BoxFuture<'_, Result<Vec<u8>, SourceError>>;

    /// What this is, for logs: `local /srv/store/.chunks`.
    fn describe(&self) -> String;
}

/// What went wrong with a fetch.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// There is no such chunk.
    NotFound,
    /// The chunk's file is empty: a crash left it, or it marks a chunk that lives elsewhere.
    Empty,
    /// The stored form is longer than the caller can take.
    TooLarge {
        /// Length of the stored form.
        encoded_bytes: u64,
        /// What the caller allows.
        max_bytes: u64,
    },
    /// Something that is no regular file stands there.
    NotAFile,
    /// The file ended before its own length.
    Short {
        /// Length the file had.
        expected_bytes: u64,
        /// Bytes read.
        actual_bytes: u64,
    },
    /// The system refused.
    Io,
    /// The runtime is shutting down.
    Stopped,
}

/// A chunk that could not be fetched.
///
/// The text holds the system's reason, too; [`std::error::Error::source`] is empty so that nobody prints it twice.
#[derive(Debug)]
#[non_exhaustive]
pub struct SourceError {
    /// What went wrong.
    pub kind: SourceErrorKind,
    /// The chunk asked for.
    pub digest: ChunkDigest,
    /// Where it was looked for; `None` for sources without files.
    pub path: Option<PathBuf>,
    /// The system's reason.
    pub source: Option<io::Error>,
}

impl SourceError {
    /// An error without path and system reason.
    pub fn new(kind: SourceErrorKind, digest: ChunkDigest) -> Self {
        Self {
            kind,
            digest,
            path: None,
            source: None,
        }
    }

    /// Adds where the chunk was looked for.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Adds the system's reason.
    #[must_use]
    pub fn because(mut self, source: io::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        match self.kind {
            SourceErrorKind::NotFound => "chunk-missing",
            SourceErrorKind::Empty => "chunk-empty",
            SourceErrorKind::TooLarge { .. } => "chunk-too-large",
            SourceErrorKind::NotAFile => "chunk-not-a-file",
            SourceErrorKind::Short { .. } => "chunk-short",
            SourceErrorKind::Io => "chunk-io",
            SourceErrorKind::Stopped => "stopped",
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {} ", self.digest)?;
        match self.kind {
            SourceErrorKind::NotFound => {
                f.write_str("is missing: removed by prune or garbage collection?")?;
            }
            SourceErrorKind::Empty => f.write_str("is stored as an empty file")?,
            SourceErrorKind::TooLarge {
                encoded_bytes,
                max_bytes,
            } => {
                write!(
                    f,
                    "is stored in {encoded_bytes} bytes, expected at most {max_bytes}"
                )?;
            }
            SourceErrorKind::NotAFile => f.write_str("is stored as something else than a regular file")?,
            SourceErrorKind::Short {
                expected_bytes,
                actual_bytes,
            } => {
                write!(f, "ended after {actual_bytes} bytes, expected {expected_bytes}")?;
            }
            SourceErrorKind::Io => f.write_str("cannot be read")?,
            SourceErrorKind::Stopped => f.write_str("was not read: shutting down")?,
        }
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        if let Some(path) = &self.path {
            write!(f, " ({})", path.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for SourceError {}
