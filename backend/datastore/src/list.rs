//! Namespaces, groups and snapshots as lists. Damage of one entry shows in that entry and hides nothing else.

use std::path::Path;

use fleethold_format::crypt::{CryptMode, Fingerprint};
use fleethold_format::manifest::{Manifest, ManifestError, VerifyState};
use fleethold_format::names::{
    ArchiveName, Authid, BackupId, BackupTime, BackupType, GroupPath, Namespace, SnapshotPath,
};

use crate::error::DatastoreError;
use crate::fs::Dir;
use crate::snapshot::read_manifest;
use crate::store::Datastore;

/// Most bytes of an owner file: one authid and a line end.
const MAX_OWNER: u64 = 4 << 10;
/// Most bytes of a group's notes.
const MAX_NOTES: u64 = 1 << 20;
/// Marks a snapshot that prune must leave.
const PROTECTED: &str = ".protected";

/// A group in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub path: GroupPath,
    /// Who may add to it; `None` when there is no readable owner.
    pub owner: Option<Authid>,
    /// Why the owner cannot be read.
    pub owner_error: Option<String>,
    /// The first line is a title for people.
    pub notes: Option<String>,
}

/// A snapshot in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its name.
    pub path: SnapshotPath,
    /// Whether there is a manifest.
    pub finished: bool,
    /// Whether prune must leave it.
    pub protected: bool,
    /// As [`OpenSnapshot::files`](crate::OpenSnapshot::files); without sizes when the manifest is damaged.
    pub files: Vec<FileInfo>,
    /// Sum of the known sizes of the files, in bytes.
    pub size: u64,
    /// Outcome of the last verification.
    pub verify: Option<VerifyState>,
    /// The snapshot's comment.
    pub notes: Option<String>,
    /// The key it was made with.
    pub fingerprint: Option<Fingerprint>,
    /// The group's owner.
    pub owner: Option<Authid>,
    /// Why the manifest, or something in its unprotected part, cannot be read.
    pub manifest_error: Option<String>,
}

/// A file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Name on the server.
    pub name: String,
    /// By the manifest: of an index the plain size, of a blob the stored size; `None` for unlisted files.
    pub size: Option<u64>,
    /// By the manifest; `None` for unlisted files.
    pub crypt_mode: Option<CryptMode>,
    /// Bytes of the file on disk; `None` when it is missing.
    pub encoded_len: Option<u64>,
}

impl Datastore {
    /// `parent` and all namespaces below it, at most `max_depth` levels deeper (0: only `parent`), parents before
    /// children, by name.
    ///
    /// # Errors
    /// [`DatastoreError::NamespaceMissing`], [`DatastoreError::Io`].
    pub fn namespaces(&self, parent: &Namespace, max_depth: usize) -> Result<Vec<Namespace>, DatastoreError> {
        let mut found = Vec::new();
        collect_namespaces(&self.namespace_dir(parent)?, parent, max_depth, &mut found)?;
        Ok(found)
    }

    /// The groups of one namespace, in the order of [`GroupPath::display_cmp`].
    ///
    /// # Errors
    /// [`DatastoreError::NamespaceMissing`], [`DatastoreError::Io`].
    pub fn groups(&self, ns: &Namespace) -> Result<Vec<Group>, DatastoreError> {
        let ns_dir = self.namespace_dir(ns)?;
        let mut groups = Vec::new();
        for path in group_paths(&ns_dir)? {
            // A group that vanished meanwhile is no group.
            let Some(dir) = ns_dir.dir(&path.rel_path())? else {
                continue;
            };
            let (owner, owner_error) = read_owner(&dir);
            groups.push(Group {
                notes: read_notes(&dir)?,
                path,
                owner,
                owner_error,
            });
        }
        Ok(groups)
    }

    /// The snapshots of one group, newest first.
    ///
    /// # Errors
    /// [`DatastoreError::NamespaceMissing`], [`DatastoreError::GroupMissing`], [`DatastoreError::Io`]. A damaged
    /// manifest is no error: see [`SnapshotInfo::manifest_error`].
    pub fn snapshots(&self, ns: &Namespace, group: &GroupPath) -> Result<Vec<SnapshotInfo>, DatastoreError> {
        let group_dir = self.group_dir(ns, group)?;
        let (owner, _) = read_owner(&group_dir);
        let mut snapshots = Vec::new();
        for time in snapshot_times(&group_dir)? {
            let Some(dir) = group_dir.dir(Path::new(&time.to_string()))? else {
                continue;
            };
            let path = SnapshotPath {
                group: group.clone(),
                time,
            };
            snapshots.push(describe(&dir, path, owner.clone())?);
        }
        Ok(snapshots)
    }

    /// One snapshot as [`Datastore::snapshots`] shows it, without taking a lock.
    ///
    /// # Errors
    /// [`DatastoreError::NamespaceMissing`], [`DatastoreError::SnapshotMissing`], [`DatastoreError::Io`].
    pub fn snapshot_info(&self, ns: &Namespace, path: &SnapshotPath) -> Result<SnapshotInfo, DatastoreError> {
        let dir = self.snapshot_dir(ns, path)?;
        let (owner, _) = read_owner(&self.group_dir(ns, &path.group)?);
        describe(&dir, path.clone(), owner)
    }
}

fn collect_namespaces(
    dir: &Dir,
    ns: &Namespace,
    levels: usize,
    found: &mut Vec<Namespace>,
) -> Result<(), DatastoreError> {
    found.push(ns.clone());
    if levels == 0 {
        return Ok(());
    }
    let Some(below) = dir.dir(Path::new("ns"))? else {
        return Ok(());
    };
    let mut children: Vec<(String, Namespace)> = below
        .entries()?
        .into_iter()
        .filter(|entry| entry.is_dir)
        .filter_map(|entry| ns.child(&entry.name).ok().map(|child| (entry.name, child)))
        .collect();
    children.sort_unstable();
    for (name, child) in children {
        if let Some(dir) = below.dir(Path::new(&name))? {
            collect_namespaces(&dir, &child, levels - 1, found)?;
        }
    }
    Ok(())
}

