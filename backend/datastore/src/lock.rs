//! Living beside a running PBS: its shared snapshot lock (FORMAT.md §9).
//!
//! ```text
//! <run>/locks/<store>/<namespace joined by ':'>/<systemd-escaped type/id/time>     flock, shared, not waiting
//! ```
//! The lock file may be removed and made anew between our open and our flock: the inode is compared afterwards.
//! Where `<run>` does not exist no PBS runs, and nothing is locked. Lock files live in `/run`, never in a store.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fleethold_format::escape::escape;
use fleethold_format::hash::Sha256;
use fleethold_format::names::{Namespace, SnapshotPath};
use fleethold_format::section_config::{Section, SectionConfig};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::error::DatastoreError;
use crate::fs::Dir;
use crate::store::Datastore;

/// A lock file that keeps changing under us is given up after so many attempts.
const ATTEMPTS: usize = 10;

/// Where a PBS on this machine would keep its locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PbsHost {
    /// Its run-time directory.
    pub run_dir: PathBuf,
    /// Its list of datastores: locks go by its names, and ours may differ.
    pub config: PathBuf,
}

impl Default for PbsHost {
    fn default() -> Self {
        Self {
            run_dir: PathBuf::from("/run/proxmox-backup"),
            config: PathBuf::from("/etc/proxmox-backup/datastore.cfg"),
        }
    }
}

/// Whether a snapshot is safe from a running PBS. The text goes into the task log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockNote {
    /// PBS sees our shared lock.
    Locked {
        /// The lock file, or the snapshot's directory under the scheme before 4.0.
        path: PathBuf,
    },
    /// No PBS runs here, or its lock cannot be taken.
    NotLocked {
        /// Why; `None` when no PBS runs here.
        reason: Option<String>,
    },
}

impl LockNote {
    /// Whether the lock is held.
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }
}

impl fmt::Display for LockNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path } => write!(f, "locked beside a running PBS: {}", path.display()),
            Self::NotLocked { reason: None } => f.write_str("not locked against a running PBS"),
            Self::NotLocked { reason: Some(reason) } => {
                write!(f, "not locked against a running PBS: {reason}")
            }
        }
    }
}

/// A shared lock on a snapshot, held until dropped; or the reason why there is none.
#[derive(Debug)]
pub(crate) struct SnapshotLock {
    note: LockNote,
    _held: Option<File>,
}

impl SnapshotLock {
    pub(crate) fn note(&self) -> &LockNote {
        &self.note
    }

    /// Takes the lock if a PBS runs here.
    ///
    /// # Errors
    /// [`DatastoreError::Locked`] when the snapshot is being written or removed. Every other obstacle is a note.
    pub(crate) fn shared(
        store: &Datastore,
        ns: &Namespace,
        snapshot: &SnapshotPath,
        dir: &Dir,
    ) -> Result<Self, DatastoreError> {
        let run_dir = &store.pbs().run_dir;
        let not_locked = |reason| Self {
            note: LockNote::NotLocked { reason },
            _held: None,
        };
        if !run_dir.is_dir() {
            return Ok(not_locked(None));
        }
        let (path, taken) = if run_dir.join("old-locking").exists() {
            // Until the next boot after an upgrade from 3.x the directory itself is locked.
            let own = dir
                .try_clone()
                .and_then(|dir| lock_shared(File::from(dir.into_fd())));
            (dir.path().to_owned(), own)
        } else {
            let name = match pbs_name(store) {
                Ok(name) => name,
                Err(reason) => return Ok(not_locked(Some(reason))),
            };
            let path = lock_path(run_dir, &name, ns, snapshot);
            let file = take(run_dir, &path);
            (path, file)
        };
        match taken {
            Ok(held) => Ok(Self {
                note: LockNote::Locked { path },
                _held: Some(held),
            }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(DatastoreError::Locked {
                snapshot: snapshot.clone(),
                path,
            }),
            Err(error) => Ok(not_locked(Some(format!("{}: {error}", path.display())))),
        }
    }
}

/// What PBS calls the store, by the path in its configuration; without a configuration, what we call it.
fn pbs_name(store: &Datastore) -> Result<String, String> {
    let config = &store.pbs().config;
    let text = match std::fs::read_to_string(config) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(store.name().to_string()),
        Err(error) => return Err(format!("cannot read {}: {error}", config.display())),
    };
    let sections = SectionConfig::parse(&text)
        .map_err(|error| format!("{}: {error}", config.display()))?
        .sections;
    // A path that cannot be resolved is compared as it stands.
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let ours = resolve(store.path());
    let same = |section: &&Section| {
        // On removable media the path is relative to the mount point (CONFIG.md §2).
        let removable = section.get_all("backing-device").next().is_some();
        let path = section.get_all("path").next().unwrap_or_default();
        let path = if removable {
            Path::new("/mnt/datastore").join(&section.id)
        } else {
            path.into()
        };
        section.ty == "datastore" && resolve(&path) == ours
    };
    match sections.iter().find(same) {
        Some(section) => Ok(section.id.clone()),
        None => Err(format!(
            "{} has no datastore at {}",
            config.display(),
            ours.display()
        )),
    }
}

