//! Which series a cell belongs to.

use std::collections::BTreeMap;

use fleethold_bench_model::matrix::{COMPARED, Matrix, Metric, Row};
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
        // The before side is the after code of another build, not the older idea.
        if side == Side::Before && matrix.parameters.contains_key(COMPARED) {
            add("compared", "builds");
        }
        let knob = match matrix.knob.as_str() {
            taken @ ("scenario" | "control" | "quick" | "cold" | "stacks" | "compared") => {
                format!("knob {taken}")
            }
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

#[cfg(test)]
mod tests {
    use fleethold_bench_model::import::{Content, import};

    use super::*;

    /// `before` and `after` of the one cell of a run with these parameters.
    fn identities(parameters: &str, change: impl FnOnce(&mut BenchMeta)) -> [Identity; 2] {
        let text = format!(
            r#"{{"format": "fleethold-bench", "version": 1, "run": {{"workload": "w", "knob": "cold",
            "parameters": {{{parameters}}}, "scenarios": [{{"name": "s", "legend": ""}}],
            "metrics": [{{"name": "time", "unit": "s", "better": "lower", "judged": true}}],
            "rows": [{{"scenario": "s", "value": "4", "control": true, "cells": [
                {{"metric": "time", "samples": {{"order": "BA", "values": [1, 2]}}}}]}}],
            "before": {{"label": "b"}}, "after": {{"label": "a"}}}}}}"#
        );
        let imported = import("w.json", text.as_bytes(), None).unwrap();
        let Content::Matrix(matrix) = imported.content.clone() else {
            panic!("{imported:?}");
        };
        let at = time::OffsetDateTime::UNIX_EPOCH;
        let run = super::super::new_run::NewBenchRun::imported(
            uuid::Uuid::nil(),
            at,
            "",
            "w.json",
            Vec::new(),
            imported,
        );
        let mut meta = run.meta;
        change(&mut meta);
        let (row, metric) = (&matrix.rows[0], &matrix.metrics[0]);
        Side::BOTH.map(|side| Identity::of_cell(&meta, &matrix, row, metric, side))
    }

    #[test]
    fn what_measures_something_else_is_another_series() {
        let [before, after] = identities("", |_| {});
        assert_eq!(after.key.parameters["knob cold"], "4", "names do not collide");
        assert_ne!(before.sha256(), after.sha256());
        // The seed and the load are no part of what was measured.
        assert_eq!(identities(r#""seed": "7", "quiet": "no""#, |_| {})[1], after);
        for parameters in [r#""cache": "cold""#, r#""stacks": "taken""#] {
            assert_ne!(identities(parameters, |_| {})[1], after, "{parameters}");
        }
        assert_ne!(identities("", |meta| meta.quick = true)[1], after);
        let [older, same] = identities(r#""compared": "the after code of two builds""#, |_| {});
        assert_ne!(older, before);
        assert_eq!(same, after);
    }
}
