//! What the verdict promises: exchanging the sides flips signs and nothing else, three runs decide nothing.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/sweep.rs"]
mod sweep;

use drawn::matrices;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::interval::IntervalMethod;
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::unit::Direction;
use fleethold_bench_model::verdict::{Rules, Verdict, decide, evidence};
use proptest::collection::vec;
use proptest::prelude::*;
use sweep::restore;

/// What is left of a comparison when names are forgotten: bits, not rounded numbers.
fn bits(matrix: &Matrix) -> Vec<(Option<Verdict>, Option<u64>, [f64; 3])> {
    let comparison = Comparison::judge(matrix).unwrap();
    comparison
        .cells()
        .map(|(_, cell)| {
            let ratio = cell
                .ratio
                .map_or([0.0; 3], |ratio| [ratio.ln_low, ratio.ln_estimate, ratio.ln_high]);
            (cell.verdict, cell.adjusted_p.map(f64::to_bits), ratio)
        })
        .collect()
}

#[test]
fn the_rows_of_the_example() {
    let matrix = restore();
    let comparison = Comparison::judge(&matrix).unwrap();
    let word = |row: usize| comparison.rows[row].cells[0].verdict.unwrap().word();
    assert_eq!(
        [0, 1, 2, 3, 4].map(word),
        ["equal", "equal", "faster", "inconclusive", "slower"]
    );
    // The history makes more noise than the user's minimum: its threshold counts.
    assert_eq!(comparison.rows[0].cells[0].threshold_ratio, 0.025);
    assert_eq!(comparison.judged_cells, 15);
    assert_eq!(comparison.environment.len(), 1);
}

#[test]
fn one_sample_decides_nothing() {
    let found = evidence(&[1.0], &[2.0], &Rules::default()).unwrap();
    assert_eq!(found.p, 1.0);
    assert_eq!(
        decide(&found, found.p, 0.02, Direction::Lower, 1, &Rules::default()),
        Verdict::Inconclusive { more_runs: 5 }
    );
}

#[test]
fn a_million_samples() {
    let values = |seed: u64| -> Vec<f64> {
        (0..500_000_u64)
            .map(|i| 1.0 + ((i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / 1e8)
            .collect()
    };
    let before = values(0);
    let after: Vec<f64> = values(7).iter().map(|value| value * 0.9).collect();
    let found = evidence(&before, &after, &Rules::default()).unwrap();
    assert!((found.ratio.estimate() - 0.9).abs() < 1e-3);
    assert_eq!(
        decide(&found, found.p, 0.02, Direction::Lower, 1, &Rules::default()),
        Verdict::Faster
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exchanging_the_sides_flips_signs_only(matrix in matrices()) {
        let there = bits(&matrix);
        let back = bits(&matrix.swapped());
        for ((verdict, p, [low, estimate, high]), (other, other_p, other_ratio)) in there.into_iter().zip(back) {
            prop_assert_eq!(verdict.map(Verdict::swapped), other);
            prop_assert_eq!(p, other_p);
            prop_assert_eq!([-high, -estimate, -low], other_ratio);
        }
    }

    #[test]
    fn the_other_direction_is_the_other_word(matrix in matrices()) {
        let mut turned = matrix.clone();
        for metric in &mut turned.metrics {
            metric.better = match metric.better {
                Direction::Lower => Direction::Higher,
                Direction::Higher => Direction::Lower,
            };
        }
        let words = |matrix: &Matrix| bits(matrix).into_iter().map(|(verdict, ..)| verdict).collect::<Vec<_>>();
        let flipped: Vec<_> = words(&matrix).into_iter().map(|verdict| verdict.map(Verdict::swapped)).collect();
        prop_assert_eq!(flipped, words(&turned));
    }

    #[test]
    fn three_against_three_is_never_significant(
        before in vec(0.0_f64..1000.0, 3),
        after in vec(prop_oneof![0.0_f64..1.0, Just(5.0)], 3),
        tie in any::<bool>(),
    ) {
        let before = if tie { vec![before[0]; 3] } else { before };
        let rules = Rules { holm: false, min_effect_ratio: 0.0, ..Rules::default() };
        let found = evidence(&before, &after, &rules).unwrap();
        prop_assert!(found.p >= 0.1 - 1e-12, "{:?}", found);
        let verdict = decide(&found, found.p, 0.0, Direction::Lower, 1, &rules);
        prop_assert!(matches!(verdict, Verdict::Inconclusive { more_runs: 1.. }), "{:?}", verdict);
    }

    /// Two heaps a side, of any height and share: as skewed as samples get.
    #[test]
    fn a_star_stands_where_the_whole_interval_is_on_its_side(
        sides in [(1.0_f64..20.0, 1.0_f64..200.0), (1.0_f64..20.0, 1.0_f64..200.0)],
        shares in [0_usize..=25, 0_usize..=25],
        bootstrap in any::<bool>(),
    ) {
        let [before, after] = [0, 1].map(|side| {
            let ((low, high), share): ((f64, f64), usize) = (sides[side], shares[side]);
            (0..25).map(|i| if i < share { low } else { high } + i as f64 / 100.0).collect::<Vec<_>>()
        });
        let interval = if bootstrap {
            IntervalMethod::Bootstrap { seed: 1, pairs: 50 }
        } else {
            IntervalMethod::HodgesLehmann
        };
        let rules = Rules { interval, ..Rules::default() };
        let found = evidence(&before, &after, &rules).unwrap();
        let ratio = found.ratio;
        match decide(&found, found.p, 0.02, Direction::Lower, 1, &rules) {
            Verdict::Faster => prop_assert!(ratio.ln_estimate < 0.0 && ratio.ln_high <= 0.0, "{:?}", found),
            Verdict::Slower => prop_assert!(ratio.ln_estimate > 0.0 && ratio.ln_low >= 0.0, "{:?}", found),
            _ => {}
        }
    }

    #[test]
    fn judging_twice_is_judging_once(matrix in matrices()) {
        prop_assert_eq!(bits(&matrix), bits(&matrix));
    }
}

/// The limit of a machine, or one log-in against another, is measured in the same run and is not what changed.
#[test]
fn a_scenario_aside_gets_no_verdict_and_costs_the_others_nothing() {
    let mut matrix = restore();
    let all = Comparison::judge(&matrix).unwrap().judged_cells;
    matrix.scenarios[1].aside = true;
    let (name, control) = (
        matrix.scenarios[1].name.clone(),
        matrix.scenarios_without_control().len(),
    );
    let comparison = Comparison::judge(&matrix).unwrap();
    assert!(comparison.judged_cells < all);
    for (row, cell) in comparison.cells() {
        let judged = cell.metric.judged && row.scenario != name;
        assert_eq!(
            (cell.verdict.is_some(), cell.adjusted_p.is_some()),
            (judged, judged),
            "{row:?}"
        );
    }
    assert_eq!(control, 0);
    let mail = export(&comparison, ExportFormat::Mail);
    assert!(
        mail.contains(&format!("  {name} (aside, not judged): ")),
        "{mail}"
    );
    assert!(!mail.contains(&format!("Worse: {name}")), "{mail}");
}
