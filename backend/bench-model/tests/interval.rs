//! What intervals and verdicts promise, over drawn samples: how often the truth is inside, how often noise gets a star.

mod common;

use common::Normal;
use fleethold_bench_model::interval::{IntervalMethod, ratio_of_medians};
use fleethold_bench_model::unit::Direction;
use fleethold_bench_model::verdict::{Rules, decide, evidence};

/// `n` samples with a median of `centre` and log-normal noise, as times have.
fn draw(random: &mut Normal, n: usize, centre: f64) -> Vec<f64> {
    (0..n).map(|_| centre * (0.05 * random.next()).exp()).collect()
}

fn coverage(n: usize, method: impl Fn(u64) -> IntervalMethod) -> usize {
    let mut random = Normal::new(99);
    (0..1000)
        .filter(|seed| {
            let (before, after) = (draw(&mut random, n, 100.0), draw(&mut random, n, 90.0));
            ratio_of_medians(&before, &after, 0.95, method(*seed))
                .is_ok_and(|found| found.low() <= 0.9 && 0.9 <= found.high())
        })
        .count()
}

#[test]
fn the_rank_interval_holds_the_truth_as_often_as_it_says() {
    for n in [4, 6, 8, 20, 60] {
        let held = coverage(n, |_| IntervalMethod::HodgesLehmann);
        assert!(held >= 936, "{held} of 1000 with {n} samples a side");
    }
    // Three samples a side cannot give more than 90 %.
    let held = coverage(3, |_| IntervalMethod::HodgesLehmann);
    assert!(
        (870..=930).contains(&held),
        "{held} of 1000 with 3 samples a side"
    );
}

#[test]
fn the_bootstrap_interval_does_with_enough_samples() {
    let held = coverage(40, |seed| IntervalMethod::Bootstrap { seed, pairs: 250 });
    assert!((925..=985).contains(&held), "{held} of 1000");
}

#[test]
fn noise_gets_a_star_once_in_twenty_at_most_and_a_tenth_is_seen() {
    let rules = Rules {
        min_effect_ratio: 0.0,
        ..Rules::default()
    };
    let mut random = Normal::new(7);
    let mut stars = |effect: f64| {
        (0..1000)
            .filter(|_| {
                let (before, after) = (draw(&mut random, 8, 100.0), draw(&mut random, 8, 100.0 * effect));
                evidence(&before, &after, &rules).is_ok_and(|found| {
                    decide(&found, found.p, 0.0, Direction::Lower, 1, &rules).is_significant()
                })
            })
            .count()
    };
    let (none, tenth) = (stars(1.0), stars(0.9));
    assert!(none <= 65, "{none} false stars of 1000");
    assert!(tenth >= 900, "{tenth} of 1000 steps of a tenth");
}
