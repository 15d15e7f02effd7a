//! Two imported files as one matrix: the first is before, the second after.
//!
//! A workload becomes a scenario, its parameters the value of the knob `parameters`. A series that only one file has
//! stays in with its one side: it gets no verdict, but it is not hidden either.
//!
//! Judged is what a benchmark is about: times as mean or median, throughput and rates. Extremes, deviations, tails and
//! counters are shown without a verdict: each of them would take its share of the correction and be no news of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::ImportedSeries;
use crate::matrix::{Cell, MAX_NAME, Matrix, MatrixError, Metric, Row, Scenario, Version};
use crate::sample::{SampleError, Samples};
use crate::series::SeriesKey;
use crate::unit::{Dimension, Direction, Unit};
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
    let machines = [machines(before.1), machines(after.1)];
    // Only then are they told apart: usually a file is of one machine, and the other file of another.
    let has_many = machines.iter().any(|of| of.len() > 1);
    let mut order: Vec<Place> = Vec::new();
    let mut values: BTreeMap<Place, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, list) in [(0, before.1), (1, after.1)] {
        for series in list {
            let place = place(&series.key, &metrics, has_many);
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
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for place in order {
        let [first, second] = values.remove(&place).unwrap_or_default();
        let (scenario, value, metric) = place;
        if named.insert(scenario.clone()) {
            scenarios.push(Scenario {
                aside: false,
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
    let [on_before, on_after] = machines;
    let matrix = Matrix {
        workload: "imported".to_owned(),
        knob: "parameters".to_owned(),
        parameters: BTreeMap::new(),
        scenarios,
        metrics: metrics.into_values().collect(),
        rows,
        before: on(before.0, &on_before),
        after: on(after.0, &on_after),
        data_sha256: String::new(),
        permalink: None,
        quick: false,
        rules,
    };
    matrix.validate()?;
    Ok(matrix)
}

/// The machines that a file names; of a series without one the empty name.
fn machines(list: &[ImportedSeries]) -> BTreeSet<&str> {
    list.iter()
        .map(|series| series.key.machine_class.as_str())
        .collect()
}

/// A side with the machines of its file, unless it is known better.
fn on(side: Version, machines: &BTreeSet<&str>) -> Version {
    if !side.machine_class.is_empty() || machines.iter().all(|name| name.is_empty()) {
        return side;
    }
    let names: Vec<&str> = machines
        .iter()
        .map(|name| if name.is_empty() { "not known" } else { *name })
        .collect();
    Version {
        machine_class: clean(&names.join("; ")),
        ..side
    }
}

/// Names of metrics that judge as they are: github-action-benchmark has no other name for what it measures.
const MAIN: [&str; 1] = ["value"];
/// Words in the name of a metric that is beside the point: extremes, deviations, progress, how long the test was set to
/// run.
const BESIDE: [&str; 8] = [
    "min",
    "max",
    "stddev",
    "stdev",
    "deviation",
    "progress",
    "runtime",
    "stalled",
];

/// Whether a metric is what a benchmark is about.
fn is_main(name: &str, unit: Unit) -> bool {
    if MAIN.contains(&name) {
        return true;
    }
    let is_tail = |word: &str| {
        word.strip_prefix('p')
            .and_then(|percent| percent.parse::<f64>().ok())
            .is_some_and(|percent| percent != 50.0)
    };
    matches!(
        unit.dimension(),
        Dimension::Time | Dimension::Throughput | Dimension::Rate
    ) && !name
        .split(['-', '_', ' ', '/'])
        .any(|word| BESIDE.contains(&word) || is_tail(word))
}

/// What makes two series of one metric different metrics of a matrix.
type Kind = (String, Unit, Direction);

fn kind(key: &SeriesKey) -> Kind {
    (clean(&key.metric), key.unit, key.better)
}

/// Metrics by kind. A name that comes in several units or directions is told apart by both.
fn metrics<'a>(keys: impl Iterator<Item = &'a SeriesKey>) -> BTreeMap<Kind, Metric> {
    let kinds: BTreeSet<Kind> = keys.map(kind).collect();
    // A file of counters alone is about its counters.
    let has_main = kinds.iter().any(|(name, unit, _)| is_main(name, *unit));
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, ..) in &kinds {
        *uses.entry(name).or_default() += 1;
    }
    let is_shared = |name: &str| uses.get(name).is_some_and(|uses| *uses > 1);
    kinds
        .iter()
        .map(|of| {
            let (name, unit, better) = of.clone();
            let judged = !has_main || is_main(&name, unit);
            let metric = Metric {
                name: if is_shared(&name) {
                    clean(&format!("{name} [{unit}, {better}]"))
                } else {
                    name
                },
                unit,
                better,
                judged,
            };
            (of.clone(), metric)
        })
        .collect()
}

fn place(key: &SeriesKey, metrics: &BTreeMap<Kind, Metric>, with_machine: bool) -> Place {
    let mut parameters: Vec<String> = key
        .parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if with_machine && !key.machine_class.is_empty() {
        parameters.push(format!("on {}", key.machine_class));
    }
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
    use crate::export::{ExportFormat, export};
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
    fn extremes_tails_and_counters_are_shown_without_a_verdict() {
        let judged = |metrics: &[(&str, Unit)]| -> Vec<String> {
            let list: Vec<ImportedSeries> = metrics
                .iter()
                .map(|(metric, unit)| series("w", metric, *unit, &[1.0]))
                .collect();
            let matrix = pair((version("a"), &list), (version("b"), &list), Rules::default()).unwrap();
            assert_eq!(matrix.rows.iter().flat_map(|row| &row.cells).count(), list.len());
            let judged = matrix.metrics.into_iter().filter(|metric| metric.judged);
            judged.map(|metric| metric.name).collect()
        };
        let fio = [
            ("bw_bytes", Unit::BytesPerSecond),
            ("iops", Unit::OperationsPerSecond),
            ("runtime", Unit::Milliseconds),
            ("io_bytes", Unit::Bytes),
            ("lat-min", Unit::Nanoseconds),
            ("lat-max", Unit::Nanoseconds),
            ("lat-mean", Unit::Nanoseconds),
            ("lat-stddev", Unit::Nanoseconds),
            ("clat-p50.000000", Unit::Nanoseconds),
            ("clat-p99.990000", Unit::Nanoseconds),
            ("ctx", Unit::Count),
        ];
        assert_eq!(judged(&fio), ["bw_bytes", "clat-p50.000000", "iops", "lat-mean"]);
        let time = [
            ("time", Unit::Seconds),
            ("user", Unit::CpuSeconds),
            ("max-rss", Unit::Kibibytes),
            ("minor-faults", Unit::Count),
        ];
        assert_eq!(judged(&time), ["time"]);
        assert_eq!(
            judged(&[("cycles", Unit::Cycles), ("faults", Unit::Count)]),
            ["cycles", "faults"]
        );
    }

    #[test]
    fn files_of_two_machines_are_not_compared_by_accident() {
        let on = |class: &str| {
            let mut one = series("w", "time", Unit::Seconds, &[1.0; 6]);
            one.key.machine_class = class.to_owned();
            [one]
        };
        let paired = |before: &str, after: &str, across_machines: bool| {
            let rules = Rules {
                across_machines,
                ..Rules::default()
            };
            pair((version("a"), &on(before)), (version("b"), &on(after)), rules).unwrap()
        };
        assert!(Comparison::judge(&paired("EPYC", "Xeon", false)).is_err());
        let across = paired("EPYC", "Xeon", true);
        assert!(Comparison::judge(&across).unwrap().across_machines);
        assert_eq!(across.rows[0].value, "n=1");
        let text = |matrix: &Matrix, format| export(&Comparison::judge(matrix).unwrap(), format);
        let unknown = paired("", "", false);
        let known = paired("EPYC", "EPYC", false);
        for format in [ExportFormat::Mail, ExportFormat::Markdown, ExportFormat::Html] {
            assert!(
                text(&unknown, format).contains("machines not known"),
                "{format:?}"
            );
            assert!(!text(&known, format).contains("machines not known"), "{format:?}");
        }
        assert!(text(&unknown, ExportFormat::Json).contains("\"machines_known\": false"));
        // A file of two machines keeps their samples apart.
        let both = [on("EPYC"), on("Xeon")].concat();
        let rules = Rules {
            across_machines: true,
            ..Rules::default()
        };
        let matrix = pair((version("a"), &both), (version("b"), &on("EPYC")), rules).unwrap();
        assert_eq!(matrix.before.machine_class, "EPYC; Xeon");
        assert_eq!(matrix.rows[0].value, "n=1 on EPYC");
        assert_eq!(matrix.rows.len(), 2);
    }

    #[test]
    fn nothing_is_no_matrix() {
        assert!(pair((version("a"), &[]), (version("b"), &[]), Rules::default()).is_err());
    }
}
