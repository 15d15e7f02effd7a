//! Change points of a series over commits: where its level moved and stayed.
//!
//! The place of a change is the split that maximises the energy statistic of E-divisive (Matteson & James, *A
//! Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data*, JASA 109, 2014; exponent 1).
//! Whether it is one is decided by Student's t-test of the two segments, as Hunter does (Fleming et al., *Hunter:
//! Using Change Point Detection to Hunt for Performance Regressions*, ICPE 2023; now Apache Otava), instead of by
//! permutations: the same series always has the same change points, and three points behind a step suffice.
//!
//! ```text
//! segment ──▶ best split into two, up to the end        t-test at 0.05 / number of splits ──▶ split, both halves again
//!      └────▶ else best split with a free end (a hump)  t-test at 0.01 / number of splits ──▶ split, both halves again
//! at last: every change point against its two neighbours, the weakest that fails is taken out, until none does
//! ```
//!
//! Dividing by the number of splits (Bonferroni) bounds the chance of any alarm in a series of nothing but normal
//! noise by 0.06, whatever its length.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::quantile::Sorted;

/// Longest series that is looked at; give the newest points of a longer one.
pub const MAX_POINTS: usize = 2000;

/// Fewest points of a segment: one or two can be outliers.
pub const MIN_SEGMENT: usize = 3;

/// Chance of a false alarm that is spent on splits up to the end of a segment, and on humps inside it.
const SPLIT_ALPHA: f64 = 0.05;
const HUMP_ALPHA: f64 = 0.01;

/// A place where the level changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first point of the new level.
    pub index: usize,
    /// Two-sided p of the t-test between the levels before and after it.
    pub p: f64,
    /// Median of the level before.
    pub before: f64,
    /// Median of the level after.
    pub after: f64,
}

/// A stretch of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Index of its first point.
    pub start: usize,
    /// Index behind its last point.
    pub end: usize,
    /// Median of its points.
    pub median: f64,
}

/// Why a series is not looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangePointError {
    /// More than [`MAX_POINTS`].
    #[error("change points of {found} points: expected at most {MAX_POINTS}")]
    TooLong {
        /// How many.
        found: usize,
    },
    /// NaN or infinite.
    #[error("change points: point {index} is not a finite number")]
    NotFinite {
        /// Which point, from 0.
        index: usize,
    },
}

/// The change points of `values`, one a commit in their order; none below 2 × [`MIN_SEGMENT`] points.
///
/// # Errors
/// [`ChangePointError`] for a series that is too long or holds something that is no number.
pub fn change_points(values: &[f64]) -> Result<Vec<ChangePoint>, ChangePointError> {
    check(values)?;
    let distances = Distances::new(values);
    let mut open = vec![(0, values.len())];
    let mut edges = vec![0, values.len()];
    while let Some((start, end)) = open.pop() {
        for index in distances.splits(values, start, end) {
            edges.push(index);
        }
        edges.sort_unstable();
        edges.dedup();
        let inside: Vec<usize> = edges
            .iter()
            .copied()
            .filter(|at| (start..=end).contains(at))
            .collect();
        if inside.len() > 2 {
            open.extend(inside.iter().copied().zip(inside.iter().copied().skip(1)));
        }
    }
    Ok(confirm(values, edges))
}

fn check(values: &[f64]) -> Result<(), ChangePointError> {
    if values.len() > MAX_POINTS {
        return Err(ChangePointError::TooLong { found: values.len() });
    }
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(ChangePointError::NotFinite { index });
    }
    Ok(())
}

/// As [`change_points`], where the level is known to change at the indices `known`, in any order: each is a change
/// point whatever its p, and nothing is compared across it. Indices at or beyond an end say nothing.
///
/// # Errors
/// As [`change_points`].
pub fn change_points_with(values: &[f64], known: &[usize]) -> Result<Vec<ChangePoint>, ChangePointError> {
    check(values)?;
    let mut edges = vec![0, values.len()];
    edges.extend(known.iter().filter(|at| (1..values.len()).contains(*at)));
    edges.sort_unstable();
    edges.dedup();
    let mut found: Vec<usize> = Vec::new();
    for (start, end) in edges.iter().zip(edges.iter().skip(1)) {
        let part = values.get(*start..*end).unwrap_or_default();
        found.extend((*start > 0).then_some(*start));
        found.extend(change_points(part)?.iter().map(|point| start + point.index));
    }
    let mut all = vec![0];
    all.extend(found);
    all.push(values.len());
    Ok(described(values, &all))
}

