//! What is in a datastore: namespaces, groups, snapshots, files and their bytes. The listing functions block.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fleethold_api_types::{FileEntry, GroupEntry, NamespaceEntry, Page, SnapshotEntry, VerifyState};
use fleethold_bench::reparse::Handle as Reparsed;
use fleethold_datastore::{Datastore, SnapshotInfo};
use fleethold_fleet::Operation;
use fleethold_format::manifest::VerifyOutcome;
use fleethold_format::names::{BackupTime, GroupPath, Namespace, SnapshotPath};
use fleethold_restore::{Progress, RestoreEngine, Sink, StreamReceiver, StreamSink};
use time::OffsetDateTime;
use tokio::runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::convert::crypt_mode;
use super::error::{ServiceError, ServiceResult};
use super::keys::KeyText;
use super::paging::PageRequest;
use super::scan::MAX_DEPTH;
use super::stores;
use crate::jobs::load::{Load, Pour};
use crate::jobs::spec::FileSpec;
use crate::views::{ReadGuard, StoreView, Views};

/// Pieces of a download that may wait for the client.
const QUEUED_PIECES: usize = 2;
/// Fetches outstanding for one download.
const DOWNLOAD_PARALLEL: usize = 4;

/// A store, open for reading.
pub struct Reading {
    /// The store.
    pub store: Datastore,
    _guard: ReadGuard,
    _reparsed: Option<Reparsed>,
}

/// Opens a store. Blocks.
///
/// # Errors
/// When it does not exist, is in maintenance, or its folder is not a datastore.
pub fn open(views: &Views, name: &str) -> ServiceResult<Reading> {
    let view: Arc<StoreView> = stores::readable(views, name)?.view;
    let reparsed = views
        .stores
        .reparse(&view.name, Operation::Read)
        .map_err(ServiceError::internal)?;
    let entry = view.entry();
    let store = Datastore::open(entry.name.clone(), &entry.path)?;
    Ok(Reading {
        store,
        _guard: view.try_read()?,
        _reparsed: reparsed,
    })
}

/// The namespaces of a store that `sees` says, the root first. Blocks.
///
/// # Errors
/// When the store cannot be read.
pub fn namespaces(
    views: &Views,
    store: &str,
    page: &PageRequest,
    sees: impl Fn(&Namespace) -> bool,
) -> ServiceResult<Page<NamespaceEntry>> {
    let mut found = open(views, store)?
        .store
        .namespaces(&Namespace::root(), MAX_DEPTH)?;
    found.retain(sees);
    let position = |wanted: &str| found.iter().position(|ns| ns.as_str() == wanted);
    let after = page
        .after()
        .map(|after| position(after).map_or(found.len(), |at| at));
    let entries = found
        .iter()
        .map(|ns| NamespaceEntry { ns: ns.to_string() })
        .collect();
    Ok(page.cut(
        entries,
        |entry| entry.ns.clone(),
        |entry, _| position(&entry.ns).is_some_and(|at| after.is_none_or(|after| at > after)),
    ))
}

/// Groups of a namespace in display order. Blocks; counts snapshots of the page's groups only.
///
/// # Errors
/// When namespace or store cannot be read.
pub fn groups(views: &Views, store: &str, ns: &str, page: &PageRequest) -> ServiceResult<Page<GroupEntry>> {
    let ns: Namespace = ns.parse()?;
    let reading = open(views, store)?;
    let after: Option<GroupPath> = page.after().map(str::parse).transpose()?;
    let found = page.cut(
        reading.store.groups(&ns)?,
        |group| group.path.to_string(),
        |group, _| {
            after
                .as_ref()
                .is_none_or(|after| group.path.display_cmp(after).is_gt())
        },
    );
    let mut items = Vec::with_capacity(found.items.len());
    for group in found.items {
        let mut problem = group.problem().map(str::to_owned);
        let snapshots = match reading.store.snapshots(&ns, &group.path) {
            Ok(snapshots) => snapshots,
            // Removed since the list was read.
            Err(error) if error.code() == "group-missing" => continue,
            Err(error) => {
                problem = Some(error.to_string());
                Vec::new()
            }
        };
        let newest = snapshots
            .iter()
            .filter(|snapshot| snapshot.finished)
            .map(|snapshot| snapshot.path.time)
            .max();
        items.push(GroupEntry {
            group: group.path.to_string(),
            owner: group.owner.map(|owner| owner.to_string()),
            notes: group
                .notes
                .as_deref()
                .and_then(|notes| notes.lines().next())
                .map(str::to_owned),
            snapshots: snapshots.len() as u64,
            last_backup: newest.and_then(|time| moment(time).ok()),
            problem,
        });
    }
    Ok(Page {
        items,
        next_cursor: found.next_cursor,
        total: found.total,
    })
}

