//! What a job says about itself: identity, progress while it runs, report when it is over.

use std::fmt;

use fleethold_format::names::{ArchiveName, Namespace, SnapshotPath};
use serde::Serialize;

use crate::plan::PlanCounts;

/// Which archive is restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreIdentity {
    /// Datastore name, or the path it was opened at.
    pub store: String,
    /// Namespace.
    pub ns: Namespace,
    /// Snapshot.
    pub snapshot: SnapshotPath,
    /// File of the snapshot, with its server extension.
    pub archive: ArchiveName,
}

impl fmt::Display for RestoreIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of snapshot {} in store {}",
            self.archive, self.snapshot, self.store
        )?;
        if self.ns.is_root() {
            Ok(())
        } else {
            write!(f, ", namespace {}", self.ns)
        }
    }
}

/// State of a running job; a value is published after every chunk. Sizes in bytes, times in nanoseconds.
///
/// `fetch_ns`, `decode_ns` and `write_ns` add up all chunks, so with several in flight they pass wall time.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Logical size of the archive.
    pub bytes_total: u64,
    /// Of these done, zeros included.
    pub bytes_done: u64,
    /// Data handed to the target; zeros not included.
    pub bytes_written: u64,
    /// Zeros done: holes in a file, written out on a device or a stream.
    pub zero_bytes: u64,
    /// Positions in the index.
    pub chunks_total: u64,
    /// Positions done, zero chunks included.
    pub chunks_done: u64,
    /// Chunks fetched, repeats of the same chunk included.
    pub chunks_fetched: u64,
    /// Positions served from a chunk that was fetched for an earlier position.
    pub chunks_duplicate: u64,
    /// Fetches of a chunk that had been fetched before (ordered targets only).
    pub refetched: u64,
    /// Encoded bytes fetched.
    pub encoded_bytes_read: u64,
    /// Fetches outstanding.
    pub in_flight: u64,
    /// Memory all jobs of the process hold now.
    pub budget_used_bytes: u64,
    /// Time in fetches.
    pub fetch_ns: u64,
    /// Time in checks, decryption and decompression.
    pub decode_ns: u64,
    /// Time in writes.
    pub write_ns: u64,
}

/// How a restore ended.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything restored and checked.
    Ok,
    /// An error; nothing stands under the final name.
    #[default]
    Failed,
    /// Cancelled; nothing stands under the final name.
    Cancelled,
    /// Part of several archives failed (a whole-store check).
    Incomplete,
}

/// The error of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportError {
    /// Stable code, kebab case.
    pub code: &'static str,
    /// One line for a person.
    pub message: String,
    /// File of the snapshot.
    pub file: String,
    /// Digest of the chunk at fault.
    pub chunk: Option<String>,
    /// Its number in the index.
    pub position: Option<u64>,
}

/// The result of `restore --json`. Sizes in bytes, times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RestoreReport {
    /// Datastore name or path.
    pub store: String,
    /// Namespace, empty for the root.
    pub ns: String,
    /// Snapshot path.
    pub snapshot: String,
    /// File of the snapshot.
    pub archive: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Logical size of the archive.
    pub bytes_total: u64,
    /// Data handed to the target, zeros not included.
    pub bytes_written: u64,
    /// Zeros: holes in a file, written out on a device or a stream.
    pub zero_bytes: u64,
    /// Positions in the index.
    pub chunks_total: u64,
    /// Different chunks, zero chunks not counted.
    pub chunks_distinct: u64,
    /// Chunks fetched.
    pub chunks_fetched: u64,
    /// Fetches of a chunk that had been fetched before (ordered targets only).
    pub refetched: u64,
    /// Encoded bytes fetched.
    pub encoded_bytes_read: u64,
    /// Wall time.
    pub duration_ns: u64,
    /// CPU time of the restore threads for this job: checks, decoding, writing, hashing. Not the chunk source's.
    pub cpu_ns: u64,
    /// `bytes_total` by wall time.
    pub rate_bytes_per_s: f64,
    /// Most fetches outstanding.
    pub parallel: usize,
    /// Checksum of the index's entries, hex; empty for a blob.
    pub index_csum: String,
    /// SHA-256 of the restored bytes, hex, when asked for.
    pub sha256: Option<String>,
    /// Why it failed.
    pub error: Option<ReportError>,
}

impl RestoreReport {
    pub(crate) fn start(identity: &RestoreIdentity, counts: PlanCounts, parallel: usize) -> Self {
        Self {
            store: identity.store.clone(),
            ns: identity.ns.to_string(),
            snapshot: identity.snapshot.to_string(),
            archive: identity.archive.to_string(),
            bytes_total: counts.bytes_total,
            chunks_total: counts.chunks_total,
            chunks_distinct: counts.chunks_distinct,
            parallel,
            ..Self::default()
        }
    }

    /// Takes over the last progress and the times.
    pub(crate) fn finish(&mut self, progress: &Progress, duration_ns: u64, cpu_ns: u64) {
        self.bytes_written = progress.bytes_written;
        self.zero_bytes = progress.zero_bytes;
        self.chunks_fetched = progress.chunks_fetched;
        self.refetched = progress.refetched;
        self.encoded_bytes_read = progress.encoded_bytes_read;
        self.duration_ns = duration_ns;
        self.cpu_ns = cpu_ns;
        self.rate_bytes_per_s = rate(progress.bytes_done, duration_ns);
    }
}

/// Bytes per second; 0 when no time has passed.
fn rate(bytes: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 {
        0.0
    } else {
        bytes as f64 * 1e9 / duration_ns as f64
    }
}

/// Lower-case hex of a checksum.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _infallible = write!(text, "{byte:02x}");
            text
        })
}
