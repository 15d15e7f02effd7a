//! A PostgreSQL of our own, beside the server and for it alone.
//!
//! ```text
//! <state>/pg/          ours; 0711 if the service user is another
//!   lock               flock: one fleethold a state directory
//!   data/  data.new/   0700, of the service user: the cluster; the second name while initdb works
//!   sock/              likewise: whoever gets in is trusted (or a short name in /tmp, noted in `socket-dir`)
//!   dist/VERSION/      downloaded binaries, if the system has none
//! ```
//!
//! It listens on no network address, and stops when this process ends, however it ends. What an earlier process left
//! running is adopted.

mod binaries;
mod error;
mod initdb;
mod orphan;
mod pdeathsig;
mod process;
mod service_user;
mod socket;

use std::fs::File;
use std::path::{Path, PathBuf};

pub use error::ClusterError;
pub(crate) use process::Process;

use binaries::Search;
use service_user::ServiceUser;
use sqlx::postgres::PgConnectOptions;

/// The cluster's place on disk, locked for this process.
#[derive(Debug)]
pub(crate) struct Home {
    dir: PathBuf,
    user: ServiceUser,
    /// Held, never read: closing it lets the next process in.
    _lock: File,
}

impl Home {
    /// Makes and locks `<state>/pg`. Blocks.
    pub(crate) fn open(state_dir: &Path) -> Result<Self, ClusterError> {
        std::fs::create_dir_all(state_dir).map_err(ClusterError::io("create", state_dir))?;
        let state_dir = state_dir
            .canonicalize()
            .map_err(ClusterError::io("resolve", state_dir))?;
        let dir = state_dir.join("pg");
        let user = ServiceUser::find()?;
        user.check_reaches(&dir)?;
        user.enclosing_dir(&dir)?;
        let path = dir.join("lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(ClusterError::io("open", &path))?;
        match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self {
                dir,
                user,
                _lock: lock,
            }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(ClusterError::Locked { path }),
            Err(error) => Err(ClusterError::Io {
                action: "lock",
                path,
                source: error.into(),
            }),
        }
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn search(&self) -> Search {
        Search::from_env(self.dir.join("dist"))
    }

    /// Downloads PostgreSQL, for when [`Home::launch`] found none.
    pub(crate) async fn download(&self) -> Result<(), ClusterError> {
        self.search().download(&self.data()).await
    }

    /// Starts the cluster, making it first if need be, or adopts the one that runs. Blocks.
    ///
    /// It may still be recovering when this returns: connect to it to find out.
    pub(crate) fn launch(&self, cancelled: &dyn Fn() -> bool) -> Result<Process, ClusterError> {
        if let Some(found) = orphan::find(&self.data(), cancelled)? {
            let process = Process::adopt(found.pid, found.socket_dir.clone())?;
            if socket::is_private(&found.socket_dir, &self.user) {
                tracing::info!(pid = found.pid, "adopted a running postgres");
                return Ok(process);
            }
            // Its socket is missing or open to others: not one that we would have started. Dropping it stops it.
            drop(process);
            orphan::wait_until_gone(&self.data(), cancelled)?;
        }
        let binaries = self.search().find(&self.data())?;
        initdb::ensure(&self.dir, &binaries, &self.user)?;
        let socket_dir = socket::prepare(&self.dir, &self.user)?;
        Process::spawn(&self.dir, &socket_dir, &binaries, &self.user)
    }

    /// Tidies up after the server has ended.
    pub(crate) fn clean(&self, process: &Process) {
        socket::clean(&self.dir, &process.socket_dir);
    }
}

/// How to reach a database of the cluster that another process runs in `<state>/pg`; `None` when none seems to run.
/// Blocks.
pub(crate) fn running(state_dir: &Path, database: &str) -> Option<PgConnectOptions> {
    let home = state_dir.canonicalize().ok()?.join("pg");
    let user = ServiceUser::find().ok()?;
    let socket_dir = socket::find(&home, &user)?;
    Some(
        PgConnectOptions::new_without_pgpass()
            .socket(socket_dir)
            .port(socket::PORT)
            .username(initdb::SUPERUSER)
            .database(database),
    )
}

/// How to reach a database of the cluster.
pub(crate) fn connect_options(process: &Process, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(&process.socket_dir)
        .port(socket::PORT)
        .username(initdb::SUPERUSER)
        .database(database)
}
