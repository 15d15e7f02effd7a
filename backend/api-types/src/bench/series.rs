use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

use super::Side;

/// The same measurement at all times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Series {
    /// Number.
    pub id: i64,
    /// Workload.
    pub workload: String,
    /// Scenario, knob and whatever else has to be equal, by name.
    pub parameters: BTreeMap<String, String>,
    /// Metric.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Whether lower is better.
    pub lower_is_better: bool,
    /// Class of the machine.
    pub machine_class: String,
    /// Which side: the older way, or what there is now.
    pub side: Side,
    /// Runs with it.
    pub runs: u64,
}

/// A series over runs and commits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SeriesHistory {
    /// Which.
    pub series: Series,
    /// One a run, oldest first; at most 2,000.
    pub points: Vec<Point>,
    /// Where the level changes.
    pub changes: Vec<ChangePoint>,
    /// Between them.
    pub levels: Vec<Level>,
    /// What people said.
    pub annotations: Vec<Annotation>,
}

/// One run in a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Point {
    /// Run.
    pub run: Uuid,
    /// When it was measured.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Commit, or empty.
    pub revision: String,
    /// Samples.
    pub n: u64,
    /// Figures of the samples.
    pub min: f64,
    /// A quarter is below.
    pub lower_quartile: f64,
    /// Half is below.
    pub median: f64,
    /// Three quarters are below.
    pub upper_quartile: f64,
    /// Largest.
    pub max: f64,
    /// Marked as an outlier: not part of levels and change points.
    pub outlier: bool,
    /// The run was interrupted, or it is a time of a busy machine: not part of them, either.
    #[serde(default)]
    pub spoiled: bool,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangePoint {
    /// First point of the new level, as an index into the points.
    pub at: u32,
    /// Level after to level before.
    pub ratio: f64,
    /// Its p.
    pub p: f64,
    /// Last commit of the old level, or empty.
    pub from_revision: String,
    /// First commit of the new one.
    pub to_revision: String,
}

/// A level between two changes.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Level {
    /// First point.
    pub from: u32,
    /// One past the last.
    pub to: u32,
    /// Median of its medians.
    pub median: f64,
    /// The middle half of them.
    pub lower_quartile: f64,
    /// Upper end of the middle half.
    pub upper_quartile: f64,
}

/// What somebody said of a series or a run in it; withdrawn ones stay, marked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Annotation {
    /// Number.
    pub id: i64,
    /// Series.
    pub series: i64,
    /// Run; absent for the whole series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Uuid>,
    /// What it does.
    pub kind: AnnotationKind,
    /// Why.
    pub reason: String,
    /// Who.
    pub author: String,
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When it was taken back.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub withdrawn_at: Option<OffsetDateTime>,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn_by: Option<String>,
}

/// Kinds of annotation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AnnotationKind {
    /// The run does not count in this series.
    Outlier,
    /// The level changes here for a known reason: no alert compares across it.
    LevelShift,
    /// Words only.
    Note,
}

/// `POST /api/v1/bench/annotations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateAnnotation {
    /// Series.
    pub series: i64,
    /// Run; needed for outliers and level shifts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Uuid>,
    /// What.
    pub kind: AnnotationKind,
    /// Why; 1 to 400 characters.
    pub reason: String,
}

/// A series got worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Alert {
    /// Number.
    pub id: i64,
    /// Series.
    pub series: Series,
    /// Run in which it was seen.
    pub run: Uuid,
    /// Run that it was measured against.
    pub against: Uuid,
    /// New level to old level.
    pub ratio: f64,
    /// p after correction.
    pub p: f64,
    /// Where it stands.
    pub state: AlertState,
    /// Run that confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<Uuid>,
    /// When it was seen.
    #[serde(with = "time::serde::rfc3339")]
    pub opened_at: OffsetDateTime,
    /// When it last changed.
    #[serde(with = "time::serde::rfc3339")]
    pub changed_at: OffsetDateTime,
    /// Who changed it; empty: a run did.
    pub changed_by: String,
    /// Why it was acknowledged or muted.
    pub reason: String,
}

/// Where an alert stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AlertState {
    /// Seen once.
    Open,
    /// A second run shows it, too.
    Confirmed,
    /// Somebody knows.
    Acknowledged,
    /// Not to be told again.
    Muted,
    /// A later run does not show it.
    Gone,
}

/// `POST /api/v1/bench/alerts/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeAlert {
    /// `acknowledged`, `muted`, or `open` to take either back.
    pub state: AlertState,
    /// Why; up to 400 characters.
    #[serde(default)]
    pub reason: String,
}
