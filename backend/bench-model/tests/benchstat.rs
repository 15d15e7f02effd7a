//! Go's `benchstat` on our Go text, kept as data: the same medians, and the same verdicts without Holm and without a
//! smallest effect.
//!
//! `tests/data/benchstat.go.txt` is our export, `benchstat.csv` what
//! `benchstat -format csv -col side benchstat.go.txt` (golang.org/x/perf v0.0.0-20250813145418-2f7363a06fe1) made of
//! it. The first is compared with today's export, so the second cannot grow stale; `cargo xtask test benchstat` asks the
//! tool itself again.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/sweep.rs"]
mod sweep;

use common::Normal;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::{Samples, Side};

/// The restore sweep with drawn noise: differences that are clear, small and none, some with many ties.
fn noisy() -> Matrix {
    let mut matrix = sweep::restore();
    matrix.rules.holm = false;
    matrix.rules.min_effect_ratio = 0.0;
    let mut random = Normal::new(2026);
    for (number, row) in matrix.rows.iter_mut().enumerate() {
        for (position, cell) in row.cells.iter_mut().enumerate() {
            cell.noise_ratio = None;
            let runs = 5 + 2 * number;
            let effect = [0.0, 0.01, 0.03, 0.08, 0.0]
                .into_iter()
                .cycle()
                .nth(number + position)
                .unwrap();
            let mut samples = Samples::new(Some(1));
            for _ in 0..runs {
                for (side, shift) in [(Side::Before, 0.0), (Side::After, effect)] {
                    let value = 100.0 * (1.0 + shift) * (1.0 + 0.02 * random.next());
                    // Every second metric is counted in whole numbers: ties.
                    let value = if position % 2 == 1 { value.round() } else { value };
                    samples.push(side, value).unwrap();
                }
            }
            cell.samples = samples;
        }
    }
    matrix
}

#[test]
fn medians_and_verdicts_are_those_of_benchstat() {
    let mut matrix = noisy();
    for metric in &mut matrix.metrics {
        metric.judged = true;
    }
    let comparison = Comparison::judge(&matrix).unwrap();
    let text = export(&comparison, ExportFormat::GoBench);
    if std::env::var_os("FLEETHOLD_WRITE_GO_TEXT").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/benchstat.go.txt"),
            &text,
        )
        .unwrap();
    }
    assert_eq!(
        text,
        include_str!("data/benchstat.go.txt"),
        "run benchstat again on the new export"
    );
    let rows: Vec<Vec<&str>> = include_str!("data/benchstat.csv")
        .lines()
        .filter(|line| line.starts_with("Restore/"))
        .map(|line| line.split(',').collect())
        .collect();
    let (mut stars, mut compared) = (0, 0);
    // benchstat prints one table a metric, rows in the order of the file.
    for (position, metric) in matrix.metrics.iter().enumerate() {
        for (number, judged) in comparison.rows.iter().enumerate() {
            let row = &rows[position * comparison.rows.len() + number];
            let cell = &judged.cells[position];
            assert_eq!(cell.metric, metric);
            let median = |text: &str| text.parse::<f64>().unwrap();
            for (ours, theirs) in [(cell.before, row[1]), (cell.after, row[3])] {
                let (ours, theirs) = (ours.unwrap().median, median(theirs));
                assert!((ours - theirs).abs() <= 1e-9 * ours, "{ours} {theirs} {row:?}");
            }
            let star = row[5] != "~";
            assert_eq!(cell.verdict.unwrap().is_significant(), star, "{row:?} {cell:?}");
            stars += usize::from(star);
            compared += 1;
        }
    }
    assert!(
        compared == 20 && stars > 4 && stars < 16,
        "{stars} stars of {compared}"
    );
}
