//! The Hodges–Lehmann shift: the median of all differences between a value after and a value before.
//!
//! Its interval holds exactly the shifts that the Mann–Whitney test would not reject, so interval and p agree.

use statrs::distribution::{ContinuousCDF, Normal};

use super::RankError;
use super::u_counts::UCounts;

/// A shift with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Median of all differences.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Confidence that the interval has: at least what was asked for, or less when even the widest interval of so
    /// few values has less (3 against 3: 0.90).
    pub attained: f64,
}

/// The shift from `before` to `after` (positive: values grew), with an interval of at least `confidence`.
///
/// The interval is exact for sizes of [`super::Method::Auto`] without ties and conservative with ties; beyond, the
/// order statistics come from the normal approximation (Hollander & Wolfe, eq. 4.28).
///
/// # Errors
/// [`RankError`] when a side is empty or holds NaN, or with a confidence outside 0..1.
pub fn shift(before: &[f64], after: &[f64], confidence: f64) -> Result<Shift, RankError> {
    check(before, after, confidence)?;
    Ok(Differences::new(before.to_vec(), after.to_vec()).shift(confidence))
}

/// The shift of the natural logarithms: `exp` of it is the ratio after to before. Zeros are allowed; 0 to 0 is a
/// ratio of 1, any other ratio to 0 is infinite.
///
/// # Errors
/// As [`shift`], and when a value is below zero.
pub fn ratio(before: &[f64], after: &[f64], confidence: f64) -> Result<Shift, RankError> {
    check(before, after, confidence)?;
    if before.iter().chain(after).any(|value| *value < 0.0) {
        return Err(RankError::Value {
            expected: "no value below 0 for a ratio",
        });
    }
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect();
    Ok(Differences::new(logs(before), logs(after)).shift(confidence))
}

fn check(before: &[f64], after: &[f64], confidence: f64) -> Result<(), RankError> {
    if before.is_empty() || after.is_empty() {
        return Err(RankError::Empty {
            before: before.len(),
            after: after.len(),
        });
    }
    if before.iter().chain(after).any(|value| value.is_nan()) {
        return Err(RankError::Value {
            expected: "numbers, not NaN",
        });
    }
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(RankError::Confidence);
    }
    Ok(())
}

/// All n·m differences, never written down: the k-th smallest is found by counting.
struct Differences {
    before: Vec<f64>,
    after: Vec<f64>,
}

/// `after - before`; equal infinities (logarithms of 0) differ by nothing.
fn difference(after: f64, before: f64) -> f64 {
    if after == before { 0.0 } else { after - before }
}

/// A whole number that orders as the float does.
fn key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The float of [`key`].
fn of_key(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63).cast_unsigned() >> 1).cast_signed()).cast_unsigned())
}

impl Differences {
    fn new(mut before: Vec<f64>, mut after: Vec<f64>) -> Self {
        before.sort_unstable_by(f64::total_cmp);
        after.sort_unstable_by(f64::total_cmp);
        Self { before, after }
    }

    fn len(&self) -> u128 {
        self.before.len() as u128 * self.after.len() as u128
    }

    /// How many differences are at most `bound`.
    fn at_most(&self, bound: f64) -> u128 {
        // The larger the value after, the fewer of the values before (from the top) are near enough.
        let mut from = 0;
        let mut count = 0;
        for after in &self.after {
            let rest = self.before.get(from..).unwrap_or_default();
            from += rest
                .iter()
                .take_while(|before| difference(*after, **before) > bound)
                .count();
            count += (self.before.len() - from) as u128;
        }
        count
    }

