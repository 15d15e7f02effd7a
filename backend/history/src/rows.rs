//! What is kept: jobs, their samples, the machine they ran on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Everything was restored and checked.
    Ok,
    /// It stopped at an error.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
    /// It ended, and parts are missing.
    Incomplete,
    /// The server went away while it ran.
    Interrupted,
}

impl Outcome {
    /// The word stored in the database and shown in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Incomplete => "incomplete",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no [`Outcome`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown job outcome {found:?}, expected ok, failed, cancelled, incomplete or interrupted")]
pub struct UnknownOutcome {
    /// The word that was found.
    pub found: String,
}

impl FromStr for Outcome {
    type Err = UnknownOutcome;

    fn from_str(s: &str) -> Result<Self, UnknownOutcome> {
        match s {
            "ok" => Ok(Self::Ok),
            "failed" => Ok(Self::Failed),
            "cancelled" => Ok(Self::Cancelled),
            "incomplete" => Ok(Self::Incomplete),
            "interrupted" => Ok(Self::Interrupted),
            _ => Err(UnknownOutcome { found: s.to_owned() }),
        }
    }
}

/// The sums of a job; `None` where they are not known (yet). Sizes in bytes, times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the names are those of `restore --json`, and carry their unit"
)]
pub struct Totals {
    pub bytes_total: Option<u64>,
    pub bytes_done: Option<u64>,
    pub bytes_written: Option<u64>,
    pub zero_bytes: Option<u64>,
    pub chunks_total: Option<u64>,
    pub chunks_distinct: Option<u64>,
    pub chunks_fetched: Option<u64>,
    pub refetched: Option<u64>,
    pub encoded_bytes_read: Option<u64>,
    pub duration_ns: Option<u64>,
    pub cpu_ns: Option<u64>,
    pub index_csum: Option<String>,
    pub sha256: Option<String>,
}

/// One restore job. Times are kept to the microsecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// UUIDv7; its order is the order of the list.
    pub id: Uuid,
    /// The task id of the PBS face, unique too.
    pub upid: String,
    /// Datastore name.
    pub store: String,
    /// Namespace, empty for the root.
    pub ns: String,
    /// `vm/100/2024-05-01T10:00:00Z`.
    pub snapshot: String,
    /// Server file name, with its extension.
    pub archive: String,
    /// Where it went: a path, `null`, `stream`, a device.
    pub target: String,
    /// Fetches outstanding at most; `None` is adaptive.
    pub parallel: Option<u32>,
    /// The byte budget.
    pub memory_bytes: u64,
    /// Everything else that was asked for; never a key.
    pub params: serde_json::Value,
    /// Who asked, `admin@pbs` or `admin@pbs!token`.
    pub user: String,
    /// [`Machine::fingerprint`].
    pub machine: String,
    /// When it was asked for.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When it was admitted; `None` while it waits.
    #[serde(with = "time::serde::rfc3339::option")]
    pub started_at: Option<OffsetDateTime>,
    /// When it ended; set exactly when `outcome` is.
    #[serde(with = "time::serde::rfc3339::option")]
    pub finished_at: Option<OffsetDateTime>,
    /// How it ended; `None` while it waits or runs.
    pub outcome: Option<Outcome>,
    /// `{code, message, file, chunk, position}` of a failure.
    pub error: Option<serde_json::Value>,
    /// The sums. Where a running or interrupted job has none, the database answers those of its last sample.
    pub totals: Totals,
}

/// The counters of a job at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the names are those of the engine's progress, and carry their unit"
)]
pub struct SampleRow {
    /// Nanoseconds since the job started; the identity of the sample within its job.
    pub t_ns: u64,
    pub bytes_done: u64,
    pub bytes_written: u64,
    pub encoded_bytes_read: u64,
    pub chunks_done: u64,
    pub in_flight: u32,
    pub budget_used_bytes: u64,
}

/// A sample as a chart wants it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SamplePoint {
    /// The sample.
    #[serde(flatten)]
    pub sample: SampleRow,
    /// `bytes_done` per second since the sample before it *as recorded*, so thinning does not flatten peaks.
    pub rate_bytes_per_s: f64,
}

/// What a number was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// 64 hex digits over the other fields.
    pub fingerprint: String,
    /// `/proc/cpuinfo`, first processor.
    pub cpu_model: Option<String>,
    /// Processors this process may use.
    pub cores: Option<u32>,
    /// RAM in bytes, rounded down to MiB: the kernel's own share varies from boot to boot.
    pub ram_bytes: Option<u64>,
    /// Kernel name and release.
    pub kernel: Option<String>,
    /// File system type of the state directory, `ext4`.
    pub file_system: Option<String>,
}

/// A store that has history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreHistory {
    /// Datastore name.
    pub store: String,
    /// Number of jobs kept.
    pub jobs: u64,
    /// When the newest of them was asked for.
    #[serde(with = "time::serde::rfc3339")]
    pub last_created_at: OffsetDateTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_words_are_those_of_json() {
        for outcome in [
            Outcome::Ok,
            Outcome::Failed,
            Outcome::Cancelled,
            Outcome::Incomplete,
            Outcome::Interrupted,
        ] {
            assert_eq!(outcome.as_str().parse(), Ok(outcome));
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
        assert!("fine".parse::<Outcome>().is_err());
    }
}
