//! One look at a datastore for its row: space, counts, newest backup, failed verifications.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use fleethold_api_types::{Maintenance, StoreRow, StoreState, Usage};
use fleethold_datastore::Datastore;
use fleethold_fleet::StoreEntry;
use fleethold_format::manifest::VerifyOutcome;
use fleethold_format::names::Namespace;
use time::OffsetDateTime;

use crate::clock;

/// Namespaces nest at most this deep (FORMAT.md §1.1).
pub const MAX_DEPTH: usize = 7;
/// A file system fuller than this is worth a warning, in per cent.
const NEARLY_FULL_PERCENT: u64 = 90;
/// A file system fuller than this is full.
const FULL_PERCENT: u64 = 98;
/// A store whose newest backup is older than this is worth a warning.
const STALE: time::Duration = time::Duration::days(7);

/// What one look found.
#[derive(Debug, Clone, Default)]
pub struct ScanResult {
    /// When.
    pub at: Option<OffsetDateTime>,
    /// Why the store cannot be opened or listed.
    pub offline: Option<String>,
    /// Space on its file system.
    pub usage: Option<Usage>,
    /// Device number of its file system.
    pub file_system: Option<u64>,
    /// What is in it; absent when it was not looked at.
    pub content: Option<Content>,
}

/// Counts of one look.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// Namespaces with the root.
    pub namespaces: u64,
    /// Groups.
    pub groups: u64,
    /// Snapshots, finished or not.
    pub snapshots: u64,
    /// Last verification failed.
    pub verify_failed: u64,
    /// Manifest or folder cannot be read: how many, and the first reason.
    pub unreadable: Option<(u64, String)>,
    /// Newest finished snapshot, epoch seconds.
    pub last_backup: Option<i64>,
}

impl Content {
    fn unreadable(&mut self, reason: String) {
        let known = self.unreadable.get_or_insert((0, reason));
        known.0 += 1;
    }
}

/// Looks at a store. Blocks on its disk.
#[must_use]
pub fn scan(entry: &StoreEntry) -> ScanResult {
    let mut result = ScanResult {
        at: Some(clock::now()),
        ..ScanResult::default()
    };
    let reads = entry
        .maintenance
        .as_ref()
        .is_none_or(|mode| mode.allows(fleethold_fleet::Operation::Read));
    if !reads {
        return result;
    }
    match look(entry, &mut result) {
        Ok(content) => result.content = Some(content),
        Err(reason) => result.offline = Some(reason),
    }
    result
}

fn look(entry: &StoreEntry, result: &mut ScanResult) -> Result<Content, String> {
    let store = Datastore::open(entry.name.clone(), &entry.path).map_err(|error| error.to_string())?;
    let usage = store.usage().map_err(|error| error.to_string())?;
    result.usage = Some(Usage {
        total_bytes: usage.total_bytes,
        used_bytes: usage.used_bytes,
        available_bytes: usage.avail_bytes,
    });
    result.file_system = std::fs::metadata(&entry.path).ok().map(|meta| meta.dev());
    let namespaces = store
        .namespaces(&Namespace::root(), MAX_DEPTH)
        .map_err(|error| error.to_string())?;
    let mut content = Content {
        namespaces: namespaces.len() as u64,
        ..Content::default()
    };
    for ns in &namespaces {
        let groups = match store.group_list(ns) {
            Ok(list) => {
                list.problems
                    .into_iter()
                    .for_each(|problem| content.unreadable(problem));
                list.groups
            }
            Err(error) => {
                content.unreadable(error.to_string());
                continue;
            }
        };
        content.groups += groups.len() as u64;
        for group in &groups {
            match store.snapshots(ns, &group.path) {
                Ok(snapshots) => {
                    if let Some(reason) = &group.error {
                        content.unreadable(reason.clone());
                    }
                    snapshots.iter().for_each(|snapshot| {
                        content.snapshots += 1;
                        if let Some(reason) = snapshot.problem() {
                            content.unreadable(reason.to_owned());
                        }
                        if snapshot
                            .verify
                            .as_ref()
                            .is_some_and(|verify| verify.state == VerifyOutcome::Failed)
                        {
                            content.verify_failed += 1;
                        }
                        if snapshot.finished {
                            content.last_backup = content.last_backup.max(Some(snapshot.path.time.epoch()));
                        }
                    });
                }
                Err(error) => content.unreadable(error.to_string()),
            }
        }
    }
    Ok(content)
}

/// The row of a store from its configuration and the last look, as of `now`.
#[must_use]
pub fn row(entry: &Arc<StoreEntry>, scan: &ScanResult, now: OffsetDateTime) -> StoreRow {
    let (state, reason) = judge(entry, scan, now);
    let content = scan.content.as_ref();
    StoreRow {
        name: entry.name.to_string(),
        path: entry.path.display().to_string(),
        comment: entry.comment.clone(),
        state,
        reason,
        maintenance: entry.maintenance.as_ref().map(|mode| Maintenance {
            mode: mode.kind.as_str().to_owned(),
            message: mode.message.clone(),
        }),
        usage: scan.usage,
        namespaces: content.map(|content| content.namespaces),
        groups: content.map(|content| content.groups),
        snapshots: content.map(|content| content.snapshots),
        verify_failed: content.map(|content| content.verify_failed),
        last_backup: content
            .and_then(|content| content.last_backup)
            .and_then(|epoch| OffsetDateTime::from_unix_timestamp(epoch).ok()),
        observed_at: scan.at,
    }
}

fn judge(entry: &StoreEntry, scan: &ScanResult, now: OffsetDateTime) -> (StoreState, Option<String>) {
    if let Some(reason) = &scan.offline {
        return (StoreState::Offline, Some(reason.clone()));
    }
    if let Some(mode) = &entry.maintenance {
        let text = mode.message.as_deref().unwrap_or("no reason given");
        return (
            StoreState::Maintenance,
            Some(format!("{}: {text}", mode.kind.as_str())),
        );
    }
    let Some(content) = &scan.content else {
        return (StoreState::Unknown, None);
    };
    if content.verify_failed > 0 {
        let text = match content.verify_failed {
            1 => "the last verification of one snapshot failed".to_owned(),
            failed => format!("the last verification of {failed} snapshots failed"),
        };
        return (StoreState::Error, Some(text));
    }
    let full = scan.usage.filter(|usage| usage.total_bytes > 0).map(|usage| {
        let per_cent = u128::from(usage.used_bytes) * 100 / u128::from(usage.total_bytes);
        u64::try_from(per_cent).unwrap_or(100)
    });
    if let Some(full) = full.filter(|full| *full >= FULL_PERCENT) {
        return (
            StoreState::Error,
            Some(format!("the file system is {full} % full")),
        );
    }
    if let Some((count, first)) = &content.unreadable {
        return (StoreState::Warning, Some(format!("{count} unreadable: {first}")));
    }
    if let Some(full) = full.filter(|full| *full >= NEARLY_FULL_PERCENT) {
        return (
            StoreState::Warning,
            Some(format!("the file system is {full} % full")),
        );
    }
    let newest = content
        .last_backup
        .and_then(|epoch| OffsetDateTime::from_unix_timestamp(epoch).ok());
    if let Some(age) = newest.map(|newest| now - newest).filter(|age| *age > STALE) {
        return (
            StoreState::Warning,
            Some(format!("the newest backup is {} days old", age.whole_days())),
        );
    }
    (StoreState::Ok, None)
}