    /// The `rank`-th smallest difference, counted from 1: the smallest float with at least so many at most it.
    fn nth(&self, rank: u128) -> f64 {
        let (mut low, mut high) = (key(f64::NEG_INFINITY), key(f64::INFINITY));
        while low < high {
            // The mean rounded down, without overflow.
            let middle = (low & high) + ((low ^ high) >> 1);
            if self.at_most(of_key(middle)) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        of_key(high) + 0.0
    }

    fn shift(&self, confidence: f64) -> Shift {
        let len = self.len();
        let (low_middle, high_middle) = (self.nth(len.div_ceil(2)), self.nth(len / 2 + 1));
        let estimate = if low_middle == high_middle {
            low_middle
        } else {
            low_middle / 2.0 + high_middle / 2.0
        };
        let (rank, attained) = self.rank_of_interval(1.0 - confidence);
        Shift {
            // Opposite infinities in the middle: no direction.
            estimate: if estimate.is_nan() { 0.0 } else { estimate },
            low: self.nth(rank),
            high: self.nth(len + 1 - rank),
            attained,
        }
    }

    /// The rank of the difference at the lower end of an interval that misses at most `alpha`, and its confidence.
    fn rank_of_interval(&self, alpha: f64) -> (u128, f64) {
        let (n, m) = (self.before.len(), self.after.len());
        if let Some(counts) = UCounts::shared(n, m) {
            let rank = (0..n * m / 2)
                .take_while(|u| 2.0 * counts.at_most(*u) <= alpha)
                .count()
                .max(1);
            return (rank as u128, 1.0 - 2.0 * counts.at_most(rank - 1).min(0.5));
        }
        let (n, m) = (n as f64, m as f64);
        let z = Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
        let rank = (n * m / 2.0 - z * (n * m * (n + m + 1.0) / 12.0).sqrt())
            .floor()
            .max(1.0);
        (rank as u128, 1.0 - alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All differences written down and sorted.
    fn by_hand(before: &[f64], after: &[f64]) -> Vec<f64> {
        let mut all: Vec<f64> = after
            .iter()
            .flat_map(|a| before.iter().map(move |b| a - b))
            .collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn every_rank_is_found_by_counting() {
        let before = [1.0, 5.5, 2.25, 2.25, -7.0, 0.0];
        let after = [3.0, 3.0, -1.5, 10.0, 0.0];
        let differences = Differences::new(before.to_vec(), after.to_vec());
        for (rank, expected) in (1..).zip(by_hand(&before, &after)) {
            assert_eq!(differences.nth(rank), expected, "rank {rank}");
        }
    }

    #[test]
    fn keys_keep_the_order() {
        let values = [f64::NEG_INFINITY, -2.0, -1e-300, 0.0, 1e-300, 3.0, f64::INFINITY];
        assert!(values.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
        assert!(values.iter().all(|value| of_key(key(*value)) == *value));
    }

    #[test]
    fn three_against_three_reaches_ninety_percent_only() {
        let found = shift(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0], 0.95).unwrap();
        assert_eq!((found.estimate, found.low, found.high), (10.0, 8.0, 12.0));
        assert!((found.attained - 0.9).abs() < 1e-12);
    }

    #[test]
    fn six_against_six_drops_five_differences_at_each_end() {
        let before: Vec<f64> = (0..6).map(|i| f64::from(i) * 1.3).collect();
        let after: Vec<f64> = (0..6).map(|i| 4.0 + f64::from(i * i)).collect();
        let all = by_hand(&before, &after);
        let found = shift(&before, &after, 0.95).unwrap();
        // The 5 % critical value of U for 6 and 6 is 5.
        assert_eq!((found.low, found.high), (all[5], all[30]));
        assert!((0.95..0.96).contains(&found.attained), "{found:?}");
    }

    #[test]
    fn ratios_with_zeros() {
        let gone = ratio(&[5.0; 6], &[0.0; 6], 0.95).unwrap();
        assert_eq!((gone.estimate, gone.high), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        let none = ratio(&[0.0; 6], &[0.0; 6], 0.95).unwrap();
        assert_eq!((none.estimate, none.low, none.high), (0.0, 0.0, 0.0));
        assert!(ratio(&[-1.0], &[1.0], 0.95).is_err());
        assert!(shift(&[1.0], &[1.0], 1.0).is_err());
        let double = ratio(&[1.0; 6], &[2.0; 6], 0.95).unwrap();
        assert!((double.estimate.exp() - 2.0).abs() < 1e-12);
    }
}
