use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{CryptMode, object};
use time::OffsetDateTime;

/// What is restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RestoreSource {
    /// Datastore name.
    pub store: String,
    /// Namespace; empty for the root.
    #[serde(default)]
    pub ns: String,
    /// Such as `vm/100/2024-05-01T10:00:00Z`.
    pub snapshot: String,
    /// Image, archive or blob, with or without its server extension.
    pub archive: String,
}

/// Kind of target.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A sparse file under one of the server's restore roots.
    File,
    /// Read, decode and check everything; write nothing.
    Null,
    /// A block device that the server was started with permission for.
    Device,
}

/// Where the bytes go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RestoreTarget {
    /// Kind.
    pub kind: TargetKind,
    /// File: relative to the first restore root, or absolute and inside one. Device: its path. Null: absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Replace an existing file.
    #[serde(default)]
    pub overwrite: bool,
    /// Device only: it reads as zeros already, so zeros need not be written.
    #[serde(default)]
    pub is_zero: bool,
}

/// `POST /api/v1/restores` → 202, `Location: /api/v1/restores/{id}`, body [`Job`].
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateRestore {
    /// What.
    #[serde(deserialize_with = "object")]
    pub source: RestoreSource,
    /// Where to.
    #[serde(deserialize_with = "object")]
    pub target: RestoreTarget,
    /// Chunk fetches outstanding at most; absent: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// Compute the SHA-256 of the whole restored file.
    #[serde(default)]
    pub sha256: bool,
    /// Text of the key file, for encrypted files; kept in memory only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its password, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_password: Option<String>,
    /// Added to each chunk fetch, to try slow storage, in milliseconds (0 to 10,000).
    #[serde(default)]
    pub simulate_latency_ms: u32,
}

/// State of a job.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Waits for admission.
    Queued,
    /// Runs.
    Running,
    /// Ended well.
    Ok,
    /// Ended with an error; nothing stands under the final name.
    Failed,
    /// Cancelled by a user.
    Cancelled,
    /// The server stopped while it ran.
    Interrupted,
}

impl JobState {
    /// It will not change any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// How a finished job ended, as histories keep it.
pub type Outcome = JobState;

/// Counters of a running or ended job.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobProgress {
    /// Logical size of the file.
    pub bytes_total: u64,
    /// Of these, settled: written, or known to be zero.
    pub bytes_done: u64,
    /// Written to the target.
    pub bytes_written: u64,
    /// Zeros that were never fetched.
    pub zero_bytes: u64,
    /// Index entries.
    pub chunks_total: u64,
    /// Of these, settled.
    pub chunks_done: u64,
    /// Distinct chunks that are not zero.
    pub chunks_distinct: u64,
    /// Fetched from the datastore.
    pub chunks_fetched: u64,
    /// Entries served by a chunk that was fetched for another entry.
    pub chunks_duplicate: u64,
    /// Fetched a second time because memory did not reach to keep them.
    pub chunks_refetched: u64,
    /// Bytes read from the datastore.
    pub encoded_bytes_read: u64,
    /// Fetches outstanding now.
    pub in_flight: u32,
    /// Part of the memory budget this job holds now.
    pub memory_bytes: u64,
    /// Plain bytes a second, over the last seconds.
    pub rate_bytes_per_s: u64,
    /// Since the start.
    pub elapsed_ns: u64,
    /// Estimate of what remains; absent until there is a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ns: Option<u64>,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobError {
    /// Stable, kebab-case, such as `chunk-digest-mismatch`.
    pub code: String,
    /// One sentence with store, snapshot, file, chunk and position.
    pub message: String,
    /// File of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Digest of the chunk, 64 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// Number of the chunk in the index, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
}

/// Figures of an ended job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobTotals {
    /// Wall time.
    pub duration_ns: u64,
    /// CPU time of the decode threads spent on this job.
    pub cpu_ns: u64,
    /// Logical bytes a second of wall time.
    pub rate_bytes_per_s: u64,
    /// SHA-256 of the whole file, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Checksum of the index, as the manifest has it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_csum: Option<String>,
}

/// A restore; `GET /api/v1/restores/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    /// UUIDv7.
    pub id: Uuid,
    /// The task's UPID, as the PBS face names it.
    pub upid: String,
    /// What.
    pub source: RestoreSource,
    /// Where to; the path as resolved.
    pub target: RestoreTarget,
    /// Fetches outstanding at most.
    pub parallel: u32,
    /// Delay added to each fetch, milliseconds.
    #[serde(default)]
    pub simulate_latency_ms: u32,
    /// Crypt mode of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypt_mode: Option<CryptMode>,
    /// Who asked for it.
    pub user: String,
    /// State.
    pub state: JobState,
    /// Why it waits, when queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Counters.
    pub progress: JobProgress,
    /// When it was asked for.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When it was admitted.
    #[serde(
        default,
        with = "time::serde::rfc3339::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub started_at: Option<OffsetDateTime>,
    /// When it ended.
    #[serde(
        default,
        with = "time::serde::rfc3339::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub finished_at: Option<OffsetDateTime>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<JobError>,
    /// Figures, once ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<JobTotals>,
}

/// One point of a job's live chart; cumulative counters, so that a lost one costs resolution only.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobSample {
    /// Since the job's start.
    pub t_ns: u64,
    /// Settled logical bytes.
    pub bytes_done: u64,
    /// Bytes read from the datastore.
    pub encoded_bytes_read: u64,
    /// Bytes written to the target.
    pub bytes_written: u64,
    /// Fetches outstanding.
    pub in_flight: u32,
    /// Memory held.
    pub memory_bytes: u64,
}

/// A line of a job's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// Line number, from 1.
    pub n: u64,
    /// Text, with its time stamp.
    pub text: String,
}

/// `GET /api/v1/restores/{id}/log?after=N`: lines behind line N, at most 1,000.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobLog {
    /// The lines.
    pub lines: Vec<LogLine>,
    /// Lines there are now.
    pub total: u64,
}

/// `POST /api/v1/restores/plan`: what a restore would do; nothing is fetched or written.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// What.
    #[serde(deserialize_with = "object")]
    pub source: RestoreSource,
    /// Text of the key file: encrypted images need it to tell zero chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its password, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_password: Option<String>,
}

/// Reply to [`PlanRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RestorePlan {
    /// Logical size.
    pub bytes_total: u64,
    /// Zeros that are not fetched.
    pub zero_bytes: u64,
    /// Plain bytes of the distinct chunks to fetch.
    pub fetch_bytes: u64,
    /// Index entries.
    pub chunks_total: u64,
    /// Distinct chunks to fetch.
    pub chunks_distinct: u64,
    /// Entries served by another entry's fetch.
    pub chunks_duplicate: u64,
    /// Entries that are zeros.
    pub chunks_zero: u64,
    /// The image from start to end in at most 256 equal parts.
    pub strip: Vec<PlanStrip>,
    /// Crypt mode of the file.
    pub crypt_mode: CryptMode,
    /// The key given fits (signature and fingerprint); absent without a key or when not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_fits: Option<bool>,
    /// Time the plan took.
    pub plan_ns: u64,
}

/// Shares of one part of the image, in per mille.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanStrip {
    /// Fetched.
    pub fetch: u16,
    /// Served by another entry's fetch.
    pub reuse: u16,
    /// Zeros.
    pub zero: u16,
}
