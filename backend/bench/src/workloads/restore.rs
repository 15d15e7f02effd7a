//! One image restored to nowhere: serially against N chunks in flight (pve-devel, 10–11 Jul 2025).
//!
//! Before is the loop of QEMU's restore before that series: one chunk after the other is fetched, decoded, checked, and
//! only then the next is asked for. After is [`RestoreEngine`]. Both read the same store through the same source with the
//! same checks.

mod limit;
mod serial;

use std::sync::Arc;
use std::time::Duration;

use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::Unit;
use fleethold_datastore::sources::ThrottleProfile;
use fleethold_datastore::{ChunkSource, Datastore, OpenSnapshot, ThrottledSource};
use fleethold_format::names::{ArchiveName, DatastoreName, Namespace};
use fleethold_restore::sink::Sink;
use fleethold_restore::{EngineConfig, Progress, RestoreEngine, RestoreIdentity, RestoreRequest};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::data::image_file;
use crate::error::BenchError;
use crate::measured::Measured;
use crate::usage::Usage;
use crate::worker::SampleRequest;
use crate::workloads::Workload;

pub(super) const WORKLOAD: Workload = Workload {
    name: "restore",
    file: include_str!("../../../../fixtures/workloads/restore.toml"),
    parameters: &[
        "limit",
        "latency_ms",
        "bandwidth_bytes_per_s",
        "spindles",
        "seek_ms",
        "spindle_bytes_per_s",
    ],
    metrics: &[
        "time",
        "rate",
        "cpu",
        "rss_peak",
        "limit_share",
        "cycles",
        "instructions",
        "switches",
        "faults",
        "major_faults",
    ],
    sample,
    profiles_itself: false,
};

/// The image, opened.
pub(super) struct Opened {
    snapshot: OpenSnapshot,
    archive: ArchiveName,
    source: Arc<dyn ChunkSource>,
    /// Plain bytes.
    size: u64,
}

fn sample(request: &SampleRequest) -> Result<Measured, BenchError> {
    let opened = open(request)?;
    let megabytes = opened.size as f64 / f64::from(1 << 20);
    if request.cell.parameters.contains_key("limit") {
        return limit::sample(&opened, request.side, megabytes);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("starting the runtime", error))?;
    let concurrency = request.cell.value("a number of chunks, at least 1")?;
    // Everything that is needed once, however often one restores, is there before the clock starts.
    let engine =
        RestoreEngine::new(EngineConfig::default()).map_err(|error| failed("starting the engine", error))?;
    let before = Usage::now();
    runtime.block_on(async {
        match request.side {
            Side::Before => serial::restore(&opened).await,
            Side::After => parallel(&engine, &opened, concurrency).await,
        }
    })?;
    let (mut measured, time) = before.since();
    measured.add("rate", Unit::MebibytesPerSecond, megabytes / time.as_secs_f64());
    Ok(measured)
}

async fn parallel(engine: &RestoreEngine, opened: &Opened, concurrency: usize) -> Result<(), BenchError> {
    const WHAT: &str = "restoring in parallel";
    let entry = opened
        .snapshot
        .entry(&opened.archive)
        .map_err(|error| failed(WHAT, error))?
        .clone();
    let index = opened
        .snapshot
        .open_index(&opened.archive)
        .map_err(|error| failed(WHAT, error))?;
    let plan = engine
        .plan(&index, entry.crypt_mode, None)
        .map_err(|error| failed(WHAT, error))?;
    let (progress, _seen) = watch::channel(Progress::default());
    let request = RestoreRequest {
        plan: Arc::new(plan),
        index: Arc::new(index),
        file: entry,
        source: Arc::clone(&opened.source),
        sink: Sink::Null,
        key: None,
        parallel: concurrency,
        progress,
        cancel: CancellationToken::new(),
        identity: RestoreIdentity {
            store: opened.snapshot.store().name().to_string(),
            ns: Namespace::root(),
            snapshot: opened.snapshot.path().clone(),
            archive: opened.archive.clone(),
        },
        sha256: false,
    };
    let report = engine
        .execute(request)
        .await
        .map_err(|error| failed(WHAT, error))?;
    let done = report.bytes_written + report.zero_bytes;
    if done == opened.size {
        Ok(())
    } else {
        Err(failed(
            WHAT,
            format!("expected {} bytes, found {done}", opened.size),
        ))
    }
}

fn open(request: &SampleRequest) -> Result<Opened, BenchError> {
    const WHAT: &str = "opening the image";
    let image = image_file(&request.data)?;
    let name = DatastoreName::parse("bench").map_err(|error| failed(WHAT, error))?;
    let store = Datastore::open(name, &request.data).map_err(|error| failed(WHAT, error))?;
    let snapshot = store
        .snapshot(&Namespace::root(), &image.snapshot)
        .map_err(|error| failed(WHAT, error))?;
    let local = store.chunk_source().map_err(|error| failed(WHAT, error))?;
    Ok(Opened {
        snapshot,
        archive: image.archive,
        source: Arc::new(ThrottledSource::new(Arc::new(local), profile(request)?)),
        size: image.size,
    })
}

fn profile(request: &SampleRequest) -> Result<ThrottleProfile, BenchError> {
    let millis = |name| -> Result<Duration, BenchError> {
        let given = request.cell.parameter::<f64>(name, "milliseconds")?;
        Ok(Duration::from_secs_f64(
            given.unwrap_or(0.0).clamp(0.0, 1e6) / 1e3,
        ))
    };
    Ok(ThrottleProfile {
        latency: millis("latency_ms")?,
        bandwidth_bytes_per_s: request
            .cell
            .parameter("bandwidth_bytes_per_s", "bytes per second")?,
        queue_depth: request.cell.parameter("spindles", "a number of spindles")?,
        seek: millis("seek_ms")?,
        spindle_bytes_per_s: request
            .cell
            .parameter("spindle_bytes_per_s", "bytes per second")?,
    })
}

fn failed(what: &'static str, error: impl std::fmt::Display) -> BenchError {
    BenchError::Measured {
        what,
        reason: error.to_string(),
    }
}
