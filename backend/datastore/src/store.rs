//! A datastore: a name and a directory. Opened for reading only.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_format::names::{DatastoreName, GroupPath, Namespace, SnapshotPath};
use rustix::io::Errno;

use crate::error::DatastoreError;
use crate::fs::Dir;
use crate::lock::PbsHost;
use crate::sources::LocalSource;

/// One datastore on disk. Cheap to clone; holds no descriptor.
///
/// Every method blocks on the disk: call them where blocking is allowed.
#[derive(Debug, Clone)]
pub struct Datastore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: DatastoreName,
    path: PathBuf,
    pbs: PbsHost,
}

/// Room on the file system of a store, in bytes.
#[derive(Debug, Copy, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    /// Size of the file system.
    pub total_bytes: u64,
    /// Used, by whatever.
    pub used_bytes: u64,
    /// Free for those who are not root.
    pub avail_bytes: u64,
}

impl Datastore {
    /// Checks that `path` is a directory with a directory `.chunks` and remembers it.
    ///
    /// # Errors
    /// [`DatastoreError::StoreMissing`], [`DatastoreError::NotADatastore`], [`DatastoreError::Io`].
    pub fn open(name: DatastoreName, path: &Path) -> Result<Self, DatastoreError> {
        Self::open_beside(name, path, PbsHost::default())
    }

    /// [`Datastore::open`] with another place for a running PBS's locks and configuration.
    ///
    /// # Errors
    /// As [`Datastore::open`].
    pub fn open_beside(name: DatastoreName, path: &Path, pbs: PbsHost) -> Result<Self, DatastoreError> {
        let store = Self {
            inner: Arc::new(Inner {
                name,
                path: path.to_owned(),
                pbs,
            }),
        };
        store.chunk_dir()?;
        Ok(store)
    }

    /// The store's name.
    pub fn name(&self) -> &DatastoreName {
        &self.inner.name
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The chunks of this store.
    ///
    /// # Errors
    /// As [`Datastore::open`].
    pub fn chunk_source(&self) -> Result<LocalSource, DatastoreError> {
        Ok(LocalSource::new(self.chunk_dir()?))
    }

    /// How full the store's file system is.
    ///
    /// # Errors
    /// [`DatastoreError::StoreMissing`] or [`DatastoreError::Io`].
    pub fn usage(&self) -> Result<Usage, DatastoreError> {
        let root = self.root()?;
        let stat = rustix::fs::fstatvfs(root.fd())
            .map_err(|error| DatastoreError::io("read the usage of", self.path())(error.into()))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Usage {
            total_bytes: bytes(stat.f_blocks),
            used_bytes: bytes(stat.f_blocks.saturating_sub(stat.f_bfree)),
            avail_bytes: bytes(stat.f_bavail),
        })
    }

    pub(crate) fn pbs(&self) -> &PbsHost {
        &self.inner.pbs
    }

    pub(crate) fn root(&self) -> Result<Dir, DatastoreError> {
        Dir::open(self.path()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => DatastoreError::StoreMissing {
                store: self.name().clone(),
                path: self.path().to_owned(),
            },
            _ => DatastoreError::io("open the datastore", self.path())(error),
        })
    }

    fn chunk_dir(&self) -> Result<Dir, DatastoreError> {
        let not_a_datastore = || DatastoreError::NotADatastore {
            store: self.name().clone(),
            path: self.path().to_owned(),
        };
        match self.root()?.dir(Path::new(".chunks")) {
            Ok(Some(dir)) => Ok(dir),
            Ok(None) => Err(not_a_datastore()),
            Err(DatastoreError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotADirectory
                    || source.raw_os_error() == Some(Errno::LOOP.raw_os_error()) =>
            {
                Err(not_a_datastore())
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn namespace_dir(&self, ns: &Namespace) -> Result<Dir, DatastoreError> {
        self.root()?
            .dir(&ns.rel_path())?
            .ok_or_else(|| DatastoreError::NamespaceMissing {
                store: self.name().clone(),
                ns: ns.clone(),
            })
    }

    pub(crate) fn group_dir(&self, ns: &Namespace, group: &GroupPath) -> Result<Dir, DatastoreError> {
        self.namespace_dir(ns)?
            .dir(&group.rel_path())?
            .ok_or_else(|| DatastoreError::GroupMissing {
                store: self.name().clone(),
                ns: ns.clone(),
                group: group.clone(),
            })
    }

    pub(crate) fn snapshot_dir(
        &self,
        ns: &Namespace,
        snapshot: &SnapshotPath,
    ) -> Result<Dir, DatastoreError> {
        self.namespace_dir(ns)?
            .dir(&snapshot.rel_path())?
            .ok_or_else(|| DatastoreError::SnapshotMissing {
                store: self.name().clone(),
                ns: ns.clone(),
                snapshot: snapshot.clone(),
            })
    }
}
