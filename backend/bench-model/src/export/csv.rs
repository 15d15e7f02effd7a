//! CSV, one row a sample (RFC 4180, lines end with `\n`). Two comment lines carry what is no sample;
//! a third says so when the machine was busy.
//!
//! ```text
//! # fleethold-bench csv 1 samples=24
//! # {"workload":"restore",…}
//! scenario,value,control,metric,unit,side,sample
//! fast,8,no,time,s,before,1.25
//! ```

use std::fmt::Write as _;

use crate::export::{busy_comment, frame_json, sample_count};
use crate::matrix::Matrix;

/// First words of the file; ` samples=N` follows.
pub(crate) const MAGIC: &str = "# fleethold-bench csv 1";

/// The columns.
pub(crate) const COLUMNS: &str = "scenario,value,control,metric,unit,side,sample";

pub(super) fn export(matrix: &Matrix) -> String {
    let mut out = format!(
        "{MAGIC} samples={}\n# {}\n{}{COLUMNS}\n",
        sample_count(matrix),
        frame_json(matrix),
        busy_comment(matrix)
    );
    for row in &matrix.rows {
        let control = if row.control { "yes" } else { "no" };
        for cell in &row.cells {
            let unit = matrix
                .metric(&cell.metric)
                .map_or("", |metric| metric.unit.name());
            let head = format!(
                "{},{},{control},{},{unit}",
                field(&row.scenario),
                field(&row.value),
                field(&cell.metric)
            );
            for (side, value) in cell.samples.iter() {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "{head},{side},{value}");
            }
        }
    }
    out
}

/// A field, quoted where it has to be.
fn field(text: &str) -> String {
    if text.contains([',', '"']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
