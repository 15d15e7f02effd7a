//! One comparison as text: mail, Markdown, CSV, JSON, Go benchmark text, HTML. All say the same.
//!
//! JSON, CSV and Go text carry the whole matrix, and [`mod@crate::import`] reads back what they wrote, bit by bit.

use std::fmt;
use std::str::FromStr;

use crate::comparison::Comparison;
use crate::matrix::Matrix;
use crate::text::quote;

mod csv;
mod go_bench;
mod html;
mod json;
mod mail;
mod markdown;
pub(crate) mod show;
mod strip;

pub(crate) use csv::{COLUMNS as CSV_COLUMNS, MAGIC as CSV_MAGIC};
pub(crate) use go_bench::{MAGIC as GO_MAGIC, benchmark_name, unit_token};
pub(crate) use json::{FORMAT as JSON_FORMAT, VERSION as JSON_VERSION};

/// Text columns of a mail at most.
pub const MAIL_COLUMNS: usize = 76;

/// An export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExportFormat {
    /// Plain ASCII, at most 76 columns, no tabs.
    Mail,
    /// One table a scenario.
    Markdown,
    /// One row a sample.
    Csv,
    /// The matrix, and the verdicts for readers.
    Json,
    /// `go test -bench` text, one line a sample; `benchstat -col side` compares the sides.
    GoBench,
    /// A single file without scripts and without anything from outside.
    Html,
}

impl ExportFormat {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Mail,
        Self::Markdown,
        Self::Csv,
        Self::Json,
        Self::GoBench,
        Self::Html,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Markdown => "markdown",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::GoBench => "gobench",
            Self::Html => "html",
        }
    }

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Mail | Self::GoBench => "text/plain; charset=utf-8",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Json => "application/json",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no export format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("export format `{found}`: expected mail, markdown, csv, json, gobench or html")]
pub struct UnknownExportFormat {
    /// What stood there, shortened.
    pub found: String,
}

impl FromStr for ExportFormat {
    type Err = UnknownExportFormat;

    fn from_str(text: &str) -> Result<Self, UnknownExportFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownExportFormat { found: quote(text) })
    }
}

/// Where a matrix comes from, when it is one kept run: own JSON carries it, so that an import elsewhere keeps its date.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// Id of the run.
    pub run_id: Option<String>,
    /// When measuring began, RFC 3339.
    pub started_at: Option<String>,
}

/// `comparison` in `format`; lines end with `\n`.
pub fn export(comparison: &Comparison<'_>, format: ExportFormat) -> String {
    export_of(comparison, format, &Origin::default())
}

/// As [`export`], of a run whose origin is known.
pub fn export_of(comparison: &Comparison<'_>, format: ExportFormat, origin: &Origin) -> String {
    match format {
        ExportFormat::Mail => mail::export(comparison),
        ExportFormat::Markdown => markdown::export(comparison),
        ExportFormat::Csv => csv::export(comparison.matrix),
        ExportFormat::Json => json::export(comparison, origin, None),
        ExportFormat::GoBench => go_bench::export(comparison.matrix),
        ExportFormat::Html => html::export(comparison),
    }
}

/// Own JSON with what became of the workload's floors beside the results, for readers: an import judges again.
pub fn export_json_with_floors(
    comparison: &Comparison<'_>,
    origin: &Origin,
    floors: &serde_json::Value,
) -> String {
    json::export(comparison, origin, Some(floors))
}

/// The line of the formats that have one line a sample which says that times on the wall mean nothing here.
pub(crate) fn busy_comment(matrix: &Matrix) -> String {
    let line = |text: String| format!("# {}\n", text.replace(char::is_control, " "));
    matrix.busy().map(line).unwrap_or_default()
}

/// The matrix without its samples: the head of the formats that have one line a sample. One line of JSON.
pub(crate) fn frame_json(matrix: &Matrix) -> String {
    let mut frame = matrix.clone();
    for cell in frame.rows.iter_mut().flat_map(|row| &mut row.cells) {
        cell.samples = crate::sample::Samples::new(cell.samples.order_seed());
    }
    serde_json::to_string(&frame).unwrap_or_default()
}

/// Number of samples of all cells.
pub(crate) fn sample_count(matrix: &Matrix) -> usize {
    matrix
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .map(|cell| cell.samples.len())
        .sum()
}
