use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A matrix with its verdicts: of one run, or of the after sides of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// Name of the workload.
    pub workload: String,
    /// The swept parameter.
    pub knob: String,
    /// Parameters that stay the same: seed, load, …
    pub parameters: BTreeMap<String, String>,
    /// Columns.
    pub scenarios: Vec<Scenario>,
    /// What was measured, the most important first.
    pub metrics: Vec<Metric>,
    /// One a scenario and value of the knob.
    pub rows: Vec<MatrixRow>,
    /// First side.
    pub before: Version,
    /// Second side.
    pub after: Version,
    /// SHA-256 of the data, hex; empty when it is not known.
    pub data_sha256: String,
    /// A short version.
    pub quick: bool,
    /// Cells that got a verdict: the family of Holm's correction.
    pub judged_cells: u32,
    /// Facts that are not equal.
    pub differences: Vec<Difference>,
    /// Sides of different machine classes: every export carries a mark.
    pub across_machines: bool,
    /// Largest p that is significant, such as 0.05.
    pub alpha: f64,
    /// Smallest effect worth a verdict, such as 0.02.
    pub min_effect_ratio: f64,
    /// Runs that this is made of; a permalink names them.
    pub runs: Vec<uuid::Uuid>,
    /// What is said of each judged metric.
    #[serde(default)]
    pub findings: Vec<Findings>,
}

/// What a comparison says of one metric, as every export prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Findings {
    /// The metric's name.
    pub metric: String,
    /// Cells of the sweep by verdict, without its control rows.
    pub swept: Tally,
    /// Cells of the control rows by verdict.
    pub control: Tally,
    /// Both in English: `Faster in 3 of 9 cells, up to +38.2% on spinner at 20; equal in 6 (within 3%).`
    pub sentence: String,
}

/// Cells by verdict.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tally {
    /// Better.
    pub faster: u32,
    /// Worse.
    pub slower: u32,
    /// No practical difference.
    pub equal: u32,
    /// Not decided.
    pub inconclusive: u32,
}

/// Hardware and data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scenario {
    /// Short name.
    pub name: String,
    /// A sentence.
    pub legend: String,
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Unit of the closed list, such as `s`, `MiB/s`.
    pub unit: String,
    /// Whether lower is better.
    pub lower_is_better: bool,
    /// Whether it gets a verdict.
    pub judged: bool,
}

/// One side: what was measured, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Version {
    /// For people.
    pub label: String,
    /// Empty when it is not known.
    pub machine_class: String,
    /// Facts about machine, kernel and tools.
    pub environment: BTreeMap<String, String>,
}

/// A fact that differs between the sides; empty text: one side does not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Of the first side.
    pub before: String,
    /// Of the second side.
    pub after: String,
}

/// One scenario at one value of the knob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatrixRow {
    /// The scenario's name.
    pub scenario: String,
    /// Value of the knob.
    pub value: String,
    /// Both sides at their defaults.
    pub control: bool,
    /// One a metric that was measured.
    pub cells: Vec<JudgedCell>,
    /// Sizes of writes, where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_sizes: Option<WriteSizes>,
}

/// Sizes of writes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WriteSizes {
    /// Of the first side.
    pub before: Histogram,
    /// Of the second side.
    pub after: Histogram,
}

/// Counts by powers of two: entry i counts values from 2^i up to 2^(i+1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Histogram {
    /// Lower bound of each bin that holds something, and its count.
    pub bins: Vec<(u64, u64)>,
}

/// One metric of one row, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JudgedCell {
    /// The metric's name.
    pub metric: String,
    /// In measured order; thinned to at most 2,000.
    pub samples: Vec<Sample>,
    /// Samples that were measured.
    pub samples_total: u64,
    /// First side; absent without samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Summary>,
    /// Second side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Summary>,
    /// Ratio of medians, after to before; absent with one side only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
    /// Two-sided Mann-Whitney p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// After Holm's correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjusted_p: Option<f64>,
    /// Smallest effect that counts here: the user's, or the series' own noise.
    pub threshold_ratio: f64,
    /// Absent for metrics that are not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The series of its after side in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<i64>,
}

/// One measured value.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Sample {
    /// Which side.
    pub side: Side,
    /// In the metric's unit.
    pub value: f64,
}

/// A side of a comparison.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// First.
    Before,
    /// Second.
    After,
}

/// Figures of one side.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Summary {
    /// Samples.
    pub runs: u64,
    /// Smallest.
    pub min: f64,
    /// A quarter is below.
    pub lower_quartile: f64,
    /// Half is below.
    pub median: f64,
    /// Three quarters are below.
    pub upper_quartile: f64,
    /// Largest.
    pub max: f64,
    /// Median absolute deviation from the median.
    pub mad: f64,
    /// The samples stand in two heaps: a median between them means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_peaks: Option<TwoPeaks>,
}

/// Two heaps of samples.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TwoPeaks {
    /// Middle of the lower heap.
    pub lower: f64,
    /// Middle of the upper heap.
    pub upper: f64,
    /// Share of samples in the lower heap.
    pub lower_share: f64,
}

/// An estimate with its interval; an end that is not bounded is absent.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Interval {
    /// Estimate.
    pub estimate: f64,
    /// Lower end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Its confidence, such as 0.95.
    pub confidence: f64,
}

/// The one verdict.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Verdict {
    /// Better by the metric's direction.
    Faster,
    /// Worse.
    Slower,
    /// No practical difference.
    EqualWithin {
        /// 0.03 for 3 %.
        within_ratio: f64,
    },
    /// Not decided.
    Inconclusive {
        /// Estimate of how many more samples a side would decide it.
        more_runs: u32,
    },
}

/// How a comparison is written.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// Plain ASCII, 76 columns.
    #[default]
    Mail,
    /// Markdown.
    Markdown,
    /// One line a sample.
    Csv,
    /// Own JSON.
    Json,
    /// Go benchmark text.
    GoBench,
    /// One file with charts.
    Html,
}

/// Query of an export.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Export {
    /// How.
    #[serde(default)]
    pub format: ExportFormat,
}
