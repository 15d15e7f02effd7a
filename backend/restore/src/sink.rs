//! Where restored bytes go.
//!
//! | sink | order | zeros | on failure |
//! |---|---|---|---|
//! | [`FileSink`] | any | holes | the temporary file is removed, nothing appears under the final name |
//! | [`DeviceSink`] | any | written, unless the target is zero already | the device is left half written: the error says so |
//! | [`StreamSink`] | in order | sent | the reader gets an error, never a clean end |
//! | null | any | nothing | nothing |

mod device;
mod file;
mod root;
mod stream;

use std::io;
use std::path::{Path, PathBuf};

pub use device::{DeviceOptions, DeviceSink};
pub use file::{FileOptions, FileSink};
pub use root::{RestoreRoot, TargetPlace};
pub use stream::{StreamAborted, StreamReceiver, StreamSink};

/// The target of one restore.
#[derive(Debug)]
pub enum Sink {
    /// A sparse file.
    File(FileSink),
    /// Nothing: everything is fetched and checked, nothing kept.
    Null,
    /// A reader that takes the bytes in order.
    Stream(StreamSink),
    /// A block device.
    Device(DeviceSink),
}

/// A target refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// There is something under this name, and overwriting was not asked for.
    #[error("target {} exists already", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// Not something that can be restored to.
    #[error("target {}: {reason}", path.display())]
    Unsuitable {
        /// The target.
        path: PathBuf,
        /// Expected and found.
        reason: String,
    },
    /// Leaves the directory that restores are confined to.
    #[error("target {} is not inside {}: {reason}", path.display(), root.display())]
    Outside {
        /// The allowed directory.
        root: PathBuf,
        /// The path asked for.
        path: PathBuf,
        /// What was wrong.
        reason: &'static str,
    },
    /// The file system is full, or a quota or size limit is reached.
    #[error("no space left for target {}: {source}", path.display())]
    NoSpace {
        /// The target.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Any other refusal of the system.
    #[error("{action} target {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The target.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nobody reads the stream any more.
    #[error("the reader of the restored stream is gone")]
    ReaderGone,
    /// The reader of the stream stopped reading, and its memory was needed.
    #[error("the reader took nothing for {seconds} s while others waited for memory")]
    ReaderIdle {
        /// How long, in seconds.
        seconds: u64,
    },
}

impl TargetError {
    /// An error of the system, told apart by whether space ran out.
    pub(crate) fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NoSpace { path, source }
            }
            _ => Self::Io { action, path, source },
        }
    }

    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "target-exists",
            Self::Unsuitable { .. } => "target-unsuitable",
            Self::Outside { .. } => "target-outside-root",
            Self::NoSpace { .. } => "no-space",
            Self::Io { .. } => "target-io",
            Self::ReaderGone => "reader-gone",
            Self::ReaderIdle { .. } => "reader-idle",
        }
    }
}
