//! Reading, locking and replacing one file of the configuration directory (CONFIG.md §1).
//!
//! A reader needs no lock: a file is only ever replaced as a whole. A writer takes the file's lock, reads, changes, replaces.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fleethold_format::hash::Sha256;
use rustix::fs::{FlockOperation, flock};

use crate::clock;
use crate::error::FleetError;

/// How long a writer waits for the lock of a configuration file.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Mode of configuration files without secrets.
pub const MODE_CONFIG: u32 = 0o640;
/// Mode of files with password hashes.
pub const MODE_SECRET: u32 = 0o600;
/// The largest configuration file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

const LOCK_RETRY: Duration = Duration::from_millis(20);

/// A held exclusive lock; dropping it releases it.
#[derive(Debug)]
pub struct ConfigLock {
    _file: File,
}

impl ConfigLock {
    /// Locks `path`, which is created when missing, waiting at most `timeout`. Blocking.
    ///
    /// # Errors
    /// [`FleetError::Locked`] after the timeout, [`FleetError::Io`] when the lock file cannot be opened.
    pub fn acquire(path: &Path, timeout: Duration) -> Result<Self, FleetError> {
        let io = |source| FleetError::Io {
            action: "lock",
            path: path.to_owned(),
            source,
        };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o660)
            .open(path)
            .map_err(io)?;
        let start = clock::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io(error.into())),
            }
            // flock has no timeout of its own.
            if clock::now().duration_since(start) >= timeout {
                return Err(FleetError::Locked {
                    path: path.to_owned(),
                    waited: timeout,
                });
            }
            std::thread::sleep(LOCK_RETRY);
        }
    }
}

/// Reads a whole file; a missing one is empty, as its digest is that of the empty string.
///
/// # Errors
/// [`FleetError::Io`], also for a file larger than [`MAX_FILE_BYTES`].
pub fn read(path: &Path) -> Result<Vec<u8>, FleetError> {
    let io = |source| FleetError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "expected at most 64 MiB",
        )));
    }
    Ok(bytes)
}

/// SHA-256 of a file's bytes: the digest API clients send back to detect a change in between.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes)
}

/// Replaces a file: temporary file beside it, fsync, rename, fsync of the directory. After a crash the file is the old one or the
/// new one. An existing file's owner and group are kept where this process may set them, and so is a mode that lets fewer read
/// it than `mode` does. Blocking.
///
/// # Errors
/// [`FleetError::Io`]; the old file then stands unchanged and no temporary file is left.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FleetError> {
    let io = |action, path: &Path, source| FleetError::Io {
        action,
        path: path.to_owned(),
        source,
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (temp, file) =
        create_temp(path, directory).map_err(|source| io("create a file beside", path, source))?;
    let written = (|| {
        let mut file = file;
        let old = std::fs::metadata(path);
        // The umask must not decide who may read a configuration file.
        let mode = old.as_ref().map_or(mode, |old| mode & old.mode());
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        if let Ok(old) = old
            && (old.uid(), old.gid()) != (file.metadata()?.uid(), file.metadata()?.gid())
            && let Err(error) = std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()))
        {
            tracing::warn!(path = %path.display(), %error, "cannot keep the owner of a configuration file");
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temp, path)
    })();
    if let Err(source) = written {
        if let Err(error) = std::fs::remove_file(&temp) {
            tracing::warn!(path = %temp.display(), %error, "cannot remove a temporary file");
        }
        return Err(io("replace", path, source));
    }
    // The rename itself survives a crash only once the directory is on disk.
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| io("fsync the directory of", path, source))
}

/// Creates `.NAME.PID-N.tmp`; names a crashed process left are skipped.
fn create_temp(path: &Path, directory: &Path) -> io::Result<(PathBuf, File)> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected a file name"))?;
    for _ in 0..1000 {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let temp = directory.join(format!(
            ".{}.{}-{serial}.tmp",
            name.to_string_lossy(),
            std::process::id()
        ));
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temp)
        {
            Ok(file) => return Ok((temp, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "a thousand temporary files are in the way",
    ))
}
