//! One archive into one sink, with every step's failure in the form of a report.

use std::sync::Arc;
use std::time::Duration;

use fleethold_datastore::{ChunkSource, Datastore, DatastoreError, OpenSnapshot, ThrottledSource};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::names::{ArchiveName, Namespace, SnapshotPath};
use fleethold_restore::{
    BlobRequest, Outcome, PlanError, Progress, ReportError, RestoreEngine, RestoreError, RestoreIdentity,
    RestoreReport, RestoreRequest, Sink,
};
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::exit::{Exit, of_code};
use super::progress::Reporter;

/// What does not change from archive to archive.
pub(super) struct Tools {
    pub(super) engine: RestoreEngine,
    pub(super) key: Option<Arc<CryptKey>>,
    pub(super) parallel: usize,
    pub(super) latency: Duration,
    pub(super) cancel: CancellationToken,
    pub(super) sha256: bool,
}

/// A restore that ended early, as it is reported.
pub(super) struct Failed {
    pub(super) report: Box<RestoreReport>,
    pub(super) exit: Exit,
}

impl Failed {
    /// A failure before the engine was asked.
    pub(super) fn early(base: &RestoreReport, code: &'static str, message: String) -> Self {
        let error = ReportError {
            code,
            message,
            file: base.archive.clone(),
            chunk: None,
            position: None,
        };
        let outcome = if code == "cancelled" {
            Outcome::Cancelled
        } else {
            Outcome::Failed
        };
        let report = RestoreReport {
            outcome,
            error: Some(error),
            ..base.clone()
        };
        Self {
            report: Box::new(report),
            exit: of_code(code),
        }
    }

    pub(super) fn message(&self) -> &str {
        self.report
            .error
            .as_ref()
            .map_or("failed", |error| &error.message)
    }

    pub(super) fn code(&self) -> &'static str {
        self.report.error.as_ref().map_or("failed", |error| error.code)
    }
}

impl From<RestoreError> for Failed {
    fn from(error: RestoreError) -> Self {
        Self {
            report: Box::new(error.report().clone()),
            exit: of_code(error.code()),
        }
    }
}

/// What the manifest's signature says.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Signature {
    /// Made with the key that was given.
    Verified,
    /// The snapshot was made without a key: the one given proves nothing about it.
    Missing,
    /// Not of this manifest, or of another key.
    Invalid,
    /// No key was given, or it did not come to that.
    #[default]
    NotChecked,
}

impl Signature {
    /// Of a snapshot that [`open_snapshot`] opened, or could not.
    pub(super) fn of(
        key: Option<&Arc<CryptKey>>,
        opened: &Result<Arc<OpenSnapshot>, DatastoreError>,
    ) -> Self {
        match opened {
            Ok(_) if key.is_none() => Self::NotChecked,
            Ok(snapshot) if snapshot.manifest().signature.is_none() => Self::Missing,
            Ok(_) => Self::Verified,
            Err(error) if error.code() == "manifest-signature" => Self::Invalid,
            Err(_) => Self::NotChecked,
        }
    }
}

/// A report that says which archive it is about and nothing else yet.
pub(super) fn blank_report(
    label: &str,
    ns: &Namespace,
    snapshot: &SnapshotPath,
    archive: &str,
) -> RestoreReport {
    RestoreReport {
        store: label.to_owned(),
        ns: ns.to_string(),
        snapshot: snapshot.to_string(),
        archive: archive.to_owned(),
        ..RestoreReport::default()
    }
}

/// Opens a snapshot and, with a key, checks that the snapshot was made with it and not changed since.
pub(super) async fn open_snapshot(
    store: &Datastore,
    ns: &Namespace,
    path: &SnapshotPath,
    key: Option<&Arc<CryptKey>>,
) -> anyhow::Result<Result<Arc<OpenSnapshot>, DatastoreError>> {
    let (store, ns, path, key) = (store.clone(), ns.clone(), path.clone(), key.cloned());
    let open = move || {
        let snapshot = store.snapshot(&ns, &path)?;
        if let Some(key) = key {
            snapshot.verify_signature(&key)?;
        }
        Ok(Arc::new(snapshot))
    };
    Ok(tokio::task::spawn_blocking(open).await?)
}

/// Which file of the snapshot a user means, with or without its extension. The manifest and the client's log, which no manifest
/// lists, can be named, too.
pub(super) fn resolve(snapshot: &OpenSnapshot, text: &str) -> Result<ArchiveName, DatastoreError> {
    let unlisted = [ArchiveName::MANIFEST, ArchiveName::CLIENT_LOG];
    let candidates = ArchiveName::candidates(text);
    match snapshot.manifest().resolve(text) {
        Ok(file) => Ok(file.name.clone()),
        Err(source) => candidates
            .into_iter()
            .find(|name| unlisted.contains(&name.as_str()))
            .ok_or_else(|| DatastoreError::Manifest {
                path: snapshot.dir_path().join(ArchiveName::MANIFEST),
                source,
            }),
    }
}

