//! The ratio of two medians with its confidence interval.
//!
//! Everything is kept as natural logarithm: exchanging before and after then changes signs and nothing else.

use crate::quantile::Sorted;
use crate::random::Random;
use crate::rank::{self, RankError};

/// Largest sample of a side that is resampled: more would take minutes, and then the rank interval is as good.
pub const MAX_RESAMPLED: usize = 10_000;

/// Most pairs of resamples: the ends do not move any more, and a file of a stranger cannot ask for hours.
pub const MAX_PAIRS: u32 = 10_000;

/// What is expected where there are more than [`MAX_RESAMPLED`].
pub(crate) const TOO_MANY_RESAMPLED: &str = "at most 10000 samples a side for the bootstrap";

/// How the ends of an interval are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum IntervalMethod {
    /// Hodges–Lehmann on logarithms: exact for few samples, and never at odds with the Mann–Whitney test.
    #[default]
    HodgesLehmann,
    /// Percentiles of resampled ratios of medians (Efron & Tibshirani 1993, chapter 13). Too narrow below about ten
    /// samples a side: the median of a resample can only be one of the few values.
    Bootstrap {
        /// Seed of the resampling.
        seed: u64,
        /// Pairs of resamples, each giving two ratios; 1 to [`MAX_PAIRS`].
        pairs: u32,
    },
}

impl IntervalMethod {
    /// Values that are drawn for the interval of one cell.
    pub(crate) fn drawn(self, before: usize, after: usize) -> u64 {
        match self {
            Self::HodgesLehmann => 0,
            Self::Bootstrap { pairs, .. } => (2 * (before + after) as u64).saturating_mul(pairs.into()),
        }
    }
}

/// The ratio after / before and the interval around it, as natural logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioInterval {
    /// Logarithm of (median after / median before).
    pub ln_estimate: f64,
    /// Logarithm of the lower end.
    pub ln_low: f64,
    /// Logarithm of the upper end.
    pub ln_high: f64,
    /// The confidence that the interval has; less than asked for when there are too few samples.
    pub attained: f64,
}

impl RatioInterval {
    /// Median after / median before.
    pub fn estimate(&self) -> f64 {
        self.ln_estimate.exp()
    }

    /// Lower end of the ratio.
    pub fn low(&self) -> f64 {
        self.ln_low.exp()
    }

    /// Upper end of the ratio.
    pub fn high(&self) -> f64 {
        self.ln_high.exp()
    }

    /// The smallest x such that the whole interval lies within a factor of 1 + x of no change: 0.03 for 3 %.
    pub fn bound(&self) -> f64 {
        self.ln_bound().exp() - 1.0
    }

    /// Logarithm of 1 + [`Self::bound`]; the same after before and after are exchanged.
    pub fn ln_bound(&self) -> f64 {
        self.ln_low.abs().max(self.ln_high.abs())
    }
}

/// The logarithm of after / before; nothing to nothing is no change.
fn ln_ratio(before: f64, after: f64) -> f64 {
    if before == after {
        0.0
    } else {
        after.ln() - before.ln()
    }
}

/// The ratio of the medians of `after` and `before` with an interval of at least `confidence` where the number of
/// samples allows it.
///
/// # Errors
/// [`RankError`] when a side is empty, larger than [`MAX_RESAMPLED`] for the bootstrap, or holds a value below zero.
pub fn ratio_of_medians(
    before: &[f64],
    after: &[f64],
    confidence: f64,
    method: IntervalMethod,
) -> Result<RatioInterval, RankError> {
    let shift = rank::ratio(before, after, confidence)?;
    let median = |values: &[f64]| Sorted::new(values.to_vec()).median().unwrap_or(0.0);
    let ln_estimate = ln_ratio(median(before), median(after));
    match method {
        IntervalMethod::HodgesLehmann => Ok(RatioInterval {
            ln_estimate,
            ln_low: shift.low,
            ln_high: shift.high,
            attained: shift.attained,
        }),
        IntervalMethod::Bootstrap { seed, pairs } => {
            if before.len().max(after.len()) > MAX_RESAMPLED {
                return Err(RankError::Value {
                    expected: TOO_MANY_RESAMPLED,
                });
            }
            let (ln_low, ln_high) = percentiles(before, after, confidence, seed, pairs.clamp(1, MAX_PAIRS));
            Ok(RatioInterval {
                ln_estimate,
                ln_low,
                ln_high,
                attained: confidence,
            })
        }
    }
}