/// The segments between the change points, in order; together they are the whole series.
pub fn segments(values: &[f64], points: &[ChangePoint]) -> Vec<Segment> {
    let starts = std::iter::once(0).chain(points.iter().map(|point| point.index));
    let ends = points.iter().map(|point| point.index).chain([values.len()]);
    starts
        .zip(ends)
        .filter_map(|(start, end)| {
            let median = Sorted::new(values.get(start..end)?.to_vec()).median()?;
            Some(Segment { start, end, median })
        })
        .collect()
}

/// Tests every edge against the segments beside it and takes out the weakest that fails, until none does.
fn confirm(values: &[f64], mut edges: Vec<usize>) -> Vec<ChangePoint> {
    let level = SPLIT_ALPHA / splits_of(values.len()).max(1) as f64;
    loop {
        let found = described(values, &edges);
        let weakest = found
            .iter()
            .filter(|point| point.p > level)
            .max_by(|a, b| a.p.total_cmp(&b.p))
            .map(|point| point.index);
        match weakest {
            Some(index) => edges.retain(|edge| *edge != index),
            None => return found,
        }
    }
}

/// Every edge but the first and the last with the levels beside it.
fn described(values: &[f64], edges: &[usize]) -> Vec<ChangePoint> {
    let triples = edges.iter().zip(edges.iter().skip(1)).zip(edges.iter().skip(2));
    triples
        .map(|((start, index), end)| {
            let before = values.get(*start..*index).unwrap_or_default();
            let after = values.get(*index..*end).unwrap_or_default();
            let median = |of: &[f64]| Sorted::new(of.to_vec()).median().unwrap_or(0.0);
            ChangePoint {
                index: *index,
                p: t_test(before, after),
                before: median(before),
                after: median(after),
            }
        })
        .collect()
}

/// Number of ways to cut a segment of `len` points in two of at least [`MIN_SEGMENT`].
fn splits_of(len: usize) -> usize {
    (len + 1).saturating_sub(2 * MIN_SEGMENT)
}

/// Student's t-test with a common variance, two-sided. Two constant levels are certain when they differ.
pub(crate) fn t_test(one: &[f64], two: &[f64]) -> f64 {
    let (n, m) = (one.len() as f64, two.len() as f64);
    if n < 1.0 || m < 1.0 || n + m < 3.0 {
        return 1.0;
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (mean_one, mean_two) = (mean(one), mean(two));
    let squares = |of: &[f64], mean: f64| of.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let freedom = n + m - 2.0;
    let variance = (squares(one, mean_one) + squares(two, mean_two)) / freedom;
    let difference = mean_one - mean_two;
    if variance <= 0.0 {
        return if difference == 0.0 { 1.0 } else { 0.0 };
    }
    let t = difference / (variance * (1.0 / n + 1.0 / m)).sqrt();
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |law| (2.0 * law.sf(t.abs())).clamp(0.0, 1.0))
}

/// Sums of distances between points, so that any sum over a rectangle of pairs takes four look-ups.
struct Distances {
    width: usize,
    /// `sums[i * width + j]`: sum of |x_a - x_b| over a < i, b < j.
    sums: Vec<f64>,
}

impl Distances {
    fn new(values: &[f64]) -> Self {
        let width = values.len() + 1;
        let mut sums = vec![0.0; width];
        for a in values {
            let above = sums.len() - width;
            let mut row = 0.0;
            sums.push(0.0);
            for (j, b) in values.iter().enumerate() {
                row += (a - b).abs();
                let over = sums.get(above + j + 1).copied().unwrap_or(0.0);
                sums.push(over + row);
            }
        }
        Self { width, sums }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.sums.get(i * self.width + j).copied().unwrap_or(0.0)
    }

    /// Sum of distances between points of `a..b` and of `c..d`.
    fn between(&self, (a, b): (usize, usize), (c, d): (usize, usize)) -> f64 {
        self.at(b, d) - self.at(a, d) - self.at(b, c) + self.at(a, c)
    }

