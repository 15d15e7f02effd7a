//! The promises about change points, each over fixed seeds: steps are found where and when they happen, noise alone
//! seldom alarms.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Normal;
use fleethold_bench_model::change_points::change_points;

/// `before` points around 100 and `after` points around 110, with a coefficient of variation of `cv`.
fn step(seed: u64, before: usize, after: usize, cv: f64) -> Vec<f64> {
    let mut random = Normal::new(seed);
    (0..before + after)
        .map(|at| (if at < before { 100.0 } else { 110.0 }) * (1.0 + cv * random.next()))
        .collect()
}

/// How many of the seeds 1 to 1000 find a change within `tolerance` points of the step.
fn found_near(before: usize, after: usize, cv: f64, tolerance: usize) -> usize {
    (1..=1000)
        .filter(|seed| {
            change_points(&step(*seed, before, after, cv))
                .unwrap()
                .iter()
                .any(|point| point.index.abs_diff(before) <= tolerance)
        })
        .count()
}

#[test]
fn a_step_is_placed_within_three_points_at_three_percent_and_six_at_five() {
    let three = found_near(30, 30, 0.03, 3);
    let six = found_near(30, 30, 0.05, 6);
    assert!(three >= 995 && six >= 985, "{three} and {six} of 1000");
}

#[test]
fn a_step_is_noticed_three_points_after_it_at_three_percent_and_six_at_five() {
    let three = found_near(57, 3, 0.03, 3);
    let six = found_near(54, 6, 0.05, 6);
    assert!(three >= 900 && six >= 850, "{three} and {six} of 1000");
    // Quieter series leave no doubt.
    assert!(found_near(57, 3, 0.02, 3) >= 995);
    assert!(found_near(54, 6, 0.03, 3) >= 995);
}

#[test]
fn noise_alone_alarms_at_most_65_times_in_1000() {
    for points in [20, 60, 200] {
        let alarms = (1..=1000)
            .filter(|seed| {
                let mut random = Normal::new(*seed);
                let values: Vec<f64> = (0..points)
                    .map(|_| 100.0 * (1.0 + 0.03 * random.next()))
                    .collect();
                !change_points(&values).unwrap().is_empty()
            })
            .count();
        assert!(alarms <= 65, "{alarms} alarms of 1000 with {points} points");
    }
}

#[test]
fn a_level_that_comes_and_goes() {
    for seed in 1..=50 {
        let mut random = Normal::new(seed);
        let values: Vec<f64> = (0..60)
            .map(|at| (if (20..40).contains(&at) { 110.0 } else { 100.0 }) * (1.0 + 0.02 * random.next()))
            .collect();
        let found: Vec<usize> = change_points(&values)
            .unwrap()
            .iter()
            .map(|point| point.index)
            .collect();
        assert!(
            found.iter().any(|at| at.abs_diff(20) <= 2),
            "seed {seed}: {found:?}"
        );
        assert!(
            found.iter().any(|at| at.abs_diff(40) <= 2),
            "seed {seed}: {found:?}"
        );
    }
}

#[test]
fn one_outlier_is_no_level() {
    let mut alarms = 0;
    for seed in 1..=200 {
        let mut random = Normal::new(seed);
        let mut values: Vec<f64> = (0..60).map(|_| 100.0 * (1.0 + 0.03 * random.next())).collect();
        values[30] = 200.0;
        alarms += usize::from(!change_points(&values).unwrap().is_empty());
    }
    assert!(alarms <= 13, "{alarms} of 200");
}