/// Snapshots of a group, or of all groups of a namespace, the newest of each group first. Blocks.
///
/// # Errors
/// When group, namespace or store cannot be read.
pub fn snapshots(
    views: &Views,
    store: &str,
    ns: &str,
    group: Option<&str>,
    page: &PageRequest,
) -> ServiceResult<Page<SnapshotEntry>> {
    let ns: Namespace = ns.parse()?;
    let group: Option<GroupPath> = group.map(str::parse).transpose()?;
    let after: Option<SnapshotPath> = page.after().map(str::parse).transpose()?;
    let reading = open(views, store)?;
    let groups = match group {
        Some(group) => vec![group],
        None => reading
            .store
            .groups(&ns)?
            .into_iter()
            .map(|group| group.path)
            .collect(),
    };
    let mut found: Vec<SnapshotInfo> = Vec::new();
    for group in &groups {
        match reading.store.snapshots(&ns, group) {
            Ok(snapshots) => found.extend(snapshots),
            // Removed since the list was read, or unreadable, which the list of groups says.
            Err(error) if groups.len() > 1 => {
                tracing::warn!(store, %group, %error, "a list is without the snapshots of a group");
            }
            Err(error) => return Err(error.into()),
        }
    }
    let found = page.cut(
        found,
        |snapshot| snapshot.path.to_string(),
        |snapshot, _| {
            after.as_ref().is_none_or(|after| {
                let path = &snapshot.path;
                path.group
                    .display_cmp(&after.group)
                    .then(after.time.cmp(&path.time))
                    .is_gt()
            })
        },
    );
    let items = found
        .items
        .into_iter()
        .map(entry_of)
        .collect::<ServiceResult<_>>()?;
    Ok(Page {
        items,
        next_cursor: found.next_cursor,
        total: found.total,
    })
}

/// One snapshot with its files. Blocks.
///
/// # Errors
/// When there is no such snapshot.
pub fn snapshot(views: &Views, store: &str, ns: &str, snapshot: &str) -> ServiceResult<SnapshotEntry> {
    let ns: Namespace = ns.parse()?;
    let path: SnapshotPath = snapshot.parse()?;
    entry_of(open(views, store)?.store.snapshot_info(&ns, &path)?)
}

fn entry_of(info: SnapshotInfo) -> ServiceResult<SnapshotEntry> {
    Ok(SnapshotEntry {
        snapshot: info.path.to_string(),
        time: moment(info.path.time)?,
        finished: info.finished,
        protected: info.protected,
        size_bytes: Some(info.size).filter(|_| info.finished),
        verify: info.verify.map(|verify| match verify.state {
            VerifyOutcome::Ok => VerifyState::Ok,
            VerifyOutcome::Failed => VerifyState::Failed,
        }),
        owner: info.owner.map(|owner| owner.to_string()),
        notes: info.notes,
        key_fingerprint: info.fingerprint.map(|fingerprint| fingerprint.to_string()),
        problem: info.error.or(info.manifest_error),
        files: info
            .files
            .into_iter()
            .map(|file| FileEntry {
                name: file.name,
                size_bytes: file.size,
                crypt_mode: file.crypt_mode.map(crypt_mode),
            })
            .collect(),
    })
}

fn moment(time: BackupTime) -> ServiceResult<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(time.epoch()).map_err(ServiceError::internal)
}

/// The decoded bytes of a file on their way out.
pub struct Download {
    /// The bytes; an error when the restore failed half way.
    pub stream: StreamReceiver,
    /// Length, when known before the last byte.
    pub len: Option<u64>,
    /// Server name of the file without `.fidx`, `.didx` or `.blob`.
    pub file_name: String,
    ended: JoinHandle<ServiceResult<()>>,
}

impl Download {
    /// The next piece; `None` is the clean end.
    ///
    /// # Errors
    /// The restore's own error, which names store, snapshot, file, chunk and position; the stream knows the reason only.
    pub async fn next_piece(&mut self) -> ServiceResult<Option<Bytes>> {
        match self.stream.next_piece().await.transpose() {
            Ok(piece) => Ok(piece),
            Err(aborted) => Err(match (&mut self.ended).await {
                Ok(Err(error)) => error,
                Ok(Ok(())) => ServiceError::internal(aborted),
                Err(error) => error.into(),
            }),
        }
    }
}

/// Streams the plain bytes of a file. The key lives as long as the stream.
///
/// # Errors
/// When the file is missing, damaged or encrypted and the key missing or wrong.
pub async fn download(
    views: &Arc<Views>,
    engine: &RestoreEngine,
    work: &runtime::Handle,
    file: FileSpec,
    key: KeyText,
) -> ServiceResult<Download> {
    let guard = file.store.try_read()?;
    let planner = engine.clone();
    let load = work
        .spawn_blocking(move || {
            let key = key.unlock()?;
            let open = file.open(key.as_deref())?;
            Load::read(&planner, open, key, Duration::ZERO).map_err(|error| ServiceError {
                message: format!("restoring {file}: {}", error.message),
                ..error
            })
        })
        .await??;
    let (sink, stream) = StreamSink::channel(QUEUED_PIECES);
    let (len, file_name) = (load.plain_bytes, load.client_name());
    let (progress, _) = watch::channel(Progress::default());
    let how = Pour {
        sink: Sink::Stream(sink),
        parallel: DOWNLOAD_PARALLEL,
        progress,
        cancel: CancellationToken::new(),
        sha256: false,
    };
    let (engine, views) = (engine.clone(), Arc::clone(views));
    let ended = work.spawn(async move {
        let _guard = guard;
        // The reader sees the error at the end of its stream; a reader that went away is no fault.
        match load.pour(&engine, how).await {
            Ok(report) => {
                views.count_download(report.bytes_total);
                Ok(())
            }
            Err(error) => {
                if error.code() == "reader-gone" {
                    tracing::debug!(%error, "download given up");
                } else {
                    tracing::warn!(%error, "download failed");
                }
                Err(error.into())
            }
        }
    });
    Ok(Download {
        stream,
        len,
        file_name,
        ended,
    })
}
