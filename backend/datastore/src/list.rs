//! Namespaces, groups and snapshots as lists. Damage of one entry shows in that entry and hides nothing else: what
//! cannot be read of a group or a snapshot is its `error`, what hides whole groups is a problem of the namespace.

use std::collections::HashSet;
use std::path::Path;

use fleethold_format::crypt::{CryptMode, Fingerprint};
use fleethold_format::manifest::{Manifest, VerifyState};
use fleethold_format::names::{
    ArchiveName, Authid, BackupId, BackupTime, BackupType, GroupPath, Namespace, SnapshotPath,
};

use crate::error::DatastoreError;
use crate::fs::{Dir, Entry};
use crate::snapshot::read_manifest;
use crate::store::Datastore;

/// Most bytes of an owner file: one authid and a line end.
const MAX_OWNER: u64 = 4 << 10;
/// Most bytes of a group's notes.
const MAX_NOTES: u64 = 1 << 20;
/// Marks a snapshot that prune must leave.
pub(crate) const PROTECTED: &str = ".protected";

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
    /// What else of it cannot be read: its directory, its notes.
    pub error: Option<String>,
}

impl Group {
    /// The first thing wrong with it, for people.
    pub fn problem(&self) -> Option<&str> {
        self.error.as_deref().or(self.owner_error.as_deref())
    }
}

/// The groups of a namespace, and what hides others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupList {
    /// In the order of [`GroupPath::display_cmp`].
    pub groups: Vec<Group>,
    /// Directories of the namespace that cannot be read (a link in place of `vm`, say), each with its path.
    pub problems: Vec<String>,
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
    /// What else of it cannot be read: its directory, or a file in it. What is not known then is empty.
    pub error: Option<String>,
}

impl SnapshotInfo {
    /// The first thing wrong with it, for people.
    pub fn problem(&self) -> Option<&str> {
        self.error.as_deref().or(self.manifest_error.as_deref())
    }

    /// A snapshot of which nothing is known but its name.
    fn unread(path: SnapshotPath, owner: Option<Authid>) -> Self {
        Self {
            path,
            finished: false,
            protected: false,
            files: Vec::new(),
            size: 0,
            verify: None,
            notes: None,
            fingerprint: None,
            owner,
            manifest_error: None,
            error: None,
        }
    }
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
    /// children, by name. A namespace whose directory cannot be opened is listed; what is in it says why.
    ///
    /// # Errors
    /// [`DatastoreError::NamespaceMissing`], [`DatastoreError::Io`].
    pub fn namespaces(&self, parent: &Namespace, max_depth: usize) -> Result<Vec<Namespace>, DatastoreError> {
        let mut found = Vec::new();
        collect_namespaces(&self.namespace_dir(parent)?, parent, max_depth, &mut found);
        Ok(found)
    }

    /// The groups of one namespace that are there to be seen: [`Datastore::group_list`] says what hides others.
    ///
    /// # Errors
    /// As [`Datastore::group_list`].
    pub fn groups(&self, ns: &Namespace) -> Result<Vec<Group>, DatastoreError> {
        let list = self.group_list(ns)?;
        for problem in &list.problems {
            tracing::warn!(store = %self.name(), namespace = %ns, %problem, "groups may be missing in a list");
        }
        Ok(list.groups)
    }

    /// The groups of one namespace, and what hides others.
    ///
    /// # Errors
    /// [`DatastoreError::NamespaceMissing`], [`DatastoreError::Io`] when the namespace itself cannot be opened.
    pub fn group_list(&self, ns: &Namespace) -> Result<GroupList, DatastoreError> {
        let ns_dir = self.namespace_dir(ns)?;
        let mut list = GroupList::default();
        for path in group_paths(&ns_dir, &mut list.problems) {
            match ns_dir.dir(&path.rel_path()) {
                Ok(Some(dir)) => {
                    let (owner, owner_error) = read_owner(&dir);
                    let mut error = None;
                    list.groups.push(Group {
                        notes: keep(read_notes(&dir), &mut error).flatten(),
                        path,
                        owner,
                        owner_error,
                        error,
                    });
                }
                // A group that vanished meanwhile is no group.
                Ok(None) => {}
                Err(error) => list.groups.push(Group {
                    path,
                    owner: None,
                    owner_error: None,
                    notes: None,
                    error: Some(error.to_string()),
                }),
            }
        }
        if let Err(error) = ns_dir.dir(Path::new("ns")).and_then(entries_of) {
            list.problems.push(error.to_string());
        }
        Ok(list)
    }

