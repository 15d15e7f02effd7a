//! A run as the matrix that is judged, stored and printed.

use std::collections::BTreeMap;

use fleethold_bench_model::matrix::{Cell as MatrixCell, Matrix, Metric, Row, Scenario, Version, load};
use fleethold_bench_model::verdict::Rules;

use crate::cell::Cell;
use crate::data::DataSet;
use crate::definition::Definition;
use crate::environment::Environment;
use crate::runner::{Measurements, RunOptions};

/// Puts a run together.
pub fn matrix(
    definition: &Definition,
    options: &RunOptions,
    data: &DataSet,
    environment: &Environment,
    measured: &Measurements,
) -> Matrix {
    let side = |label: &str| Version {
        label: label.to_owned(),
        machine_class: environment.machine_class.clone(),
        environment: environment.facts.clone(),
    };
    let scenarios = definition
        .scenarios
        .iter()
        .filter(|scenario| {
            measured
                .series
                .iter()
                .any(|series| series.cell.scenario == scenario.name)
        })
        .map(|scenario| Scenario {
            name: scenario.name.clone(),
            legend: scenario.legend.clone(),
            aside: scenario.aside,
        });
    let metrics = metrics(definition, measured);
    Matrix {
        workload: definition.name.clone(),
        knob: definition.knob.name.clone(),
        parameters: parameters(definition, options, measured),
        scenarios: scenarios.collect(),
        rows: rows(definition, measured, &metrics),
        metrics,
        before: side(&definition.before),
        after: side(&definition.after),
        data_sha256: data.sha256.clone(),
        permalink: None,
        quick: options.quick,
        rules: Rules::default(),
    }
}

fn parameters(
    definition: &Definition,
    options: &RunOptions,
    measured: &Measurements,
) -> BTreeMap<String, String> {
    let percent =
        |share: Option<f64>| share.map_or("unknown".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let yes_no = |is: bool| if is { load::YES } else { load::NO }.to_owned();
    // What the short version does less of stands beside its figures.
    let less = definition.quick.parameters.iter().filter(|_| options.quick);
    let mut all: BTreeMap<String, String> = less
        .map(|(name, value)| (format!("quick_{name}"), value.clone()))
        .collect();
    all.extend(measured.notes.clone());
    if let Some(share) = &definition.share {
        let text = format!("{} by that of {}, round by round", share.of, share.limit);
        all.insert(share.metric.clone(), text);
    }
    all.extend(
        measured
            .failure
            .iter()
            .map(|reason| ("failure".to_owned(), reason.clone())),
    );
    all.extend(
        [
            ("seed", options.seed.to_string()),
            ("warm_up", options.warm_up.to_string()),
            (load::OTHERS, percent(measured.load.others)),
            (load::STEAL, percent(measured.load.steal)),
            (load::QUIET, yes_no(measured.load.quiet)),
            ("complete", yes_no(measured.complete)),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    all
}

fn metrics(definition: &Definition, measured: &Measurements) -> Vec<Metric> {
    let order = definition.kind.workload().metrics;
    let mut metrics: BTreeMap<(usize, &str), Metric> = BTreeMap::new();
    for series in &measured.series {
        // What another build measures beside them follows by name.
        let place = order.iter().position(|name| *name == series.metric);
        let place = place.unwrap_or(order.len());
        metrics.entry((place, &series.metric)).or_insert_with(|| Metric {
            name: series.metric.clone(),
            unit: series.unit,
            better: series.better,
            // On a busy machine the matrix itself refuses to judge times on the wall.
            judged: definition.judged.contains(&series.metric),
        });
    }
    metrics.into_values().collect()
}

fn rows(definition: &Definition, measured: &Measurements, metrics: &[Metric]) -> Vec<Row> {
    let mut cells: Vec<&Cell> = measured.series.iter().map(|series| &series.cell).collect();
    cells.dedup();
    let row = |cell: &Cell| Row {
        scenario: cell.scenario.clone(),
        value: cell.knob.1.clone(),
        control: cell.knob.1 == definition.knob.default,
        // In the order of the tables.
        cells: metrics
            .iter()
            .filter_map(|metric| {
                let mut series = measured.series.iter();
                series.find(|series| series.cell == *cell && series.metric == metric.name)
            })
            .map(|series| MatrixCell {
                metric: series.metric.clone(),
                samples: series.samples.clone(),
                noise_ratio: None,
            })
            .collect(),
        write_sizes: None,
    };
    cells.into_iter().map(row).collect()
}
