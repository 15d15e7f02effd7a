//! Two runs as one matrix: what the first measured as after against what the second measured as after.

use crate::comparison::ComparisonError;
use crate::matrix::{Cell, Matrix, Metric, Row, Version};
use crate::sample::{Samples, Side};

/// Why two runs cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BetweenError {
    /// They measured different things.
    #[error("{what}: the first run has `{first}`, the second `{second}`")]
    Different {
        /// What differs.
        what: &'static str,
        /// In the first.
        first: String,
        /// In the second.
        second: String,
    },
    /// No scenario, value and metric is in both.
    #[error("the two runs have no scenario, value and metric in common")]
    NothingInCommon,
    /// They make no comparison.
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
}

/// The after sides of two runs of one workload on the same data, side by side, by the rules of the second. Rows and
/// metrics that only one of them has are left out.
///
/// # Errors
/// [`BetweenError`]
pub fn between(first: (&str, &Matrix), second: (&str, &Matrix)) -> Result<Matrix, BetweenError> {
    let ((first_name, first), (second_name, second)) = (first, second);
    for (what, a, b) in [
        ("workload", &first.workload, &second.workload),
        ("knob", &first.knob, &second.knob),
        ("data_sha256", &first.data_sha256, &second.data_sha256),
    ] {
        if a != b {
            return Err(BetweenError::Different {
                what,
                first: a.clone(),
                second: b.clone(),
            });
        }
    }
    let metrics: Vec<Metric> = second
        .metrics
        .iter()
        .filter(|metric| {
            first
                .metric(&metric.name)
                .is_some_and(|known| known.unit == metric.unit)
        })
        .cloned()
        .collect();
    let rows: Vec<Row> = second
        .rows
        .iter()
        .filter_map(|row| joined(first, row, &metrics))
        .collect();
    if rows.is_empty() {
        return Err(BetweenError::NothingInCommon);
    }
    let version = |name: &str, of: &Version| Version {
        label: name.to_owned(),
        ..of.clone()
    };
    Ok(Matrix {
        metrics: metrics
            .into_iter()
            .filter(|metric| {
                rows.iter()
                    .any(|row| row.cells.iter().any(|cell| cell.metric == metric.name))
            })
            .collect(),
        scenarios: second
            .scenarios
            .iter()
            .filter(|scenario| rows.iter().any(|row| row.scenario == scenario.name))
            .cloned()
            .collect(),
        rows,
        before: version(first_name, &first.after),
        after: version(second_name, &second.after),
        quick: first.quick || second.quick,
        permalink: None,
        ..second.clone()
    })
}

/// A row of the second run with the first's samples beside its own.
fn joined(first: &Matrix, row: &Row, metrics: &[Metric]) -> Option<Row> {
    let known = first
        .rows
        .iter()
        .find(|known| known.scenario == row.scenario && known.value == row.value)?;
    let join = |cell: &Cell| {
        let before = known.cells.iter().find(|known| known.metric == cell.metric)?;
        metrics.iter().find(|metric| metric.name == cell.metric)?;
        let (before, after) = (before.samples.side(Side::After), cell.samples.side(Side::After));
        // The samples were checked when they were first made.
        let samples = Samples::of_sides(&before, &after).ok()?;
        Some(Cell {
            samples,
            ..cell.clone()
        })
    };
    let cells: Vec<Cell> = row.cells.iter().filter_map(join).collect();
    (!cells.is_empty()).then(|| Row {
        cells,
        write_sizes: None,
        ..row.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Scenario;
    use crate::unit::{Direction, Unit};
    use crate::verdict::Rules;

    fn run(scenarios: &[&str], after: &[f64]) -> Matrix {
        let row = |scenario: &&str| Row {
            scenario: (*scenario).to_owned(),
            value: "1".to_owned(),
            control: true,
            cells: vec![Cell {
                metric: "time".to_owned(),
                samples: Samples::of_sides(&[9.0; 6], after).unwrap(),
                noise_ratio: None,
            }],
            write_sizes: None,
        };
        Matrix {
            workload: "restore".to_owned(),
            knob: "concurrency".to_owned(),
            parameters: Default::default(),
            scenarios: scenarios
                .iter()
                .map(|name| Scenario {
                    name: (*name).to_owned(),
                    legend: "a test".to_owned(),
                })
                .collect(),
            metrics: vec![Metric {
                name: "time".to_owned(),
                unit: Unit::Seconds,
                better: Direction::Lower,
                judged: true,
            }],
            rows: scenarios.iter().map(row).collect(),
            before: Version::default(),
            after: Version::default(),
            data_sha256: "ab".repeat(32),
            permalink: None,
            quick: false,
            rules: Rules::default(),
        }
    }

    #[test]
    fn the_after_sides_stand_side_by_side() {
        let (old, new) = (run(&["fast", "far"], &[4.0; 6]), run(&["far", "new"], &[2.0; 6]));
        let matrix = between(("v1", &old), ("v2", &new)).unwrap();
        matrix.validate().unwrap();
        let rows: Vec<&str> = matrix.rows.iter().map(|row| &*row.scenario).collect();
        assert_eq!(rows, ["far"]);
        let samples = &matrix.rows[0].cells[0].samples;
        assert_eq!(samples.side(Side::Before), [4.0; 6]);
        assert_eq!(samples.side(Side::After), [2.0; 6]);
        assert_eq!((&*matrix.before.label, &*matrix.after.label), ("v1", "v2"));
    }

    #[test]
    fn other_data_is_no_comparison() {
        let old = run(&["fast"], &[4.0; 6]);
        let mut new = old.clone();
        new.data_sha256 = "cd".repeat(32);
        let error = between(("v1", &old), ("v2", &new)).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("data_sha256: the first run has `abab"),
            "{error}"
        );
        let other = run(&["far"], &[4.0; 6]);
        assert_eq!(
            between(("v1", &old), ("v2", &other)),
            Err(BetweenError::NothingInCommon)
        );
    }
}