/// Two streams of chance; each pair of resamples is used twice, the second time with the streams exchanged. So the
/// interval of the exchanged sides is the exact mirror image, whatever the seed.
fn percentiles(before: &[f64], after: &[f64], confidence: f64, seed: u64, pairs: u32) -> (f64, f64) {
    let (mut first, mut second) = (Random::new(seed, 1), Random::new(seed, 2));
    let longest = before.len().max(after.len());
    let mut ratios = Vec::new();
    let draw =
        |random: &mut Random| -> Vec<u64> { (0..longest).map(|_| random.below(1 << 53) as u64).collect() };
    for _ in 0..pairs {
        let (one, two) = (draw(&mut first), draw(&mut second));
        for (of_before, of_after) in [(&one, &two), (&two, &one)] {
            ratios.push(ln_ratio(
                resampled_median(before, of_before),
                resampled_median(after, of_after),
            ));
        }
    }
    ratios.sort_unstable_by(f64::total_cmp);
    // Order statistics, not interpolated: the k-th from below and the k-th from above are mirror images.
    let skip = ((1.0 - confidence) / 2.0 * ratios.len() as f64).floor() as usize;
    let low = ratios.get(skip).copied().unwrap_or(0.0);
    let high = ratios.iter().rev().nth(skip).copied().unwrap_or(0.0);
    (low, high)
}

/// The median of `values` drawn with replacement; `draws` are numbers below 2^53, one for each value at least.
fn resampled_median(values: &[f64], draws: &[u64]) -> f64 {
    let drawn = draws.iter().take(values.len()).filter_map(|draw| {
        let at = (u128::from(*draw) * values.len() as u128) >> 53;
        usize::try_from(at).ok().and_then(|at| values.get(at)).copied()
    });
    drawn.collect::<Sorted>().median().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: [f64; 7] = [10.0, 10.2, 9.9, 10.4, 10.1, 9.8, 10.3];
    const AFTER: [f64; 7] = [8.0, 8.3, 7.9, 8.1, 8.2, 8.6, 7.8];

    fn methods() -> [IntervalMethod; 2] {
        [
            IntervalMethod::HodgesLehmann,
            IntervalMethod::Bootstrap { seed: 3, pairs: 500 },
        ]
    }

    #[test]
    fn the_interval_surrounds_the_estimate_and_is_the_same_for_the_same_seed() {
        for method in methods() {
            let one = ratio_of_medians(&BEFORE, &AFTER, 0.95, method).unwrap();
            assert_eq!(one, ratio_of_medians(&BEFORE, &AFTER, 0.95, method).unwrap());
            assert!((one.estimate() - 8.1 / 10.1).abs() < 1e-12);
            assert!(
                one.low() < one.estimate() && one.estimate() < one.high(),
                "{one:?}"
            );
            assert!(one.low() > 0.74 && one.high() < 0.87, "{one:?}");
        }
    }

    #[test]
    fn exchanging_the_sides_mirrors_every_bit() {
        for method in methods() {
            let one = ratio_of_medians(&BEFORE, &AFTER[..5], 0.95, method).unwrap();
            let other = ratio_of_medians(&AFTER[..5], &BEFORE, 0.95, method).unwrap();
            assert_eq!(one.ln_estimate, -other.ln_estimate);
            assert_eq!((one.ln_low, one.ln_high), (-other.ln_high, -other.ln_low));
            assert_eq!(one.ln_bound(), other.ln_bound());
        }
    }

    #[test]
    fn another_seed_is_another_interval_of_the_same_place() {
        let at = |seed| {
            let method = IntervalMethod::Bootstrap { seed, pairs: 2000 };
            let values: Vec<f64> = (0..40).map(|i| 10.0 + f64::from(i * i % 17) / 10.0).collect();
            ratio_of_medians(&values, &BEFORE, 0.95, method).unwrap()
        };
        assert!((at(1).ln_low - at(2).ln_low).abs() < 0.02);
        assert!(at(1).ln_low < at(1).ln_high);
    }
}
