//! The one verdict: from ratio, interval, corrected p and threshold to faster, slower, equal or not yet known.
//!
//! ```text
//! corrected p <= alpha, effect >= threshold and
//! whole interval on the effect's side of 1     ──▶ faster / slower (by the metric's direction)
//! whole interval within the threshold          ──▶ equal within x
//! anything else                                ──▶ inconclusive: n more runs
//! ```

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::interval::{IntervalMethod, RatioInterval, ratio_of_medians};
use crate::rank::{Method, RankError, mann_whitney, smallest_p};
use crate::unit::Direction;

/// The chance that the smallest possible p of a whole matrix must not exceed: see [`default_runs`].
const PLANNED_P: f64 = 0.01;

/// No advice asks for more runs a side than this.
pub const MAX_MORE_RUNS: u32 = 10_000;

/// What the samples of one cell allow to say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Better by the metric's direction (for times: faster), and by at least the threshold.
    Faster,
    /// Worse by the metric's direction, and by at least the threshold.
    Slower,
    /// No practical difference: the interval of the ratio lies within a factor of 1 + `within_ratio` of 1.
    EqualWithin {
        /// 0.03 for 3 %.
        within_ratio: f64,
    },
    /// The samples do not decide it.
    Inconclusive {
        /// Estimate of how many more runs a side would; at most [`MAX_MORE_RUNS`].
        more_runs: u32,
    },
}

impl Verdict {
    /// Whether it earns a star.
    pub fn is_significant(self) -> bool {
        matches!(self, Self::Faster | Self::Slower)
    }

    /// The verdict of the same samples with before and after exchanged.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            same => same,
        }
    }

    /// One word: `faster`, `slower`, `equal`, `inconclusive`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::EqualWithin { .. } => "equal",
            Self::Inconclusive { .. } => "inconclusive",
        }
    }
}

/// The rules of a matrix. They are stored with it: a verdict can be reached again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Largest p that is significant.
    pub alpha: f64,
    /// Confidence of intervals.
    pub confidence: f64,
    /// The user's smallest effect worth a verdict: 0.02 for 2 %.
    pub min_effect_ratio: f64,
    /// Whether p is corrected for the number of cells (Holm).
    pub holm: bool,
    /// How intervals are found.
    pub interval: IntervalMethod,
    /// Whether sides of different machine classes may be compared at all; the result is then marked.
    pub across_machines: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            confidence: 0.95,
            min_effect_ratio: 0.02,
            holm: true,
            interval: IntervalMethod::default(),
            across_machines: false,
        }
    }
}

/// What the samples of one cell say before the correction for the other cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Samples before and after.
    pub runs: (usize, usize),
    /// Ratio of medians with its interval.
    pub ratio: RatioInterval,
    /// Two-sided Mann–Whitney p, never below what so few samples can give.
    pub p: f64,
}

/// The evidence in two lists of samples.
///
/// # Errors
/// [`RankError`] when a side is empty or holds something that is no measurement.
pub fn evidence(before: &[f64], after: &[f64], rules: &Rules) -> Result<Evidence, RankError> {
    let ratio = ratio_of_medians(before, after, rules.confidence, rules.interval)?;
    let test = mann_whitney(after, before, Method::Auto)?;
    Ok(Evidence {
        runs: (before.len(), after.len()),
        ratio,
        // The normal approximation may promise more than any order of so few samples can hold.
        p: test.p.max(smallest_p(before.len(), after.len())),
    })
}

/// The verdict on `evidence` in a matrix of `cells` cells.
///
/// `adjusted_p` is p after Holm's correction (or p itself without it), `threshold_ratio` the practical threshold
/// (0.02 for 2 %; see [`crate::noise::threshold`]).
pub fn decide(
    evidence: &Evidence,
    adjusted_p: f64,
    threshold_ratio: f64,
    better: Direction,
    cells: usize,
    rules: &Rules,
) -> Verdict {
    let ratio = &evidence.ratio;
    let threshold = threshold_ratio.max(0.0).ln_1p();
    let effect = ratio.ln_estimate.abs();
    let fell = ratio.ln_estimate < 0.0;
    // The test goes by ranks, the sign by the medians: in skewed samples the two may point to opposite sides. The
    // interval goes by ranks, too; where it does not lie wholly on the side of the medians, nothing is shown. Numbers
    // that are often equal let it end at 1 exactly, which is on neither side.
    let agrees = if fell {
        ratio.ln_high <= 0.0
    } else {
        ratio.ln_low >= 0.0
    };
    if adjusted_p <= rules.alpha && effect >= threshold && effect > 0.0 && agrees {
        return if fell == (better == Direction::Lower) {
            Verdict::Faster
        } else {
            Verdict::Slower
        };
    }
    let confident = ratio.attained >= rules.confidence - 1e-9;
    if confident && ratio.ln_bound() <= threshold {
        return Verdict::EqualWithin {
            within_ratio: ratio.bound(),
        };
    }
    Verdict::Inconclusive {
        more_runs: more_runs(evidence, threshold, cells, rules),
    }
}

