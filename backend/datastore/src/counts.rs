//! How many groups and snapshots a store holds, without reading a manifest.

use std::path::Path;

use fleethold_format::names::{ArchiveName, BackupTime, BackupType, Namespace};

use crate::error::DatastoreError;
use crate::list::{group_paths, snapshot_times};
use crate::store::Datastore;

/// Groups and snapshots of one backup type.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct TypeCounts {
    /// Groups.
    pub groups: u64,
    /// Snapshots, unfinished ones, too.
    pub snapshots: u64,
}

/// What a store holds, over all namespaces.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Containers.
    pub ct: TypeCounts,
    /// Hosts.
    pub host: TypeCounts,
    /// Virtual machines.
    pub vm: TypeCounts,
    /// Namespaces, the root not counted.
    pub namespaces: u64,
    /// Time of the newest finished snapshot.
    pub last_backup: Option<BackupTime>,
}

impl Counts {
    /// All groups.
    pub fn groups(&self) -> u64 {
        self.ct.groups + self.host.groups + self.vm.groups
    }

    /// All snapshots.
    pub fn snapshots(&self) -> u64 {
        self.ct.snapshots + self.host.snapshots + self.vm.snapshots
    }
}

impl Datastore {
    /// Counts all namespaces. Lists directories only: about one system call a group and one a namespace. What cannot
    /// be read is not counted; the lists say why.
    ///
    /// # Errors
    /// [`DatastoreError::StoreMissing`], [`DatastoreError::Io`].
    pub fn counts(&self) -> Result<Counts, DatastoreError> {
        let mut counts = Counts::default();
        for ns in self.namespaces(&Namespace::root(), usize::MAX)? {
            counts.namespaces += u64::from(!ns.is_root());
            let ns_dir = match self.namespace_dir(&ns) {
                Ok(ns_dir) => ns_dir,
                Err(error) if ns.is_root() => return Err(error),
                Err(_unreadable) => continue,
            };
            for group in group_paths(&ns_dir, &mut Vec::new()) {
                let dir = match ns_dir.dir(&group.rel_path()) {
                    Ok(Some(dir)) => Some(dir),
                    Ok(None) => continue,
                    Err(_unreadable) => None,
                };
                let times = dir.as_ref().map(snapshot_times);
                let times = times.and_then(Result::ok).unwrap_or_default();
                let of_type = match group.ty {
                    BackupType::Ct => &mut counts.ct,
                    BackupType::Host => &mut counts.host,
                    BackupType::Vm => &mut counts.vm,
                };
                of_type.groups += 1;
                of_type.snapshots += times.len() as u64;
                // Newest first: the first finished one decides, and only if it is news.
                for time in times
                    .into_iter()
                    .take_while(|time| Some(*time) > counts.last_backup)
                {
                    let manifest = Path::new(&time.to_string()).join(ArchiveName::MANIFEST);
                    let len = dir.as_ref().map(|dir| dir.file_len(&manifest.to_string_lossy()));
                    if matches!(len, Some(Ok(Some(_)))) {
                        counts.last_backup = Some(time);
                        break;
                    }
                }
            }
        }
        Ok(counts)
    }
}
