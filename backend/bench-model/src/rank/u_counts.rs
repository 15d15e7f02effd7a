//! How many of the C(n + m, n) orders of two samples without ties give each value of U.

use std::cell::RefCell;
use std::rc::Rc;

/// The exact distribution of U for samples of `n` and `m` without ties.
pub(crate) struct UCounts {
    /// `below[u]`: how many orders give at most `u`.
    below: Vec<u128>,
}

/// The largest sizes whose counts are exact in 128 bits: C(100, 50) is 1.0e29, C(10008, 8) 2.5e27.
pub(crate) const EXACT_BOTH: usize = 50;
pub(crate) const EXACT_SMALL: usize = 8;
const EXACT_LARGE: usize = 10_000;

/// Whether [`UCounts::new`] answers.
pub(crate) fn is_exact(n: usize, m: usize) -> bool {
    let (small, large) = (n.min(m), n.max(m));
    large <= EXACT_BOTH || small <= EXACT_SMALL && large <= EXACT_LARGE
}

/// Counts with the smaller and the larger size that they are of.
type OfSizes = ((usize, usize), Rc<UCounts>);

thread_local! {
    /// The counts that this thread asked for last: two megabytes at most.
    static LAST: RefCell<Option<OfSizes>> = const { RefCell::new(None) };
}

impl UCounts {
    /// As [`Self::new`]. The counts of the sizes that were asked for last are made once: a test and its interval want
    /// the same, and a matrix asks for cells of one size one after the other.
    pub(crate) fn shared(n: usize, m: usize) -> Option<Rc<Self>> {
        let sizes = (n.min(m), n.max(m));
        LAST.with_borrow_mut(|last| {
            if let Some((of, counts)) = last
                && *of == sizes
            {
                return Some(Rc::clone(counts));
            }
            let counts = Rc::new(Self::new(n, m)?);
            *last = Some((sizes, Rc::clone(&counts)));
            Some(counts)
        })
    }

    /// `None` where the counts would not be exact.
    pub(crate) fn new(n: usize, m: usize) -> Option<Self> {
        if !is_exact(n, m) {
            return None;
        }
        let (small, large) = (n.min(m), n.max(m));
        // The counts are the coefficients of the Gaussian binomial, the product of (1 - q^(large+i)) / (1 - q^i) for i
        // up to `small`. Each factor leaves a smaller Gaussian binomial, so every step is exact in whole numbers.
        let mut counts = vec![0_i128; n * m + 1];
        if let Some(first) = counts.first_mut() {
            *first = 1;
        }
        for i in 1..=small {
            for u in (large + i..counts.len()).rev() {
                let earlier = counts.get(u - large - i).copied().unwrap_or(0);
                if let Some(count) = counts.get_mut(u) {
                    *count -= earlier;
                }
            }
            for u in i..counts.len() {
                let earlier = counts.get(u - i).copied().unwrap_or(0);
                if let Some(count) = counts.get_mut(u) {
                    *count += earlier;
                }
            }
        }
        let mut sum = 0_u128;
        let below = counts
            .into_iter()
            .map(|count| {
                sum += u128::try_from(count).unwrap_or(0);
                sum
            })
            .collect();
        Some(Self { below })
    }

    /// Chance of a U of at most `u`.
    pub(crate) fn at_most(&self, u: usize) -> f64 {
        let total = self.below.last().copied().unwrap_or(1);
        self.below
            .get(u)
            .map_or(1.0, |below| *below as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_against_three() {
        let counts = UCounts::new(3, 3).unwrap();
        assert_eq!(counts.below, [1, 2, 4, 7, 10, 13, 16, 18, 19, 20]);
        assert_eq!(counts.at_most(0), 0.05);
        assert_eq!(counts.at_most(99), 1.0);
    }

    #[test]
    fn the_total_is_the_binomial_where_it_is_largest() {
        let total = |n, m| UCounts::new(n, m).unwrap().below.last().copied().unwrap();
        assert_eq!(total(50, 50), 100_891_344_545_564_193_334_812_497_256);
        assert_eq!(total(8, 10_000), 2_489_100_854_509_537_631_344_580_751);
        assert!(UCounts::new(51, 9).is_none());
        assert!(UCounts::new(8, 10_001).is_none());
    }
}