    /// The energy statistic Q of splitting `start..end` at `middle`, equation 7 of Matteson & James.
    fn energy(&self, start: usize, middle: usize, end: usize) -> f64 {
        let (n, m) = ((middle - start) as f64, (end - middle) as f64);
        let (left, right) = ((start, middle), (middle, end));
        let across = 2.0 * self.between(left, right) / (n * m);
        // Each pair is counted twice in a square: n (n - 1) of them.
        let inside = |side: (usize, usize), size: f64| self.between(side, side) / (size * (size - 1.0));
        (across - inside(left, n) - inside(right, m)) * n * m / (n + m)
    }

    /// The split of `start..end` with the largest energy over `ends`: middle and end.
    fn best(&self, start: usize, ends: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
        ends.flat_map(|end| {
            (start + MIN_SEGMENT..=end.saturating_sub(MIN_SEGMENT)).map(move |middle| (middle, end))
        })
        .map(|(middle, end)| (self.energy(start, middle, end), middle, end))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, middle, end)| (middle, end))
    }

    /// The change points that one look at `start..end` finds: none, one, or the two ends of a hump.
    fn splits(&self, values: &[f64], start: usize, end: usize) -> Vec<usize> {
        let count = splits_of(end - start);
        if count == 0 {
            return Vec::new();
        }
        let p = |middle: usize, end: usize| {
            t_test(
                values.get(start..middle).unwrap_or_default(),
                values.get(middle..end).unwrap_or_default(),
            )
        };
        if let Some((middle, end)) = self.best(start, std::iter::once(end))
            && p(middle, end) <= SPLIT_ALPHA / count as f64
        {
            return vec![middle];
        }
        // A level that comes and goes again hides from a single cut; a cut with a free end sees its beginning.
        let pairs = count * (count + 1) / 2;
        if let Some((middle, inner)) = self.best(start, start + 2 * MIN_SEGMENT..=end)
            && p(middle, inner) <= HUMP_ALPHA / pairs as f64
        {
            return vec![middle];
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_levels_are_found_exactly() {
        let values: Vec<f64> = [(10.0, 12), (13.0, 20), (9.0, 7)]
            .iter()
            .flat_map(|(level, count)| vec![*level; *count])
            .collect();
        let found = change_points(&values).unwrap();
        let places: Vec<_> = found
            .iter()
            .map(|point| (point.index, point.before, point.after))
            .collect();
        assert_eq!(places, [(12, 10.0, 13.0), (32, 13.0, 9.0)]);
        let parts: Vec<_> = segments(&values, &found)
            .iter()
            .map(|part| (part.start, part.end, part.median))
            .collect();
        assert_eq!(parts, [(0, 12, 10.0), (12, 32, 13.0), (32, 39, 9.0)]);
    }

    #[test]
    fn a_known_change_splits_a_level_wherever_it_is() {
        let values: Vec<f64> = [(10.0, 12), (13.0, 8)]
            .iter()
            .flat_map(|(level, count)| vec![*level; *count])
            .collect();
        let places = |known: &[usize]| -> Vec<usize> {
            let found = change_points_with(&values, known).unwrap();
            found.iter().map(|point| point.index).collect()
        };
        assert_eq!(places(&[]), [12]);
        assert_eq!(places(&[19, 5, 5, 0, 20, 99]), [5, 12, 19]);
        assert_eq!(places(&[12]), [12]);
        assert!(change_points_with(&[], &[0, 1]).unwrap().is_empty());
    }

    #[test]
    fn nothing_to_find() {
        assert!(change_points(&[]).unwrap().is_empty());
        assert!(
            change_points(&[1.0, 1.0, 9.0, 9.0, 9.0]).unwrap().is_empty(),
            "too short"
        );
        assert!(change_points(&[5.0; 40]).unwrap().is_empty());
        assert_eq!(segments(&[5.0; 4], &[]).len(), 1);
        assert!(change_points(&[f64::NAN; 4]).is_err());
        assert!(change_points(&vec![1.0; MAX_POINTS + 1]).is_err());
    }

    #[test]
    fn the_t_test_is_that_of_scipy() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../tests/data/scipy.json")).unwrap();
        for row in reference["t_test"].as_array().unwrap() {
            let list = |name: &str| -> Vec<f64> {
                row[name]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|v| v.as_f64().unwrap())
                    .collect()
            };
            let (found, expected) = (t_test(&list("x"), &list("y")), row["p"].as_f64().unwrap());
            assert!((found - expected).abs() <= 1e-9, "{found} {expected}");
        }
    }
}
