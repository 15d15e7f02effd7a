//! How a command ends.

use std::process::ExitCode;

/// Exit codes of all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Setup = 3,
    /// Incomplete, or what is stored failed verification.
    Unverified = 4,
    /// A benchmark could not measure.
    NotMeasured = 5,
    Cancelled = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with the exit code it leads to.
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) error: anyhow::Error,
}

/// What a command returns: it may end with another code than 0 after having said everything itself.
pub(super) type CliResult<T = Exit> = Result<T, Failure>;

impl Failure {
    pub(super) fn setup(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Setup,
            error: error.into(),
        }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            error: anyhow::Error::msg(message.into()),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            exit: Exit::Failed,
            error: error.into(),
        }
    }
}

/// The exit code for a stable error code of a restore: whether the stored data is at fault or something around it.
pub(super) fn of_code(code: &str) -> Exit {
    match code {
        "cancelled" => Exit::Cancelled,
        "blob-too-short"
        | "blob-magic"
        | "blob-crc"
        | "blob-compression"
        | "blob-too-large"
        | "blob-size"
        | "blob-csum"
        | "crypt-mode-mismatch"
        | "key-or-data-wrong"
        | "not-in-manifest"
        | "chunk-missing"
        | "chunk-empty"
        | "chunk-too-large"
        | "chunk-not-a-file"
        | "chunk-short"
        | "chunk-length"
        | "chunk-digest"
        | "index-csum"
        | "index-size"
        | "index-changed"
        | "index-too-large"
        | "index-invalid"
        | "index-truncated"
        | "index-damaged"
        | "manifest-damaged"
        | "manifest-signature"
        | "manifest-of-other-snapshot"
        | "file-missing"
        | "file-too-large"
        | "file-changed"
        | "not-a-file"
        | "size-mismatch"
        | "checksum-mismatch" => Exit::Unverified,
        _ => Exit::Failed,
    }
}
