//! A snapshot whose manifest was read: the only way to the content of its files.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use fleethold_format::blob::check_crc;
use fleethold_format::crypt::CryptKey;
use fleethold_format::hash::Sha256;
use fleethold_format::manifest::{Manifest, ManifestError, ManifestFile, SignatureCheck};
use fleethold_format::names::{ArchiveName, Namespace, SnapshotPath};

use crate::error::DatastoreError;
use crate::fs::Dir;
use crate::index_file::IndexFile;
use crate::list::{FileInfo, PROTECTED, files_of};
use crate::lock::{LockNote, SnapshotLock};
use crate::store::Datastore;

/// Most bytes of a stored blob: what a server accepts for an upload (FORMAT.md §3).
pub const MAX_BLOB_ENCODED: u64 = (16 << 20) + 44;

/// What a backup server keeps in a snapshot's directory beside the files of the manifest; the last one is the lock of its
/// older releases.
const OWN_FILES: [&str; 4] = [
    ArchiveName::MANIFEST,
    ArchiveName::CLIENT_LOG,
    PROTECTED,
    ".index.json.lck",
];

/// A finished snapshot, open for reading. As long as it lives a running PBS does not remove it.
#[derive(Debug)]
pub struct OpenSnapshot {
    store: Datastore,
    ns: Namespace,
    path: SnapshotPath,
    dir: Dir,
    manifest: Manifest,
    /// Where in the manifest each file is: hosts with tens of thousands of archives exist.
    by_name: HashMap<ArchiveName, usize>,
    lock: SnapshotLock,
}

/// A file of a snapshot as it is stored, which nobody has checked. As long as it lives a running PBS does not remove
/// the snapshot.
#[derive(Debug)]
pub struct StoredFile {
    /// Open for reading, at its start.
    pub file: File,
    /// Length in bytes.
    pub len: u64,
    _lock: SnapshotLock,
}

impl Datastore {
    /// Opens a file of a snapshot for copying it byte for byte: of an unfinished snapshot, too, and of one whose
    /// manifest is damaged.
    ///
    /// # Errors
    /// [`DatastoreError`]: missing, a link, locked for removal.
    pub fn stored_file(
        &self,
        ns: &Namespace,
        path: &SnapshotPath,
        name: &ArchiveName,
    ) -> Result<StoredFile, DatastoreError> {
        let dir = self.snapshot_dir(ns, path)?;
        let lock = SnapshotLock::shared(self, ns, path, &dir)?;
        let Some((file, len)) = dir.file(Path::new(name.as_str()))? else {
            let path = dir.path().join(name.as_str());
            return Err(DatastoreError::FileMissing { path });
        };
        Ok(StoredFile {
            file,
            len,
            _lock: lock,
        })
    }

    /// Opens a finished snapshot: takes the shared lock beside a running PBS, reads the manifest and checks that
    /// it belongs here.
    ///
    /// # Errors
    /// [`DatastoreError`]: missing, unfinished, locked for removal, manifest damaged or of another snapshot.
    pub fn snapshot(&self, ns: &Namespace, path: &SnapshotPath) -> Result<OpenSnapshot, DatastoreError> {
        let dir = self.snapshot_dir(ns, path)?;
        let lock = SnapshotLock::shared(self, ns, path, &dir)?;
        let (manifest, _) = read_manifest(&dir, path)?;
        let names = manifest.files.iter().enumerate();
        let by_name = names.map(|(at, file)| (file.name.clone(), at)).collect();
        Ok(OpenSnapshot {
            store: self.clone(),
            ns: ns.clone(),
            path: path.clone(),
            dir,
            manifest,
            by_name,
            lock,
        })
    }
}

impl OpenSnapshot {
    /// The store it lies in.
    pub fn store(&self) -> &Datastore {
        &self.store
    }