    /// The snapshots of one group, newest first.
    ///
    /// # Errors
    /// [`DatastoreError::NamespaceMissing`], [`DatastoreError::GroupMissing`], [`DatastoreError::Io`] when the group
    /// itself cannot be listed. A snapshot that cannot be read is no error: see [`SnapshotInfo::problem`].
    pub fn snapshots(&self, ns: &Namespace, group: &GroupPath) -> Result<Vec<SnapshotInfo>, DatastoreError> {
        let group_dir = self.group_dir(ns, group)?;
        let (owner, _) = read_owner(&group_dir);
        let mut snapshots = Vec::new();
        for time in snapshot_times(&group_dir)? {
            let path = SnapshotPath {
                group: group.clone(),
                time,
            };
            match group_dir.dir(Path::new(&time.to_string())) {
                Ok(Some(dir)) => snapshots.push(describe(&dir, path, owner.clone())),
                // Removed meanwhile.
                Ok(None) => {}
                Err(error) => snapshots.push(SnapshotInfo {
                    error: Some(error.to_string()),
                    ..SnapshotInfo::unread(path, owner.clone())
                }),
            }
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
        Ok(describe(&dir, path.clone(), owner))
    }
}

fn collect_namespaces(dir: &Dir, ns: &Namespace, levels: usize, found: &mut Vec<Namespace>) {
    found.push(ns.clone());
    if levels == 0 {
        return;
    }
    // What cannot be listed shows among the problems of the namespace it is in.
    let Ok(Some(below)) = dir.dir(Path::new("ns")) else {
        return;
    };
    let mut children: Vec<(String, Namespace)> = below
        .entries()
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| entry.is_dir)
        .filter_map(|entry| ns.child(&entry.name).ok().map(|child| (entry.name, child)))
        .collect();
    children.sort_unstable();
    for (name, child) in children {
        match below.dir(Path::new(&name)) {
            Ok(Some(dir)) => collect_namespaces(&dir, &child, levels - 1, found),
            Ok(None) => {}
            Err(_shown_when_its_groups_are_asked_for) => found.push(child),
        }
    }
}

/// Names of the groups in a namespace's directory, sorted for display. A directory that hides groups is a problem.
pub(crate) fn group_paths(ns_dir: &Dir, problems: &mut Vec<String>) -> Vec<GroupPath> {
    let mut groups = Vec::new();
    for ty in BackupType::ALL {
        match ns_dir.dir(Path::new(ty.as_str())).and_then(entries_of) {
            Ok(entries) => groups.extend(
                entries
                    .into_iter()
                    .filter(|entry| entry.is_dir)
                    .filter_map(|entry| BackupId::parse(&entry.name).ok())
                    .map(|id| GroupPath { ty, id }),
            ),
            Err(error) => problems.push(error.to_string()),
        }
    }
    groups.sort_unstable_by(GroupPath::display_cmp);
    groups
}

/// What is in a directory; nothing when there is none.
fn entries_of(dir: Option<Dir>) -> Result<Vec<Entry>, DatastoreError> {
    dir.map_or_else(|| Ok(Vec::new()), |dir| dir.entries())
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
    let raw = dir.read(Path::new("notes"), MAX_NOTES)?;
    Ok(raw.map(|raw| String::from_utf8_lossy(&raw).into_owned()))
}

fn describe(dir: &Dir, path: SnapshotPath, owner: Option<Authid>) -> SnapshotInfo {
    let mut info = SnapshotInfo {
        finished: true,
        ..SnapshotInfo::unread(path, owner)
    };
    info.protected = keep(dir.file_len(PROTECTED), &mut info.error).flatten().is_some();
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
    info.files = keep(files_of(dir, manifest.as_ref()), &mut info.error).unwrap_or_default();
    info.size = info
        .files
        .iter()
        .filter_map(|file| file.size)
        .fold(0, u64::saturating_add);
    info
}

/// The value, or nothing and the first error remembered.
fn keep<T, E: std::fmt::Display>(value: Result<T, E>, first: &mut Option<String>) -> Option<T> {
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
    let listed: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    on_disk.retain(|name| !listed.contains(name.as_str()));
    for name in on_disk {
        files.push(FileInfo {
            encoded_len: dir.file_len(&name)?,
            name,
            size: None,
            crypt_mode: None,
        });
    }
    Ok(files)
}
