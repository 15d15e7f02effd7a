//! The Mann–Whitney U test, two-sided.

use statrs::distribution::{ContinuousCDF, Normal};

use super::RankError;
use super::u_counts::{EXACT_SMALL, UCounts, is_exact};

/// Largest sample on either side for the exact distribution with ties.
pub(crate) const EXACT_TIES: usize = 25;

/// How to find p.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Method {
    /// Exact wherever it is cheap. Without ties: both sides up to 50, or one up to 8 and the other up to 10,000.
    /// With ties: both up to 25, over all orders of the very values found (so does Go's `benchstat`). Else
    /// approximate.
    #[default]
    Auto,
    /// As `scipy.stats.mannwhitneyu(method="auto")`: exact when there are no ties and one side has at most 8 values
    /// (and the other at most 10,000), else approximate.
    Scipy,
    /// Always the normal approximation with the corrections for ties and continuity.
    Approximate,
}

/// How p was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Used {
    /// Counted, without ties.
    Exact,
    /// Counted over all orders of values with ties.
    ExactTies,
    /// Normal approximation with the corrections for ties and continuity.
    Approximate,
}

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// U of the first sample: in how many pairs its value is the larger one, ties counting one half.
    pub u: f64,
    /// Two-sided p in 0..=1.
    pub p: f64,
    /// How p was found.
    pub used: Used,
}

/// The smallest two-sided p that `n` against `m` values can have: 2 / C(n + m, n), at most 1.
pub fn smallest_p(n: usize, m: usize) -> f64 {
    let (small, large) = (n.min(m), n.max(m));
    let mut p = 2.0;
    for i in 1..=small {
        p *= i as f64 / (large + i) as f64;
        if p == 0.0 {
            break;
        }
    }
    p.min(1.0)
}

/// Ranks of both samples together.
struct Ranks {
    /// Groups of equal values, ascending: how many of the first sample, how many of both.
    groups: Vec<(usize, usize)>,
    /// Twice the sum of the first sample's ranks, ties having the mean of theirs.
    doubled_sum: u128,
}

impl Ranks {
    fn new(first: &[f64], second: &[f64]) -> Self {
        let mut all: Vec<(f64, bool)> = first
            .iter()
            .map(|value| (*value, true))
            .chain(second.iter().map(|value| (*value, false)))
            .collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut groups = Vec::new();
        let mut doubled_sum = 0;
        let mut before = 0_usize;
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            let of_first = group.iter().filter(|(_, first)| *first).count();
            // Ranks before + 1 ..= before + len have twice the mean 2 before + len + 1.
            doubled_sum += of_first as u128 * (2 * before + group.len() + 1) as u128;
            before += group.len();
            groups.push((of_first, group.len()));
        }
        Self { groups, doubled_sum }
    }

    fn has_ties(&self) -> bool {
        self.groups.iter().any(|(_, len)| *len > 1)
    }
}

/// Tests whether values of `first` tend to be larger or smaller than those of `second`.
///
/// # Errors
/// [`RankError`] when a side is empty or holds NaN.
pub fn mann_whitney(first: &[f64], second: &[f64], method: Method) -> Result<MannWhitney, RankError> {
    let (n, m) = (first.len(), second.len());
    if n == 0 || m == 0 {
        return Err(RankError::Empty { before: n, after: m });
    }
    if first.iter().chain(second).any(|value| value.is_nan()) {
        return Err(RankError::Value {
            expected: "numbers, not NaN",
        });
    }
    let ranks = Ranks::new(first, second);
    let pairs = n as f64 * m as f64;
    let smallest_sum = n as u128 * (n as u128 + 1);
    let doubled_u = ranks.doubled_sum.saturating_sub(smallest_sum);
    let u = doubled_u as f64 / 2.0;
    let (p, used) = match (ranks.has_ties(), method) {
        (false, Method::Auto) if is_exact(n, m) => (exact_p(n, m, u), Used::Exact),
        (false, Method::Scipy) if n.min(m) <= EXACT_SMALL && is_exact(n, m) => {
            (exact_p(n, m, u), Used::Exact)
        }
        (true, Method::Auto) if n.max(m) <= EXACT_TIES => (exact_ties_p(&ranks, n, n + m), Used::ExactTies),
        _ => (approximate_p(&ranks, n, m, u.max(pairs - u)), Used::Approximate),
    };
    Ok(MannWhitney { u, p, used })
}

fn exact_p(n: usize, m: usize, u: f64) -> f64 {
    let smaller = u.min(n as f64 * m as f64 - u);
    UCounts::shared(n, m).map_or(1.0, |counts| (2.0 * counts.at_most(smaller as usize)).min(1.0))
}