    /// Its namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.ns
    }

    /// Its name.
    pub fn path(&self) -> &SnapshotPath {
        &self.path
    }

    /// Its directory.
    pub fn dir_path(&self) -> &Path {
        self.dir.path()
    }

    /// What it holds.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether a running PBS keeps its hands off, and if not, why.
    pub fn lock_note(&self) -> &LockNote {
        self.lock.note()
    }

    /// Checks that the snapshot was made with `key` and that nobody changed the manifest since.
    ///
    /// # Errors
    /// [`DatastoreError::Manifest`]: another key, or changed.
    pub fn verify_signature(&self, key: &CryptKey) -> Result<SignatureCheck, DatastoreError> {
        let failed = |source| DatastoreError::Manifest {
            path: self.file_path(ArchiveName::MANIFEST),
            source,
        };
        self.manifest.check_key_fingerprint(key).map_err(failed)?;
        self.manifest.verify_signature(key).map_err(failed)
    }

    /// The manifest's entry of a file, if it lists it.
    pub fn listed(&self, name: &ArchiveName) -> Option<&ManifestFile> {
        self.by_name.get(name).and_then(|at| self.manifest.files.get(*at))
    }

    /// The manifest's entry of a file.
    ///
    /// # Errors
    /// [`DatastoreError::Manifest`] with [`ManifestError::NoSuchFile`].
    pub fn entry(&self, name: &ArchiveName) -> Result<&ManifestFile, DatastoreError> {
        self.listed(name).ok_or_else(|| DatastoreError::Manifest {
            path: self.file_path(ArchiveName::MANIFEST),
            source: ManifestError::NoSuchFile {
                name: name.to_string(),
            },
        })
    }

    /// Names of what lies in the snapshot's directory although neither the manifest lists it nor a backup server puts it
    /// there, in order. Nothing vouches for it, and no restore reads it.
    ///
    /// # Errors
    /// [`DatastoreError::Io`].
    pub fn unlisted(&self) -> Result<Vec<String>, DatastoreError> {
        let known = |name: &str| {
            OWN_FILES.contains(&name)
                || ArchiveName::parse(name).is_ok_and(|name| self.listed(&name).is_some())
        };
        let mut names: Vec<String> = self
            .dir
            .entries()?
            .into_iter()
            .map(|entry| entry.name)
            .filter(|name| !known(name))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Opens an index that the manifest lists; its size is compared with the manifest's, its entries only by
    /// [`IndexFile::verify_csum`].
    ///
    /// # Errors
    /// [`DatastoreError`]: not listed, no index, missing, damaged, another size.
    pub fn open_index(&self, name: &ArchiveName) -> Result<IndexFile, DatastoreError> {
        if !name.kind().is_index() {
            return Err(DatastoreError::WrongKind {
                name: name.clone(),
                expected: "index",
            });
        }
        let entry = self.entry(name)?.clone();
        let path = self.file_path(name.as_str());
        let Some((file, len)) = self.dir.file(Path::new(name.as_str()))? else {
            return Err(DatastoreError::FileMissing { path });
        };
        IndexFile::from_file(file, len, path, name.kind(), Some(entry))
    }

    /// The stored bytes of a blob, at most [`MAX_BLOB_ENCODED`]: of a listed one size and checksum are compared
    /// with the manifest, of the client log and the manifest itself the CRC is checked.
    ///
    /// # Errors
    /// [`DatastoreError`]: not listed, no blob, missing, too large, another size or checksum.
    pub fn read_blob_raw(&self, name: &ArchiveName) -> Result<Vec<u8>, DatastoreError> {
        if name.kind().is_index() {
            return Err(DatastoreError::WrongKind {
                name: name.clone(),
                expected: "blob",
            });
        }
        let listed = match name.as_str() {
            ArchiveName::MANIFEST | ArchiveName::CLIENT_LOG => None,
            _ => Some(self.entry(name)?),
        };
        let path = self.file_path(name.as_str());
        let Some(raw) = self.dir.read(Path::new(name.as_str()), MAX_BLOB_ENCODED)? else {
            return Err(DatastoreError::FileMissing { path });
        };
        match listed {
            Some(entry) => check_against(entry, &raw, path)?,
            None => {
                check_crc(&raw).map_err(|source| DatastoreError::Manifest {
                    path,
                    source: ManifestError::Blob { source },
                })?;
            }
        }
        Ok(raw)
    }

    /// All files: those of the manifest in its order, the manifest, then what else lies there.
    ///
    /// # Errors
    /// [`DatastoreError::Io`].
    pub fn files(&self) -> Result<Vec<FileInfo>, DatastoreError> {
        files_of(&self.dir, Some(&self.manifest))
    }

    fn file_path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn check_against(entry: &ManifestFile, raw: &[u8], path: PathBuf) -> Result<(), DatastoreError> {
    if raw.len() as u64 != entry.size {
        return Err(DatastoreError::Size {
            path,
            expected: entry.size,
            actual: raw.len() as u64,
        });
    }
    let actual = Sha256::digest(raw);
    if actual != entry.csum {
        return Err(DatastoreError::Checksum {
            path,
            expected: hex::encode(entry.csum),
            actual: hex::encode(actual),
        });
    }
    Ok(())
}

/// Reads the manifest of the snapshot in `dir`; also gives its stored length.
pub(crate) fn read_manifest(dir: &Dir, snapshot: &SnapshotPath) -> Result<(Manifest, u64), DatastoreError> {
    let path = dir.path().join(ArchiveName::MANIFEST);
    let raw = dir
        .read(Path::new(ArchiveName::MANIFEST), MAX_BLOB_ENCODED)?
        .ok_or_else(|| DatastoreError::Unfinished {
            path: dir.path().to_owned(),
        })?;
    let manifest = Manifest::decode(&raw).map_err(|source| DatastoreError::Manifest {
        path: path.clone(),
        source,
    })?;
    if manifest.snapshot != *snapshot {
        return Err(DatastoreError::ManifestOfOther {
            path,
            expected: snapshot.clone(),
            found: manifest.snapshot,
        });
    }
    Ok((manifest, raw.len() as u64))
}
