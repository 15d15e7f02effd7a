//! What testing two samples costs, told from their sizes alone: a bound for the files of strangers.

use super::mann_whitney::EXACT_TIES;
use super::u_counts::{EXACT_BOTH, EXACT_SMALL, is_exact};

/// Looking for four differences by counting: each takes 64 looks at both sides. Sorting and the rest is less.
const EACH_VALUE: u64 = 4 * 64 + 64;

/// Steps of a nanosecond or so that the test of `before` against `after` values and its interval take at most: those
/// of values without ties where they are more, else those with.
pub(crate) fn steps(before: usize, after: usize) -> u64 {
    let (small, large) = (before.min(after) as u64, before.max(after) as u64);
    let all = small + large;
    let exact = if large <= EXACT_TIES as u64 {
        // Ways to choose: rows of numbers of values, places for their doubled rank sums, once a value. A third of the
        // places is reached.
        (before as u64 + 1) * (all * (all + 1) + 1) * all / 3
    } else if large > EXACT_BOTH as u64 && small <= EXACT_SMALL as u64 && is_exact(before, after) {
        // Two passes a factor over all values of U. Up to 50 a side the counts are shared by cells of one size.
        2 * small * (small * large + 1)
    } else {
        0
    };
    exact.saturating_add(all.saturating_mul(EACH_VALUE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_costs_more_than_what_is_approximated() {
        assert!(steps(25, 25) > 20 * steps(26, 26));
        assert!(steps(8, 10_000) > steps(9, 10_000));
        assert!(steps(2_000_000, 2_000_000) < 2_000_000_000);
    }
}
