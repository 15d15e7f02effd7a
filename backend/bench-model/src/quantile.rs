//! Medians, quantiles, MAD and the empirical distribution of values that are sorted once.

/// Factor from the median absolute deviation to the standard deviation of a normal distribution.
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Values in ascending order. Never holds NaN.
#[derive(Debug, Clone, PartialEq)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// Sorts `values`; NaN are left out (samples cannot hold any).
    pub fn new(mut values: Vec<f64>) -> Self {
        values.retain(|value| !value.is_nan());
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// The values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest value.
    pub fn min(&self) -> Option<f64> {
        self.0.first().copied()
    }

    /// The largest value.
    pub fn max(&self) -> Option<f64> {
        self.0.last().copied()
    }

    /// The quantile of `p` in 0..=1, definition 7 of Hyndman & Fan 1996: linear between the order statistics around
    /// (n - 1) p, as R and numpy do by default. `None` without values or with `p` out of range.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        if !(0.0..=1.0).contains(&p) {
            return None;
        }
        let last = self.0.len().checked_sub(1)?;
        let place = last as f64 * p;
        let low = place.floor() as usize;
        let below = *self.0.get(low)?;
        let above = *self.0.get((low + 1).min(last))?;
        let share = place - place.floor();
        // Equal neighbours first: infinities have no difference.
        Some(if share == 0.0 || below == above {
            below
        } else {
            below + share * (above - below)
        })
    }

    /// The middle value, or the mean of the two in the middle. `None` without values.
    pub fn median(&self) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        let below = *self.0.get(last / 2)?;
        let above = *self.0.get(last.div_ceil(2))?;
        Some(if below == above {
            below
        } else {
            // Halves first: the sum of two large values may overflow.
            below / 2.0 + above / 2.0
        })
    }

    /// The median of the distances to the median, not scaled ([`MAD_TO_SIGMA`]). `None` without values.
    pub fn mad(&self) -> Option<f64> {
        let median = self.median()?;
        Self::new(self.0.iter().map(|value| (value - median).abs()).collect()).median()
    }

    /// The share of values at most `x`; 0 without values.
    pub fn ecdf(&self, x: f64) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        self.0.partition_point(|value| *value <= x) as f64 / self.0.len() as f64
    }

    /// The steps of the empirical distribution: each distinct value with the share of values at most it.
    pub fn ecdf_steps(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (number, value) in (1..).zip(&self.0) {
            let share = f64::from(number) / self.0.len() as f64;
            match steps.last_mut() {
                Some((last, of)) if last == value => *of = share,
                _ => steps.push((*value, share)),
            }
        }
        steps
    }
}

impl FromIterator<f64> for Sorted {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self::new(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_seven() {
        let sorted = Sorted::new(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(sorted.quantile(0.0), Some(1.0));
        assert_eq!(sorted.quantile(0.25), Some(1.75));
        assert_eq!(sorted.quantile(0.5), Some(2.5));
        assert_eq!(sorted.quantile(1.0), Some(4.0));
        assert_eq!(sorted.quantile(1.1), None);
        assert_eq!(Sorted::new(vec![]).quantile(0.5), None);
        assert_eq!(Sorted::new(vec![]).median(), None);
    }

    #[test]
    fn one_sample_is_its_own_median_without_spread() {
        let one = Sorted::new(vec![3.0]);
        assert_eq!(
            (one.median(), one.mad(), one.ecdf(3.0)),
            (Some(3.0), Some(0.0), 1.0)
        );
    }

    #[test]
    fn ecdf() {
        let sorted: Sorted = [2.0, 1.0, 2.0, 5.0].into_iter().collect();
        assert_eq!(sorted.ecdf_steps(), [(1.0, 0.25), (2.0, 0.75), (5.0, 1.0)]);
        assert_eq!(sorted.ecdf(0.9), 0.0);
        assert_eq!(sorted.ecdf(2.0), 0.75);
    }
}
