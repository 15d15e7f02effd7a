//! Floors of a run as the API shows them.

use std::collections::BTreeMap;

use fleethold_api_types::bench::{FloorReport, FloorState};
use fleethold_bench::definition::{Definition, FloorOf};
use fleethold_bench::floors::{FloorOutcome, FloorResult, Sides, check};
use fleethold_bench::guard::LoadReport;
use fleethold_bench::measure::cells;
use fleethold_bench::runner::{Measurements, Series};
use fleethold_bench_model::matrix::{COMPARED, Matrix};

/// What became of the floors of `definition` in a run.
#[must_use]
pub fn of_measurements(definition: &Definition, measured: &Measurements) -> Vec<FloorReport> {
    reports(definition, &check(definition, measured, Sides::Ideas))
}

/// Results in the form of the API.
#[must_use]
pub fn reports(definition: &Definition, results: &[FloorResult]) -> Vec<FloorReport> {
    results
        .iter()
        .map(|result| report(&definition.name, result))
        .collect()
}

/// The same for a run that comes back as a matrix.
#[must_use]
pub fn of_matrix(definition: &Definition, matrix: &Matrix, load: LoadReport) -> Vec<FloorReport> {
    let fields = cells(definition, false);
    let series = matrix.rows.iter().flat_map(|row| {
        let field = fields
            .iter()
            .find(|field| field.scenario == row.scenario && field.knob.1 == row.value);
        row.cells.iter().filter_map(move |cell| {
            let metric = matrix.metric(&cell.metric)?;
            Some(Series {
                cell: field?.clone(),
                metric: cell.metric.clone(),
                unit: metric.unit,
                better: metric.better,
                samples: cell.samples.clone(),
            })
        })
    });
    let measured = Measurements {
        series: series.collect(),
        complete: true,
        failure: None,
        load,
        attachments: Vec::new(),
        notes: BTreeMap::new(),
    };
    reports(definition, &check(definition, &measured, sides_of(matrix)))
}

/// What the sides of a run are that comes back.
#[must_use]
pub fn sides_of(matrix: &Matrix) -> Sides {
    if matrix.parameters.contains_key(COMPARED) {
        Sides::Builds
    } else {
        Sides::Ideas
    }
}

fn report(workload: &str, result: &FloorResult) -> FloorReport {
    let floor = &result.floor;
    let place = result
        .cell
        .as_ref()
        .map_or_else(String::new, |cell| format!(" {cell}"));
    let of = match floor.of {
        FloorOf::After => "",
        FloorOf::Before => " before",
        FloorOf::Gain => " gain",
    };
    let (state, value, margin) = match result.outcome {
        FloorOutcome::Judged { value, margin, met } => {
            let state = if met { FloorState::Met } else { FloorState::Missed };
            (state, Some(value), Some(margin))
        }
        FloorOutcome::Skipped | FloorOutcome::TwoBuilds => (FloorState::Skipped, None, None),
        FloorOutcome::NotMeasured => (FloorState::NotMeasured, None, None),
    };
    FloorReport {
        text: format!(
            "{workload} {}{of}{place} {} {}",
            floor.metric,
            floor.op.sign(),
            floor.value
        ),
        why: floor.why.clone(),
        state,
        value,
        margin,
    }
}

#[cfg(test)]
mod tests {
    use fleethold_bench::data::DataSet;
    use fleethold_bench::environment::Environment;
    use fleethold_bench::record;
    use fleethold_bench::runner::RunOptions;
    use fleethold_bench_model::sample::Samples;
    use fleethold_bench_model::unit::{Direction, Unit};

    use super::*;

    #[test]
    fn a_run_that_comes_back_has_the_same_floors() {
        let (definition, _) = Definition::load("lookup").unwrap();
        let load = LoadReport {
            others: Some(0.0),
            steal: Some(0.0),
            quiet: true,
        };
        let series = cells(&definition, true).into_iter().map(|cell| Series {
            cell,
            metric: "lookup".to_owned(),
            unit: Unit::Nanoseconds,
            better: Direction::Lower,
            samples: Samples::of_sides(&[9e6, 1e7, 2e7], &[50.0, 60.0, 70.0]).unwrap(),
        });
        let measured = Measurements {
            series: series.collect(),
            complete: true,
            failure: None,
            load,
            attachments: Vec::new(),
            notes: BTreeMap::new(),
        };
        let data = DataSet {
            dir: "data".into(),
            sha256: String::new(),
        };
        let environment = Environment {
            machine_class: "a class".to_owned(),
            facts: BTreeMap::new(),
        };
        let options = RunOptions::new(true, 1).settled(&definition);
        let matrix = record::matrix(&definition, &options, &data, &environment, &measured);
        let reports = of_measurements(&definition, &measured);
        assert!(
            reports.iter().any(|report| report.state == FloorState::Met),
            "{reports:?}"
        );
        assert_eq!(of_matrix(&definition, &matrix, load), reports);

        // A gain of one build against another says nothing about the idea.
        let mut builds = matrix;
        builds
            .parameters
            .insert(COMPARED.to_owned(), "two builds".to_owned());
        let of_builds = of_matrix(&definition, &builds, load);
        assert!(
            of_builds
                .iter()
                .all(|report| !report.text.contains(" gain") || report.state == FloorState::Skipped),
            "{of_builds:?}"
        );
    }
}
