//! Which series a cell belongs to.

use std::collections::BTreeMap;

use fleethold_bench_model::matrix::{Matrix, Metric, Row};
use fleethold_bench_model::sample::Side;
use fleethold_bench_model::series::SeriesKey;

use super::new_run::{BenchMeta, hex_sha256};

/// Identity of one side of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) key: SeriesKey,
    pub(super) side: Side,
}

impl Identity {
    /// Hash over all of it, for the unique index.
    pub(super) fn sha256(&self) -> String {
        // Text keys and a fixed order of fields: equal identities have equal texts.
        let text = serde_json::to_vec(&(&self.key, self.side)).unwrap_or_default();
        hex_sha256(&text)
    }

    /// Of `side` of the cell of `metric` in `row`.
    pub(super) fn of_cell(meta: &BenchMeta, matrix: &Matrix, row: &Row, metric: &Metric, side: Side) -> Self {
        let version = match side {
            Side::Before => &matrix.before,
            Side::After => &matrix.after,
        };
        let mut parameters = BTreeMap::new();
        let mut add = |name: &str, value: &str| {
            parameters.insert(name.to_owned(), value.to_owned());
        };
        add("scenario", &row.scenario);
        // A control row is the default of its sweep and the same measurement, unless both stand beside each other.
        if row.control && has_twin(matrix, row) {
            add("control", "yes");
        }
        // Other data or another cache: not the same measurement.
        if meta.quick {
            add("quick", "yes");
        }
        if meta.cold {
            add("cold", "yes");
        }
        // Taking stacks costs time.
        if matrix.parameters.contains_key("stacks") {
            add("stacks", "yes");
        }
        let knob = match matrix.knob.as_str() {
            taken @ ("scenario" | "control" | "quick" | "cold" | "stacks") => format!("knob {taken}"),
            free => free.to_owned(),
        };
        add(&knob, &row.value);
        Self {
            key: SeriesKey {
                workload: matrix.workload.clone(),
                parameters,
                metric: metric.name.clone(),
                unit: metric.unit,
                better: metric.better,
                machine_class: version.machine_class.clone(),
            },
            side,
        }
    }
}

fn has_twin(matrix: &Matrix, row: &Row) -> bool {
    matrix
        .rows
        .iter()
        .any(|other| !other.control && other.scenario == row.scenario && other.value == row.value)
}
