//! Why the private cluster does not run.

use std::path::PathBuf;
use std::time::Duration;

/// Why the private cluster does not run. Each text names the path and says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
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
    /// Somebody else runs a cluster on this state directory.
    #[error("{} is locked: another fleethold process uses this state directory", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Root cannot run PostgreSQL, and neither `postgres` nor `nobody` exists.
    #[error("PostgreSQL refuses to run as root, and /etc/passwd has neither user postgres nor nobody")]
    NoServiceUser,
    /// A folder above the cluster keeps the service user out.
    #[error(
        "user {user} cannot reach {}: {} has mode {mode:04o}, which does not let that user search it; \
         choose a state directory outside of it, or give a database URL",
        path.display(), ancestor.display()
    )]
    NotSearchable {
        /// The service user.
        user: String,
        /// What it has to reach.
        path: PathBuf,
        /// The folder that keeps it out.
        ancestor: PathBuf,
        /// That folder's permission bits.
        mode: u32,
    },
    /// The data belongs to another user.
    #[error(
        "{} belongs to uid {found}, expected uid {expected}; run fleethold as the user that made it",
        path.display()
    )]
    WrongOwner {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        found: u32,
        /// Whose it should be.
        expected: u32,
    },
    /// No folder with a short enough name for the socket.
    #[error("socket path {} has {len} bytes, expected at most {max}", path.display())]
    SocketPathTooLong {
        /// The path of the socket.
        path: PathBuf,
        /// Its length.
        len: usize,
        /// The longest the system takes.
        max: usize,
    },
    /// There is no PostgreSQL here.
    #[error("no PostgreSQL binaries found in {searched}")]
    NoBinaries {
        /// Where they were looked for.
        searched: String,
    },
    /// The binaries do not fit the data.
    #[error(
        "{} was made by PostgreSQL {expected}, but the binaries in {} are version {found}; \
         install PostgreSQL {expected} or set PG_BIN",
        data.display(), bin.display()
    )]
    WrongVersion {
        /// The data directory.
        data: PathBuf,
        /// The folder of the binaries.
        bin: PathBuf,
        /// The major version of the data.
        expected: u32,
        /// The major version of the binaries.
        found: u32,
    },
    /// A file of the cluster does not hold what it should.
    #[error("{}: field {field} holds {found:?}, expected {expected}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// The archive could not be had.
    #[error("cannot download PostgreSQL {wanted} from {url}: {message}")]
    Download {
        /// The version asked for.
        wanted: String,
        /// From where.
        url: &'static str,
        /// What went wrong.
        message: String,
    },
    /// A program failed.
    #[error("{program} ended with {status}: {output}")]
    Failed {
        /// Its path.
        program: String,
        /// Its exit status.
        status: String,
        /// The end of what it printed.
        output: String,
    },
    /// Processes of an earlier run do not end.
    #[error("processes {pids:?} of an earlier run still use {} after {waited:?}", data.display())]
    StillRunning {
        /// The processes.
        pids: Vec<i32>,
        /// The data directory.
        data: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// We are being stopped.
    #[error("stopped while starting")]
    Cancelled,
}

impl ClusterError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> ClusterError {
        let path = path.into();
        move |source| ClusterError::Io { action, path, source }
    }
}
