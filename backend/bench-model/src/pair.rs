//! Two imported files as one matrix: the first is before, the second after.
//!
//! A workload becomes a scenario, its parameters the value of the knob `parameters`. A series that only one file has
//! stays in with its one side: it gets no verdict, but it is not hidden either.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::ImportedSeries;
use crate::matrix::{Cell, MAX_NAME, Matrix, MatrixError, Metric, Row, Scenario, Version};
use crate::sample::{SampleError, Samples};
use crate::series::SeriesKey;
use crate::unit::{Direction, Unit};
use crate::verdict::Rules;

/// Why two files make no matrix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// The result makes no sense, such as more rows than a matrix may have.
    #[error("pair two files: {0}")]
    Matrix(#[from] MatrixError),
    /// A value is no measurement.
    #[error("pair two files: {0}")]
    Sample(#[from] SampleError),
}

/// Where a series stands in the matrix: scenario, value of the knob, metric.
type Place = (String, String, String);

/// Pairs the series of two files by workload, parameters, metric and unit; samples of a key that stands twice in a
/// file follow each other.
///
/// # Errors
/// [`PairError`] when the result is no matrix: nothing in either file, or too much.
pub fn pair(
    before: (Version, &[ImportedSeries]),
    after: (Version, &[ImportedSeries]),
    rules: Rules,
) -> Result<Matrix, PairError> {
    let all = || before.1.iter().chain(after.1);
    let metrics = metrics(all().map(|series| &series.key));
    let mut order: Vec<Place> = Vec::new();
    let mut values: BTreeMap<Place, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, list) in [(0, before.1), (1, after.1)] {
        for series in list {
            let place = place(&series.key, &metrics);
            let sides = values.entry(place.clone()).or_insert_with(|| {
                order.push(place);
                Default::default()
            });
            if let Some(own) = sides.get_mut(side) {
                own.extend_from_slice(&series.values);
            }
        }
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for place in order {
        let [first, second] = values.remove(&place).unwrap_or_default();
        let (scenario, value, metric) = place;
        if !scenarios.iter().any(|known| known.name == scenario) {
            scenarios.push(Scenario {
                name: scenario.clone(),
                legend: "imported".to_owned(),
            });
        }
        let at = *known
            .entry((scenario.clone(), value.clone()))
            .or_insert(rows.len());
        if at == rows.len() {
            rows.push(Row {
                scenario,
                value,
                control: false,
                cells: Vec::new(),
                write_sizes: None,
            });
        }
        if let Some(row) = rows.get_mut(at) {
            row.cells.push(Cell {
                metric,
                samples: Samples::of_sides(&first, &second)?,
                noise_ratio: None,
            });
        }
    }
    let matrix = Matrix {
        workload: "imported".to_owned(),
        knob: "parameters".to_owned(),
        parameters: BTreeMap::new(),
        scenarios,
        metrics: metrics.into_values().collect(),
        rows,
        before: before.0,
        after: after.0,
        data_sha256: String::new(),
        permalink: None,
        quick: false,
        rules,
    };
    matrix.validate()?;
    Ok(matrix)
}

/// What makes two series of one metric different metrics of a matrix.
type Kind = (String, Unit, Direction);

fn kind(key: &SeriesKey) -> Kind {
    (clean(&key.metric), key.unit, key.better)
}

/// Metrics by kind. A name that comes in several units or directions is told apart by both.
fn metrics<'a>(keys: impl Iterator<Item = &'a SeriesKey>) -> BTreeMap<Kind, Metric> {
    let kinds: BTreeSet<Kind> = keys.map(kind).collect();
    let is_shared = |name: &str| kinds.iter().filter(|(other, ..)| other == name).count() > 1;
    kinds
        .iter()
        .map(|of| {
            let (name, unit, better) = of.clone();
            let metric = Metric {
                name: if is_shared(&name) {
                    clean(&format!("{name} [{unit}, {better}]"))
                } else {
                    name
                },
                unit,
                better,
                judged: true,
            };
            (of.clone(), metric)
        })
        .collect()
}

fn place(key: &SeriesKey, metrics: &BTreeMap<Kind, Metric>) -> Place {
    let parameters: Vec<String> = key
        .parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let metric = metrics
        .get(&kind(key))
        .map_or_else(String::new, |metric| metric.name.clone());
    (clean(&key.workload), clean(&parameters.join(" ")), metric)
}

/// A stranger's text as a name: without control characters, not empty, not too long.
fn clean(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if out.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        out.push(c);
    }
    if out.trim().is_empty() {
        "-".to_owned()
    } else {
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Comparison;
    use crate::verdict::Verdict;

    fn series(workload: &str, metric: &str, unit: Unit, values: &[f64]) -> ImportedSeries {
        ImportedSeries {
            key: SeriesKey::new(workload, metric, unit).with("n", "1"),
            values: values.to_vec(),
        }
    }

    fn version(label: &str) -> Version {
        Version {
            label: label.to_owned(),
            ..Version::default()
        }
    }

    #[test]
    fn two_files_become_one_comparison() {
        let slow = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05];
        let fast = slow.map(|value| value / 2.0);
        let before = [
            series("seq", "time", Unit::Seconds, &slow),
            series("seq\n2", "time", Unit::Milliseconds, &slow),
        ];
        let after = [series("seq", "time", Unit::Seconds, &fast)];
        let matrix = pair((version("a"), &before), (version("b"), &after), Rules::default()).unwrap();
        let names: Vec<&str> = matrix.metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["time [s, lower]", "time [ms, lower]"]);
        assert_eq!(matrix.rows[1].scenario, "seq 2");
        let comparison = Comparison::judge(&matrix).unwrap();
        let verdicts: Vec<_> = comparison
            .cells()
            .map(|(_, cell)| cell.verdict.unwrap())
            .collect();
        assert_eq!(
            verdicts,
            [Verdict::Faster, Verdict::Inconclusive { more_runs: 6 }]
        );
    }

    #[test]
    fn nothing_is_no_matrix() {
        assert!(pair((version("a"), &[]), (version("b"), &[]), Rules::default()).is_err());
    }
}
