//! Go benchmark text (golang.org/design/14313-benchmark-format), one line a sample, sides as configuration.
//!
//! ```text
//! # fleethold-bench go 1 samples=24
//! # {"workload":"restore",…}
//! Unit time-sec/op better=lower
//! side: before
//! BenchmarkRestore/scenario=fast/concurrency=8/control=no 1 1.25 time-sec/op
//! ```
//!
//! `benchstat -col side FILE` prints the same medians. The two comment lines carry what is no sample; Go's tools
//! skip them.

use std::fmt::Write as _;

use crate::export::{busy_comment, frame_json, sample_count};
use crate::matrix::{Matrix, Metric, Row};
use crate::unit::Unit;

/// First words of the file; ` samples=N` follows.
pub(crate) const MAGIC: &str = "# fleethold-bench go 1";

pub(super) fn export(matrix: &Matrix) -> String {
    let mut out = format!(
        "{MAGIC} samples={}\n# {}\n{}",
        sample_count(matrix),
        frame_json(matrix),
        busy_comment(matrix)
    );
    for metric in &matrix.metrics {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "Unit {} better={}", unit_token(metric), metric.better);
    }
    let mut current = None;
    for row in &matrix.rows {
        let name = benchmark_name(matrix, row);
        for cell in &row.cells {
            let unit = matrix.metric(&cell.metric).map(unit_token).unwrap_or_default();
            for (side, value) in cell.samples.iter() {
                if current != Some(side) {
                    let _ = writeln!(out, "side: {side}");
                    current = Some(side);
                }
                let _ = writeln!(out, "{name} 1 {value} {unit}");
            }
        }
    }
    out
}

/// The unit of a metric as one word: two metrics of one unit have different words, and Go's tools know the base.
pub(crate) fn unit_token(metric: &Metric) -> String {
    let base = match metric.unit {
        Unit::Seconds => "sec",
        other => other.name(),
    };
    format!("{}-{base}/op", escape(&metric.name))
}

/// The name of a row: the workload, then scenario, knob and control as `/name=value`.
pub(crate) fn benchmark_name(matrix: &Matrix, row: &Row) -> String {
    let workload = escape(&matrix.workload);
    let mut letters = workload.chars();
    // Go knows a benchmark by a letter after the prefix that is not lower case.
    let first = letters.next().map(|c| c.to_ascii_uppercase()).unwrap_or_default();
    format!(
        "Benchmark{first}{}/scenario={}/{}={}/control={}",
        letters.as_str(),
        escape(&row.scenario),
        escape(&matrix.knob),
        escape(&row.value),
        if row.control { "yes" } else { "no" }
    )
}

/// Words of the format hold no spaces, slashes or equals signs; everything unusual is percent-encoded.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