/// Path of a snapshot's lock file.
fn lock_path(run_dir: &Path, name: &str, ns: &Namespace, snapshot: &SnapshotPath) -> PathBuf {
    let mut path = run_dir.join("locks").join(name);
    let joined = ns.components().collect::<Vec<_>>().join(":");
    if !joined.is_empty() {
        path.push(joined);
    }
    path.push(lock_name(&snapshot.to_string()));
    path
}

/// One path component for `type/id/time`: escaped, and shortened where it would be too long for a file name.
fn lock_name(rel_path: &str) -> String {
    let escaped = escape(rel_path);
    if escaped.len() <= 255 {
        return escaped;
    }
    let (head, tail) = (escaped.get(..80), escaped.get(escaped.len() - 80..));
    let hash = hex::encode(Sha256::digest(rel_path));
    // Escaped text is ASCII: both ends exist.
    format!(
        "{}...{}-{hash}",
        head.unwrap_or_default(),
        tail.unwrap_or_default()
    )
}

/// Opens (or makes) the lock file, locks it, and makes sure that it is still the file of that name.
fn take(run_dir: &Path, path: &Path) -> io::Result<File> {
    let owner = std::fs::metadata(run_dir)?;
    for _ in 0..ATTEMPTS {
        if let Some(parent) = path.parent() {
            make_dirs(run_dir, parent, &owner)?;
        }
        let file = match open_lock_file(path, &owner) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => lock_shared(other?)?,
        };
        let held = file.metadata()?;
        match std::fs::metadata(path) {
            Ok(named) if named.ino() == held.ino() && named.dev() == held.dev() => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!(
        "the lock file was replaced {ATTEMPTS} times"
    )))
}

fn open_lock_file(path: &Path, owner: &std::fs::Metadata) -> io::Result<File> {
    // A shared lock needs no right to write, which a sandbox or an ordinary user may lack.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(File::from(fd)),
        Err(Errno::NOENT) => {
            let mode = Mode::from_raw_mode(0o660);
            let fresh = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::CREATE | OFlags::EXCL;
            match rustix::fs::open(path, fresh, mode) {
                Ok(fd) => {
                    let file = File::from(fd);
                    give_to(&file, owner)?;
                    Ok(file)
                }
                // Somebody else was first: theirs is as good.
                Err(Errno::EXIST) => Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?)),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes the directories below `run_dir`, owned as PBS would: its daemons must be able to use them.
fn make_dirs(run_dir: &Path, dir: &Path, owner: &std::fs::Metadata) -> io::Result<()> {
    let below = dir.strip_prefix(run_dir).map_err(io::Error::other)?;
    let mut path = run_dir.to_owned();
    for component in below.components() {
        path.push(component);
        match std::fs::create_dir(&path) {
            Ok(()) => give_to(&File::open(&path)?, owner)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives what we made to the owner of PBS's run-time directory, unless it is theirs already.
fn give_to(file: &File, owner: &std::fs::Metadata) -> io::Result<()> {
    let made = file.metadata()?;
    if made.uid() == owner.uid() && made.gid() == owner.gid() {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(owner.uid()), Some(owner.gid()))
}

fn lock_shared(file: File) -> io::Result<File> {
    flock(&file, FlockOperation::NonBlockingLockShared)?;
    Ok(file)
}