/// Twice the smaller tail of the rank sum over all ways to choose `n` of the values: ties keep their mean ranks.
fn exact_ties_p(ranks: &Ranks, n: usize, total: usize) -> f64 {
    // No rank sum of n values is larger than twice the sum of the n largest ranks; all of them bound it.
    let width = total * (total + 1) + 1;
    // ways[k][s]: ways to choose k values with doubled rank sum s. At most C(50, 25) = 1.3e14: whole in f64.
    let mut ways = vec![vec![0.0_f64; width]; n + 1];
    if let Some(none) = ways.first_mut().and_then(|row| row.first_mut()) {
        *none = 1.0;
    }
    // Beyond `ends[k]` no sum of k of the values so far lies: there is nothing to add.
    let mut ends = vec![0; n + 1];
    if let Some(none) = ends.first_mut() {
        *none = 1;
    }
    let mut before = 0;
    for (_, len) in &ranks.groups {
        let doubled_rank = 2 * before + len + 1;
        before += len;
        // From the largest number of values down: what is read is of the groups before this one.
        for k in (1..=n.min(before)).rev() {
            let (fewer, from_here) = ways.split_at_mut(k);
            let (known, end) = ends.split_at_mut(k);
            let (Some(row), Some(end)) = (from_here.first_mut(), end.first_mut()) else {
                continue;
            };
            let mut choose = 1.0;
            for take in 1..=(*len).min(k) {
                choose *= (len - take + 1) as f64 / take as f64;
                let add = take * doubled_rank;
                let used = known.get(k - take).copied().unwrap_or(0);
                let source = fewer.get(k - take).into_iter().flatten().take(used);
                for (slot, from) in row.iter_mut().skip(add).zip(source) {
                    *slot += choose * from;
                }
                if used > 0 {
                    *end = (*end).max(used + add);
                }
            }
        }
    }
    let row = ways.pop().unwrap_or_default();
    let all: f64 = row.iter().sum();
    let found = usize::try_from(ranks.doubled_sum).unwrap_or(usize::MAX);
    let at_most: f64 = row.iter().take(found.saturating_add(1)).sum();
    let at_least: f64 = row.iter().skip(found).sum();
    (2.0 * at_most.min(at_least) / all).min(1.0)
}

/// `larger_u` is the larger of the two U, as scipy takes it.
fn approximate_p(ranks: &Ranks, n: usize, m: usize, larger_u: f64) -> f64 {
    let pairs = n as f64 * m as f64;
    let total = (n + m) as f64;
    let tie_term: f64 = ranks
        .groups
        .iter()
        .map(|(_, len)| {
            let len = *len as f64;
            len * len * len - len
        })
        .sum();
    let variance = pairs / 12.0 * (total + 1.0 - tie_term / (total * (total - 1.0)));
    // All values equal: nothing can be said.
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (larger_u - pairs / 2.0 - 0.5) / variance.sqrt();
    (2.0 * Normal::standard().sf(z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_complete_separations() {
        for (n, p) in [(3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0), (6, 2.0 / 924.0)] {
            let low: Vec<f64> = (0..n).map(f64::from).collect();
            let high: Vec<f64> = (n..2 * n).map(f64::from).collect();
            let test = mann_whitney(&low, &high, Method::Auto).unwrap();
            assert_eq!((test.u, test.used), (0.0, Used::Exact));
            assert!((test.p - p).abs() < 1e-15, "{test:?}");
            assert!((smallest_p(low.len(), high.len()) - p).abs() < 1e-15);
        }
    }

    #[test]
    fn ties_counted_by_hand() {
        // 1 1 | 2 2: of the six choices of two values one has the sum of the first sample, one the opposite.
        let test = mann_whitney(&[1.0, 1.0], &[2.0, 2.0], Method::Auto).unwrap();
        assert_eq!((test.u, test.used), (0.0, Used::ExactTies));
        assert!((test.p - 1.0 / 3.0).abs() < 1e-15, "{test:?}");
        let all = mann_whitney(&[1.0; 4], &[1.0; 4], Method::Auto).unwrap();
        assert_eq!((all.p, all.u), (1.0, 8.0));
        assert_eq!(mann_whitney(&[1.0; 30], &[1.0; 30], Method::Auto).unwrap().p, 1.0);
    }

    #[test]
    fn nothing_to_compare() {
        assert!(mann_whitney(&[], &[1.0], Method::Auto).is_err());
        assert!(mann_whitney(&[f64::NAN], &[1.0], Method::Auto).is_err());
        assert_eq!(mann_whitney(&[1.0], &[2.0], Method::Auto).unwrap().p, 1.0);
    }
}