/// The smallest number of runs a side with which something in a matrix of `cells` cells can be significant with room
/// to spare: the smallest n with 2 / C(2n, n) × cells ≤ 0.01 (6 up to 4 cells, 7 up to 17, 8 up to 64), never below 6.
pub fn default_runs(cells: usize) -> usize {
    let cells = cells.max(1) as f64;
    (6..)
        .find(|n| smallest_p(*n, *n) * cells <= PLANNED_P)
        .unwrap_or(usize::MAX)
}

/// How many more runs a side would settle it, if the noise stays as it is: an interval narrows with the root of the
/// number of runs, and has to leave either the zero or the threshold outside.
fn more_runs(evidence: &Evidence, threshold: f64, cells: usize, rules: &Rules) -> u32 {
    let runs = evidence.runs.0.min(evidence.runs.1);
    let planned = default_runs(if rules.holm { cells } else { 1 });
    let capped = |more: f64| {
        if more.is_finite() {
            more.clamp(1.0, f64::from(MAX_MORE_RUNS)) as u32
        } else {
            MAX_MORE_RUNS
        }
    };
    if runs < planned {
        return capped((planned - runs) as f64);
    }
    let ratio = &evidence.ratio;
    let half_width = (ratio.ln_high - ratio.ln_low) / 2.0;
    let effect = ratio.ln_estimate.abs();
    let (margin, widening) = if effect >= threshold {
        // To be shown as a difference it has to pass the correction for all cells.
        let quantile = |alpha: f64| Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
        let strict = quantile(rules.alpha / if rules.holm { cells.max(1) as f64 } else { 1.0 });
        (effect, strict / quantile(rules.alpha))
    } else {
        (threshold - effect, 1.0)
    };
    let factor = half_width * widening / margin;
    capped((runs as f64 * factor * factor).ceil() - runs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(centre: f64, width: f64, n: u32) -> Vec<f64> {
        (0..n)
            .map(|i| centre * (1.0 + width * (f64::from(i) / f64::from(n - 1) - 0.5)))
            .collect()
    }

    fn verdict(before: &[f64], after: &[f64], better: Direction) -> Verdict {
        let rules = Rules::default();
        let found = evidence(before, after, &rules).unwrap();
        decide(&found, found.p, rules.min_effect_ratio, better, 1, &rules)
    }

    #[test]
    fn runs_for_a_matrix() {
        for (cells, runs) in [(0, 6), (1, 6), (4, 6), (5, 7), (17, 7), (18, 8), (64, 8), (65, 9)] {
            assert_eq!(default_runs(cells), runs, "{cells} cells");
        }
    }

    #[test]
    fn the_four_outcomes() {
        let (slow, fast) = (spread(10.0, 0.02, 6), spread(8.0, 0.02, 6));
        assert_eq!(verdict(&slow, &fast, Direction::Lower), Verdict::Faster);
        assert_eq!(verdict(&fast, &slow, Direction::Lower), Verdict::Slower);
        assert_eq!(verdict(&slow, &fast, Direction::Higher), Verdict::Slower);
        let narrow = spread(10.0, 0.004, 8);
        let Verdict::EqualWithin { within_ratio } = verdict(&narrow, &narrow, Direction::Lower) else {
            panic!("two equal lists are equal");
        };
        assert!(within_ratio > 0.0 && within_ratio < 0.005, "{within_ratio}");
        let wide = spread(10.0, 0.5, 6);
        let Verdict::Inconclusive { more_runs } = verdict(&wide, &wide, Direction::Lower) else {
            panic!("noise decides nothing");
        };
        assert!(more_runs > 100, "{more_runs}");
    }

    #[test]
    fn three_against_three_is_told_to_run_more() {
        let found = verdict(&[1.0, 1.1, 1.2], &[0.1, 0.11, 0.12], Direction::Lower);
        assert_eq!(found, Verdict::Inconclusive { more_runs: 3 });
        // Ties would let the normal approximation say 0.047.
        let tied = evidence(&[2.0; 3], &[1.0; 3], &Rules::default()).unwrap();
        assert!(tied.p >= 0.1, "{tied:?}");
        // Equal numbers are not proven equal by three runs either.
        assert_eq!(
            verdict(&[1.0; 3], &[1.0; 3], Direction::Lower),
            Verdict::Inconclusive { more_runs: 3 }
        );
    }

    #[test]
    fn medians_against_the_ranks_decide_nothing() {
        let list = |first: (f64, usize), second: (f64, usize)| {
            [vec![first.0; first.1], vec![second.0; second.1]].concat()
        };
        let (before, after) = (list((10.0, 13), (100.0, 12)), list((1.0, 12), (10.5, 13)));
        let found = evidence(&before, &after, &Rules::default()).unwrap();
        assert!(found.p < 0.05 && found.ratio.ln_estimate > 0.0, "{found:?}");
        for (before, after) in [(&before, &after), (&after, &before)] {
            let verdict = verdict(before, after, Direction::Lower);
            assert!(matches!(verdict, Verdict::Inconclusive { .. }), "{verdict:?}");
        }
    }

    #[test]
    fn a_count_that_fell_to_nothing() {
        assert_eq!(verdict(&[5.0; 6], &[0.0; 6], Direction::Lower), Verdict::Faster);
        assert_eq!(
            verdict(&[0.0; 6], &[0.0; 6], Direction::Lower),
            Verdict::EqualWithin { within_ratio: 0.0 }
        );
    }
}
