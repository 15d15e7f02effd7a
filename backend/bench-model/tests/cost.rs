//! What judging may cost, and that nothing is taken which cannot be judged.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "common/sweep.rs"]
mod sweep;

use fleethold_bench_model::comparison::{Comparison, ComparisonError, MAX_STEPS, check};
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::import::import;
use fleethold_bench_model::interval::{IntervalMethod, MAX_PAIRS};
use fleethold_bench_model::matrix::{MAX_CELLS, Matrix, Row};
use fleethold_bench_model::sample::Samples;
use sweep::restore;

/// One cell a row, with the same number of samples on both sides.
fn rows(count: usize, samples: usize) -> Matrix {
    let mut matrix = restore();
    let values: Vec<f64> = (0..samples).map(|n| 1.0 + (n % 7) as f64).collect();
    let mut cell = matrix.rows[0].cells[0].clone();
    cell.samples = Samples::of_sides(&values, &values).unwrap();
    let row = |number: usize| Row {
        value: number.to_string(),
        control: false,
        cells: vec![cell.clone()],
        write_sizes: None,
        ..restore().rows[0].clone()
    };
    matrix.rows = (0..count).map(row).collect();
    matrix
}

fn bootstrap(pairs: u32) -> IntervalMethod {
    IntervalMethod::Bootstrap { seed: 1, pairs }
}

/// Refused where it is judged and where it is read, with the same words.
#[track_caller]
fn refused(matrix: &Matrix) -> String {
    let error = Comparison::judge(matrix).map(|_| ()).unwrap_err();
    assert_eq!(check(matrix), Err(error.clone()));
    let run = serde_json::to_string(matrix).unwrap();
    let own = format!(r#"{{"format":"fleethold-bench","version":1,"run":{run}}}"#);
    let found = import("own.json", own.as_bytes(), None).unwrap_err();
    assert_eq!(found.found, error.to_string());
    error.to_string()
}

#[test]
fn a_stranger_cannot_ask_for_minutes() {
    let mut matrix = rows(400, 5_000);
    matrix.rules.interval = bootstrap(MAX_PAIRS);
    let error = refused(&matrix);
    for figure in [
        "400 cells",
        "4000000 samples",
        "80000000000 values",
        &MAX_STEPS.to_string(),
    ] {
        assert!(error.contains(figure), "{figure}: {error}");
    }
    // Few samples with ties are counted over all their orders: in thousands of cells, too much.
    let mut ties = rows(4096, 25);
    for row in &mut ties.rows {
        row.cells = (0..3)
            .map(|number| {
                let mut cell = row.cells[0].clone();
                cell.metric.clone_from(&restore().metrics[number].name);
                cell
            })
            .collect();
    }
    assert!(refused(&ties).starts_with("judge 12288 cells of 614400 samples: 0 values to draw"));
}

#[test]
fn what_people_measure_is_judged() {
    let mut matrix = rows(20, 30);
    matrix.rules.interval = bootstrap(1_000);
    assert_eq!(check(&matrix), Ok(()));
    let judged = Comparison::judge(&matrix).unwrap();
    let own = export(&judged, ExportFormat::Json);
    assert!(import("own.json", own.as_bytes(), None).is_ok());
    let mut million = restore();
    let values: Vec<f64> = (0..500_000).map(f64::from).collect();
    million.rows[0].cells[0].samples = Samples::of_sides(&values, &values).unwrap();
    assert_eq!(check(&million), Ok(()));
}

#[test]
fn what_cannot_be_judged_is_not_taken() {
    let mut long = rows(1, 10_001);
    long.rules.interval = bootstrap(1);
    assert!(refused(&long).ends_with("expected at most 10000 samples a side for the bootstrap"));

    let mut elsewhere = rows(1, 6);
    elsewhere.after.machine_class = "another class".to_owned();
    let error = Comparison::judge(&elsewhere).map(|_| ()).unwrap_err();
    assert!(matches!(error, ComparisonError::MachineClasses { .. }));
    assert!(refused(&elsewhere).contains("another class"));
    elsewhere.rules.across_machines = true;
    assert_eq!(check(&elsewhere), Ok(()));
}

#[test]
fn cells_are_counted() {
    let mut many = rows(MAX_CELLS / 16 + 1, 1);
    many.rows.truncate(4096);
    let metric = many.metrics[0].clone();
    many.metrics = (0..17)
        .map(|number| {
            let mut metric = metric.clone();
            metric.name = number.to_string();
            metric
        })
        .collect();
    for row in &mut many.rows {
        row.cells = (0..17)
            .map(|number| {
                let mut cell = row.cells[0].clone();
                cell.metric = number.to_string();
                cell
            })
            .collect();
    }
    assert_eq!(
        refused(&many),
        "69632 cells in the matrix: expected at most 65536"
    );
}