/// Names of the groups in a namespace's directory, sorted for display.
pub(crate) fn group_paths(ns_dir: &Dir) -> Result<Vec<GroupPath>, DatastoreError> {
    let mut groups = Vec::new();
    for ty in BackupType::ALL {
        let Some(dir) = ns_dir.dir(Path::new(ty.as_str()))? else {
            continue;
        };
        groups.extend(
            dir.entries()?
                .into_iter()
                .filter(|entry| entry.is_dir)
                .filter_map(|entry| BackupId::parse(&entry.name).ok())
                .map(|id| GroupPath { ty, id }),
        );
    }
    groups.sort_unstable_by(GroupPath::display_cmp);
    Ok(groups)
}

/// Times of the snapshots in a group's directory, newest first.
pub(crate) fn snapshot_times(group_dir: &Dir) -> Result<Vec<BackupTime>, DatastoreError> {
    let mut times: Vec<_> = group_dir
        .entries()?
        .into_iter()
        .filter(|entry| entry.is_dir)
        .filter_map(|entry| BackupTime::parse(&entry.name).ok())
        .collect();
    times.sort_unstable_by(|left, right| right.cmp(left));
    Ok(times)
}

/// A group's owner, or why it cannot be read. The group is there all the same.
fn read_owner(dir: &Dir) -> (Option<Authid>, Option<String>) {
    let path = dir.path().join("owner");
    let raw = match dir.read(Path::new("owner"), MAX_OWNER) {
        Ok(Some(raw)) => raw,
        Ok(None) => return (None, Some(format!("{} is missing", path.display()))),
        Err(error) => return (None, Some(error.to_string())),
    };
    match Authid::parse(String::from_utf8_lossy(&raw).trim_end()) {
        Ok(owner) => (Some(owner), None),
        Err(error) => (None, Some(format!("{}: {error}", path.display()))),
    }
}

fn read_notes(dir: &Dir) -> Result<Option<String>, DatastoreError> {
    match dir.read(Path::new("notes"), MAX_NOTES) {
        Ok(raw) => Ok(raw.map(|raw| String::from_utf8_lossy(&raw).into_owned())),
        // Notes are text for people: what is no file, or is too long for notes, is none.
        Err(DatastoreError::TooLarge { .. } | DatastoreError::NotAFile { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn describe(dir: &Dir, path: SnapshotPath, owner: Option<Authid>) -> Result<SnapshotInfo, DatastoreError> {
    let mut info = SnapshotInfo {
        finished: true,
        protected: dir.file_len(PROTECTED)?.is_some(),
        files: Vec::new(),
        size: 0,
        verify: None,
        notes: None,
        fingerprint: None,
        owner,
        manifest_error: None,
        path,
    };
    let manifest = match read_manifest(dir, &info.path) {
        Ok((manifest, _)) => Some(manifest),
        Err(DatastoreError::Unfinished { .. }) => {
            info.finished = false;
            None
        }
        Err(error) => {
            info.manifest_error = Some(error.to_string());
            None
        }
    };
    if let Some(manifest) = &manifest {
        let error = &mut info.manifest_error;
        info.verify = keep(manifest.verify_state(), error).flatten();
        info.notes = keep(manifest.notes(), error).flatten().map(str::to_owned);
        info.fingerprint = keep(manifest.key_fingerprint(), error).flatten();
    }
    info.files = files_of(dir, manifest.as_ref())?;
    info.size = info
        .files
        .iter()
        .filter_map(|file| file.size)
        .fold(0, u64::saturating_add);
    Ok(info)
}

/// The value, or nothing and the first error remembered.
fn keep<T>(value: Result<T, ManifestError>, first: &mut Option<String>) -> Option<T> {
    value
        .map_err(|error| first.get_or_insert_with(|| error.to_string()))
        .ok()
}

/// The manifest's files in its order, the manifest itself (its size is its stored length), then other files by
/// name.
pub(crate) fn files_of(dir: &Dir, manifest: Option<&Manifest>) -> Result<Vec<FileInfo>, DatastoreError> {
    let mut on_disk: Vec<String> = dir
        .entries()?
        .into_iter()
        .filter(|entry| entry.is_file)
        .map(|entry| entry.name)
        .filter(|name| ArchiveName::parse(name).is_ok())
        .collect();
    on_disk.sort_unstable();

    let mut files = Vec::with_capacity(on_disk.len());
    if let Some(manifest) = manifest {
        for file in &manifest.files {
            files.push(FileInfo {
                name: file.name.to_string(),
                size: Some(file.size),
                crypt_mode: Some(file.crypt_mode),
                encoded_len: dir.file_len(file.name.as_str())?,
            });
        }
        let len = dir.file_len(ArchiveName::MANIFEST)?;
        let signed = manifest.signature.is_some();
        files.push(FileInfo {
            name: ArchiveName::MANIFEST.to_owned(),
            size: len,
            crypt_mode: Some(if signed {
                CryptMode::SignOnly
            } else {
                CryptMode::None
            }),
            encoded_len: len,
        });
    }
    for name in on_disk {
        if files.iter().all(|file| file.name != name) {
            files.push(FileInfo {
                encoded_len: dir.file_len(&name)?,
                name,
                size: None,
                crypt_mode: None,
            });
        }
    }
    Ok(files)
}
