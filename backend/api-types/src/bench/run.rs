use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Comparison, Sample};

/// `POST /api/v1/bench/runs`. One run at a time measures on a machine; the others wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateBenchRun {
    /// Name of a workload.
    pub workload: String,
    /// The short version.
    #[serde(default)]
    pub quick: bool,
    /// Samples a side, 1 to 1,000; absent: the fewest that can show a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u16>,
    /// Seed of the order; absent: drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Empty the page cache before each sample; needs a server that may.
    #[serde(default)]
    pub cold: bool,
    /// Keep a flame graph of each side.
    #[serde(default)]
    pub flamegraph: bool,
    /// Why it is run, for the history.
    #[serde(default)]
    pub reason: String,
}

/// Where a run stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BenchState {
    /// Waits for the run before it.
    Queued,
    /// Measures.
    Running,
    /// Measured all of it.
    Ok,
    /// Interrupted; what was measured is kept.
    Partial,
    /// Could not measure; nothing is kept.
    Failed,
}

impl BenchState {
    /// Whether it stays like this.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Ok | Self::Partial | Self::Failed)
    }
}

/// A run; in lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BenchRun {
    /// UUIDv7.
    pub id: Uuid,
    /// Name of the workload.
    pub workload: String,
    /// Where it stands.
    pub state: BenchState,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a queued run waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// In the database; else in the server's memory or its outbox, on the way there.
    #[serde(default)]
    pub stored: bool,
    /// Where it comes from: `run`, or the format of the imported file.
    pub source: String,
    /// When it was asked for or imported.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When measuring began; absent for queued and imported ones.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub started_at: Option<OffsetDateTime>,
    /// When it ended.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub finished_at: Option<OffsetDateTime>,
    /// A short version.
    pub quick: bool,
    /// Page cache emptied before each sample.
    pub cold: bool,
    /// Seed of the order.
    pub seed: u64,
    /// Samples a side.
    pub samples: u32,
    /// Commit of the binary, or empty.
    pub revision: String,
    /// The tree had changes that are in no commit.
    pub dirty: bool,
    /// Class of the machine.
    pub machine_class: String,
    /// The machine's fingerprint; empty when it is not known.
    pub machine: String,
    /// Who asked for it.
    pub operator: String,
    /// Why.
    pub reason: String,
    /// Cells by verdict: faster, slower, equal, inconclusive; absent until it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<[u32; 4]>,
    /// While it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<BenchProgress>,
    /// Raw samples are gone; figures and histograms stay.
    pub rolled_up: bool,
    /// Kept for good: a baseline, tagged or linked run.
    pub pinned: bool,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BenchProgress {
    /// What is going on: `data` (being made), `measure`.
    pub phase: String,
    /// Steps done.
    pub done: u64,
    /// Steps in all.
    pub total: u64,
    /// Since the start.
    pub elapsed_ns: u64,
    /// Estimate of the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ns: Option<u64>,
    /// The field that is being measured, such as `far concurrency=16 after`.
    pub next: String,
}

/// A sample as it was just taken; live events carry it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveSample {
    /// Run.
    pub run: Uuid,
    /// Number of the sample in the run, from 0, in measured order; warm-up does not count.
    pub number: u64,
    /// Scenario.
    pub scenario: String,
    /// Value of the knob.
    pub value: String,
    /// Metric, its unit, and the sample.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Side and value.
    pub sample: Sample,
}

/// How busy the machine was with other things.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Load {
    /// Share of the CPUs that others used; absent when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// Share that the host took away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Quiet enough for wall times.
    pub quiet: bool,
}

/// `GET /api/v1/bench/runs/{id}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BenchRunDetail {
    /// The run.
    pub run: BenchRun,
    /// Its matrix with verdicts; absent until something was measured, and for imports that are no matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Load while it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Facts, for people: tool version, command, workload file's hash, …
    pub facts: BTreeMap<String, String>,
    /// Floors, when the workload has some.
    pub floors: Vec<FloorReport>,
    /// Files kept with it.
    pub attachments: Vec<Attachment>,
    /// Command that measures the same again.
    pub command: String,
}

/// One floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FloorReport {
    /// Such as `lookup gain drop-direct MxN=10x100 >= 2000`.
    pub text: String,
    /// Why this number.
    pub why: String,
    /// Met, missed or not judged.
    pub state: FloorState,
    /// The figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// How far from the floor: 0.1 is 10 % better, -0.1 is 10 % worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// What became of a floor.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FloorState {
    /// Reached.
    Met,
    /// Not reached.
    Missed,
    /// The machine was too busy to tell.
    Skipped,
    /// Not part of this run.
    NotMeasured,
}

/// A file kept with a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Attachment {
    /// UUIDv7.
    pub id: Uuid,
    /// What it is.
    pub kind: AttachmentKind,
    /// `before`, `after` or empty.
    pub side: String,
    /// Its name.
    pub name: String,
    /// Bytes as they came.
    pub size: u64,
    /// SHA-256, hex.
    pub sha256: String,
}

/// What an attachment is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttachmentKind {
    /// Folded stacks.
    FlameGraph,
    /// `perf stat -j`.
    PerfStat,
    /// Text.
    Log,
    /// The imported file.
    Original,
}

/// A flame graph, laid out; with another one before it, the difference of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Flame {
    /// Samples.
    pub total: u64,
    /// Samples of the one before; 0 without.
    pub before_total: u64,
    /// All frames but those too narrow to be seen.
    pub frames: Vec<FlameFrame>,
    /// Frames left out.
    pub hidden: u64,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlameFrame {
    /// Function.
    pub name: String,
    /// 0 is the root.
    pub depth: u32,
    /// Left edge, 0 to 1.
    pub left: f64,
    /// Width, 0 to 1.
    pub width: f64,
    /// Samples.
    pub samples: u64,
    /// Share now less share before, in the difference of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
}

/// What an import stored, or would store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportReport {
    /// The run; absent for a dry run of something new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Uuid>,
    /// It was here already: nothing was stored twice.
    pub known: bool,
    /// Nothing was stored.
    pub dry_run: bool,
    /// Format as found or given.
    pub format: String,
    /// Workload's name.
    pub workload: String,
    /// Series.
    pub series: u64,
    /// Samples.
    pub samples: u64,
    /// Facts of the file that are no samples.
    pub facts: BTreeMap<String, String>,
}

/// A machine that measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Machine {
    /// Fingerprint.
    pub fingerprint: String,
    /// Machines of one class are expected to measure the same.
    pub class: String,
    /// Facts by name: cpu, cores, memory, kernel, file system, disk, governor, …
    pub facts: BTreeMap<String, String>,
    /// When it was first seen.
    #[serde(with = "time::serde::rfc3339")]
    pub first_seen: OffsetDateTime,
    /// Runs it made.
    pub runs: u64,
    /// The newest.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub last_run_at: Option<OffsetDateTime>,
    /// It is the one that this server runs on.
    pub this: bool,
}