/// Restores one archive and shows how far it is.
pub(super) async fn restore(
    tools: &Tools,
    label: &str,
    snapshot: &Arc<OpenSnapshot>,
    archive: &ArchiveName,
    sink: Sink,
    reporter: &mut Reporter,
) -> anyhow::Result<Result<RestoreReport, Failed>> {
    let base = blank_report(label, snapshot.namespace(), snapshot.path(), archive.as_str());
    let file = snapshot.listed(archive).cloned();
    let identity = RestoreIdentity {
        store: label.to_owned(),
        ns: snapshot.namespace().clone(),
        snapshot: snapshot.path().clone(),
        archive: archive.clone(),
    };
    if file
        .as_ref()
        .is_some_and(|file| file.crypt_mode == CryptMode::Encrypt)
        && tools.key.is_none()
    {
        let message = format!("restoring {identity}: it is encrypted and no key was given");
        return Ok(Err(Failed::early(&base, "key-missing", message)));
    }
    let (progress, seen) = watch::channel(Progress::default());
    reporter.next(archive.client_name());

    if !archive.kind().is_index() {
        let raw = {
            let (snapshot, archive) = (Arc::clone(snapshot), archive.clone());
            tokio::task::spawn_blocking(move || snapshot.read_blob_raw(&archive)).await?
        };
        let raw = match raw {
            Ok(raw) => raw,
            Err(error) => return Ok(Err(early(&base, &identity, &error))),
        };
        let request = BlobRequest {
            raw,
            file,
            key: tools.key.clone(),
            sink,
            progress,
            cancel: tools.cancel.clone(),
            identity,
            sha256: tools.sha256,
        };
        let work = tools.engine.restore_blob(request);
        return Ok(watched(work, &seen, archive, reporter)
            .await
            .map_err(Failed::from));
    }

    let planned = {
        let (snapshot, archive, key) = (Arc::clone(snapshot), archive.clone(), tools.key.clone());
        let engine = tools.engine.clone();
        tokio::task::spawn_blocking(move || {
            let file = snapshot.entry(&archive)?.clone();
            let index = snapshot.open_index(&archive)?;
            let plan = engine.plan(&index, file.crypt_mode, key.as_deref())?;
            let source = snapshot.store().chunk_source()?;
            Ok::<_, PlanError>((file, index, plan, source))
        })
        .await?
    };
    let (file, index, plan, source) = match planned {
        Ok(planned) => planned,
        Err(PlanError::Index(error)) => return Ok(Err(early(&base, &identity, &error))),
        Err(error) => {
            return Ok(Err(Failed::early(
                &base,
                error.code(),
                format!("restoring {identity}: {error}"),
            )));
        }
    };
    let mut source: Arc<dyn ChunkSource> = Arc::new(source);
    if !tools.latency.is_zero() {
        source = Arc::new(ThrottledSource::with_latency(source, tools.latency));
    }
    let request = RestoreRequest {
        plan: Arc::new(plan),
        index: Arc::new(index),
        file,
        source,
        sink,
        key: tools.key.clone(),
        parallel: tools.parallel,
        progress,
        cancel: tools.cancel.clone(),
        identity,
        sha256: tools.sha256,
    };
    let work = tools.engine.execute(request);
    Ok(watched(work, &seen, archive, reporter)
        .await
        .map_err(Failed::from))
}

fn early(base: &RestoreReport, identity: &RestoreIdentity, error: &DatastoreError) -> Failed {
    Failed::early(base, error.code(), format!("restoring {identity}: {error}"))
}

/// Drives the work and shows its progress until it ends.
async fn watched<T>(
    work: impl Future<Output = T>,
    seen: &watch::Receiver<Progress>,
    archive: &ArchiveName,
    reporter: &Reporter,
) -> T {
    let mut ticks = tokio::time::interval(reporter.period());
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                reporter.show(archive.client_name(), *seen.borrow());
                return done;
            }
            _ = ticks.tick() => reporter.show(archive.client_name(), *seen.borrow()),
        }
    }
}

/// Cancels on Ctrl-C and on a polite kill.
pub(super) fn cancel_on_signals(cancel: &CancellationToken) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ] {
        let mut signals = signal(kind)?;
        let cancel = cancel.clone();
        tokio::spawn(async move {
            signals.recv().await;
            cancel.cancel();
            // A target that hangs (a dead mount) may never let the restore end: who asks twice does not want to wait.
            signals.recv().await;
            std::process::exit(Exit::Cancelled as i32);
        });
    }
    Ok(())
}
