//! Two runs as one matrix: what the first measured as after against what the second measured as after.

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::ComparisonError;
use crate::matrix::{COMPARED, Cell, Matrix, Metric, Row, Version, load};
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

/// What a run was measured under, and what a run says that does not say it: runs that differ there are no comparison.
const CONDITIONS: [(&str, &str); 3] = [("cache", "warm"), ("stacks", "not kept"), (COMPARED, "two ideas")];

/// The after sides of two runs of one workload on the same data, measured under the same conditions, side by side, by the
/// rules of the second. Rows and metrics that only one of them has are left out. The result was quiet and complete when
/// both were; of other parameters that differ it has both values.
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
    let quick = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let conditions = CONDITIONS.map(|(what, absent)| {
        let of = |run: &Matrix| run.parameters.get(what).map_or(absent, String::as_str).to_owned();
        (what, of(first), of(second))
    });
    let conditions = conditions
        .into_iter()
        .chain([("quick", quick(first.quick), quick(second.quick))]);
    for (what, first, second) in conditions {
        if first != second {
            return Err(BetweenError::Different { what, first, second });
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
        .map(|metric| Metric {
            judged: metric.judged && first.metric(&metric.name).is_some_and(|known| known.judged),
            ..metric.clone()
        })
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
        parameters: parameters(&first.parameters, &second.parameters),
        permalink: None,
        ..second.clone()
    })
}

fn parameters(
    first: &BTreeMap<String, String>,
    second: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let joined = |name: &String| {
        let both = [first.get(name), second.get(name)];
        let of = |value: Option<&String>| value.map_or("unknown", String::as_str).to_owned();
        match (name.as_str(), both) {
            (load::QUIET | "complete", _) if both.iter().flatten().any(|value| *value == load::NO) => {
                load::NO.to_owned()
            }
            (_, [one, other]) if one == other => of(one),
            (load::QUIET | "complete", _) => "unknown".to_owned(),
            (_, [one, other]) => format!("{} / {}", of(one), of(other)),
        }
    };
    names
        .into_iter()
        .map(|name| (name.clone(), joined(name)))
        .collect()
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
                    aside: false,
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

    #[test]
    fn other_conditions_are_no_comparison() {
        let warm = run(&["fast"], &[4.0; 6]);
        let refused = |first: &Matrix, second: &Matrix| {
            between(("v1", first), ("v2", second))
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        for (name, value, other) in [
            ("cache", "cold", "warm"),
            ("stacks", "taken while it was measured", "not kept"),
            ("compared", "the after code of two builds", "two ideas"),
        ] {
            let mut changed = warm.clone();
            changed.parameters.insert(name.to_owned(), value.to_owned());
            assert_eq!(
                refused(&changed, &warm),
                format!("{name}: the first run has `{value}`, the second `{other}`")
            );
            assert_eq!(refused(&changed, &changed), "");
        }
        let quick = Matrix {
            quick: true,
            ..warm.clone()
        };
        assert_eq!(
            refused(&quick, &warm),
            "quick: the first run has `yes`, the second `no`"
        );
        let mut said = warm.clone();
        said.parameters.insert("cache".to_owned(), "warm".to_owned());
        assert_eq!(
            refused(&said, &warm),
            "",
            "warm is what a run is that does not say"
        );
    }

    #[test]
    fn what_was_quiet_in_one_run_only_was_not_quiet() {
        let with = |quiet: &str, others: &str, seed: &str| {
            let mut matrix = run(&["fast"], &[4.0; 6]);
            let facts = [
                ("quiet", quiet),
                ("load_of_others", others),
                ("seed", seed),
                ("warm_up", "1"),
            ];
            matrix.parameters = facts
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
            matrix
        };
        let (busy, quiet) = (with("no", "40.0 %", "1"), with("yes", "2.0 %", "2"));
        for (first, second) in [(&busy, &quiet), (&quiet, &busy)] {
            let matrix = between(("v1", first), ("v2", second)).unwrap();
            assert_eq!(matrix.parameters["quiet"], "no");
            assert!(
                matrix.busy().is_some() && matrix.judged_cells() == 0,
                "{matrix:?}"
            );
        }
        let matrix = between(("v1", &busy), ("v2", &quiet)).unwrap();
        assert_eq!(matrix.parameters["load_of_others"], "40.0 % / 2.0 %");
        assert_eq!(matrix.parameters["seed"], "1 / 2");
        assert_eq!(matrix.parameters["warm_up"], "1");
        assert_eq!(
            between(("v1", &quiet), ("v2", &quiet)).unwrap().parameters["quiet"],
            "yes"
        );
    }
}
