//! Own JSON: the matrix under `run`, and what was concluded under `results`, for readers. An import takes `run` only
//! and judges again, so a file cannot claim a verdict that its samples do not support. `run_id`
//! and `started_at` say where it comes from, when that is known.

use serde_json::{Value, json};

use super::Origin;
use crate::comparison::{Comparison, JudgedCell, Summary};
use crate::matrix::Row;

/// Value of `format`.
pub(crate) const FORMAT: &str = "fleethold-bench";

/// Value of `version`.
pub(crate) const VERSION: u64 = 1;

pub(super) fn export(comparison: &Comparison<'_>, origin: &Origin, floors: Option<&Value>) -> String {
    let results: Vec<Value> = comparison.cells().map(|(row, cell)| result(row, cell)).collect();
    let mut document = json!({
        "format": FORMAT,
        "version": VERSION,
        "run": comparison.matrix,
        "judged_cells": comparison.judged_cells,
        "cpu_time_only": comparison.matrix.busy(),
        "across_machines": comparison.across_machines,
        "machines_known": comparison.machines_known(),
        "environment_differences": comparison
            .environment
            .iter()
            .map(|fact| json!({"name": fact.name, "before": fact.before, "after": fact.after}))
            .collect::<Vec<_>>(),
        "results": results,
    });
    for (name, value) in [("run_id", &origin.run_id), ("started_at", &origin.started_at)] {
        if let (Some(value), Some(fields)) = (value, document.as_object_mut()) {
            fields.insert(name.to_owned(), value.as_str().into());
        }
    }
    if let (Some(floors), Some(fields)) = (floors, document.as_object_mut()) {
        fields.insert("floors".to_owned(), floors.clone());
    }
    // A value with text keys always has a text.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Infinite ends of an interval have no JSON number and become null.
fn result(row: &Row, cell: &JudgedCell<'_>) -> Value {
    json!({
        "scenario": row.scenario,
        "value": row.value,
        "control": row.control,
        "metric": cell.metric.name,
        "unit": cell.metric.unit,
        "before": cell.before.map(side),
        "after": cell.after.map(side),
        "ratio": cell.ratio.map(|ratio| json!({
            "estimate": ratio.estimate(),
            "low": ratio.low(),
            "high": ratio.high(),
            "confidence": ratio.attained,
        })),
        "p": cell.p,
        "adjusted_p": cell.adjusted_p,
        "threshold_ratio": cell.threshold_ratio,
        "verdict": cell.verdict,
    })
}

fn side(summary: Summary) -> Value {
    json!({
        "runs": summary.runs,
        "min": summary.min,
        "lower_quartile": summary.lower_quartile,
        "median": summary.median,
        "upper_quartile": summary.upper_quartile,
        "max": summary.max,
        "mad": summary.mad,
        "two_peaks": summary.two_peaks.map(|peaks| json!({
            "lower": peaks.lower,
            "upper": peaks.upper,
            "lower_share": peaks.lower_share,
        })),
    })
}
