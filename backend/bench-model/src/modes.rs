//! Two peaks in the samples: flagged, never averaged away.
//!
//! Test: the dip of Hartigan & Hartigan (*The dip test of unimodality*, Annals of Statistics 13, 1985), the largest
//! distance between the empirical distribution and the nearest one with a single peak, against its 99 % quantile for
//! uniform samples. The uniform distribution is the least favourable with one peak, so of samples with one peak of
//! any shape at most one in a hundred is flagged. In addition the two groups have to lie at least
//! [`MIN_SEPARATION_RATIO`] apart: rounding to a coarse clock makes peaks, too, but none that matters.

use crate::quantile::Sorted;

/// Fewest samples that are looked at: below, no arrangement is rare enough.
pub const MIN_SAMPLES: usize = 6;

/// The medians of the two groups differ by at least this share of the lower one: 0.02 for 2 %.
pub const MIN_SEPARATION_RATIO: f64 = 0.02;

/// More samples are thinned to so many evenly spaced order statistics first: the shape stays.
const MAX_SAMPLES: usize = 2000;

/// 99 % quantiles of √n × dip for n uniform samples (10,000 to 200,000 draws each with `diptest` 0.12.0;
/// `tests/data/dip.py`). Between sizes the nearest smaller and larger are interpolated in n.
const CRITICAL: [(usize, f64); 15] = [
    (6, 0.4702),
    (7, 0.4877),
    (8, 0.4893),
    (9, 0.4930),
    (10, 0.5061),
    (12, 0.5137),
    (15, 0.5259),
    (20, 0.5408),
    (30, 0.5562),
    (50, 0.5723),
    (100, 0.5901),
    (200, 0.5974),
    (500, 0.6196),
    (1000, 0.6208),
    (2000, 0.6248),
];

/// Samples in two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoPeaks {
    /// Median of the lower group.
    pub lower: f64,
    /// Median of the upper group.
    pub upper: f64,
    /// Share of the samples in the lower group, in 0..1.
    pub lower_share: f64,
    /// The dip, in 0..=0.25.
    pub dip: f64,
}

/// The two groups that `values` fall into, when one peak is implausible (one false alarm in a hundred at most).
pub fn two_peaks(values: &Sorted) -> Option<TwoPeaks> {
    if values.len() < MIN_SAMPLES {
        return None;
    }
    let thinned = thin(values);
    let dip = dip(&thinned);
    let size = thinned.len() as f64;
    if dip * size.sqrt() <= critical(thinned.len()) {
        return None;
    }
    split(values, dip)
}

/// Cuts at the widest gap that leaves at least a tenth (and two samples) on each side.
fn split(values: &Sorted, dip: f64) -> Option<TwoPeaks> {
    let all = values.values();
    let margin = (all.len() / 10).max(2);
    let (at, _) = all
        .iter()
        .zip(all.iter().skip(1))
        .enumerate()
        .map(|(at, (one, next))| (at + 1, next - one))
        .filter(|(at, _)| *at >= margin && all.len() - at >= margin)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (low, high) = all.split_at_checked(at)?;
    let lower = Sorted::new(low.to_vec()).median()?;
    let upper = Sorted::new(high.to_vec()).median()?;
    (upper - lower >= MIN_SEPARATION_RATIO * lower.abs()).then(|| TwoPeaks {
        lower,
        upper,
        lower_share: low.len() as f64 / all.len() as f64,
        dip,
    })
}

fn thin(values: &Sorted) -> Sorted {
    if values.len() <= MAX_SAMPLES {
        return values.clone();
    }
    let last = MAX_SAMPLES - 1;
    (0..=last)
        .filter_map(|i| values.quantile(i as f64 / last as f64))
        .collect()
}

fn critical(n: usize) -> f64 {
    let after = CRITICAL.iter().position(|(size, _)| *size >= n);
    let pair = match after {
        Some(0) => CRITICAL.first().zip(CRITICAL.first()),
        Some(at) => CRITICAL.get(at - 1).zip(CRITICAL.get(at)),
        None => CRITICAL.last().zip(CRITICAL.last()),
    };
    pair.map_or(f64::INFINITY, |((small, low), (large, high))| {
        if small == large {
            *low
        } else {
            low + (high - low) * (n as f64 - *small as f64) / (*large as f64 - *small as f64)
        }
    })
}

/// One point of the empirical distribution: the value, the share below it, the share at most it.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    below: f64,
    at_most: f64,
}

/// The dip statistic of sorted values, between 1 / 2n and 1/4.
pub fn dip(values: &Sorted) -> f64 {
    let size = values.len() as f64;
    let mut points: Vec<Point> = Vec::new();
    for group in values.values().chunk_by(|a, b| a == b) {
        let below = points.last().map_or(0.0, |point| point.at_most);
        if let Some(x) = group.first() {
            points.push(Point {
                x: *x,
                below,
                at_most: below + group.len() as f64 / size,
            });
        }
    }
    let mut found = 1.0 / size.max(1.0);
    let mut rest: &[Point] = &points;
    // The interval that holds the peak shrinks until the bow between the convex and the concave hull inside is not
    // larger than what the parts outside already cost.
    while rest.len() > 1 {
        let convex = hull(rest, |point| point.below, 1.0);
        let concave = hull(rest, |point| point.at_most, -1.0);
        let (distance, left, right) = widest(&convex, &concave);
        if distance <= found {
            break;
        }
        // The corners themselves belong to the peak: a distribution with one peak may jump there.
        let outside = |upto: bool| {
            let gap = |((point, low), high): ((&Point, &f64), &f64)| {
                if upto {
                    point.at_most - low
                } else {
                    high - point.below
                }
            };
            let all = rest.iter().zip(&convex.at).zip(&concave.at).map(gap);
            let worst = |gaps: &mut dyn Iterator<Item = f64>| gaps.fold(0.0, f64::max);
            if upto {
                worst(&mut all.take(left))
            } else {
                worst(&mut all.skip(right + 1))
            }
        };
        found = found.max(outside(true)).max(outside(false));
        if left == 0 && right + 1 == rest.len() {
            break;
        }
        rest = rest.get(left..=right).unwrap_or_default();
    }
    found / 2.0
}

/// A hull: its height at every point, and which points it touches.
struct Hull {
    at: Vec<f64>,
    corners: Vec<usize>,
}

/// The greatest convex minorant of `height` (`sign` 1), or the least concave majorant (`sign` -1).
fn hull(points: &[Point], height: impl Fn(&Point) -> f64, sign: f64) -> Hull {
    let place: Vec<(f64, f64)> = points
        .iter()
        .map(|point| (point.x, sign * height(point)))
        .collect();
    let of = |index: usize| place.get(index).copied().unwrap_or_default();
    let slope = |from: usize, to: usize| (of(to).1 - of(from).1) / (of(to).0 - of(from).0);
    let mut corners: Vec<usize> = Vec::new();
    for index in 0..place.len() {
        while let [.., one, two] = corners.as_slice()
            && slope(*one, *two) >= slope(*two, index)
        {
            corners.pop();
        }
        corners.push(index);
    }
    let mut at = Vec::with_capacity(place.len());
    for (from, to) in corners.iter().zip(corners.iter().skip(1)) {
        let rise = slope(*from, *to);
        at.extend((*from..*to).map(|index| sign * (of(*from).1 + rise * (of(index).0 - of(*from).0))));
    }
    at.extend(corners.last().map(|last| sign * of(*last).1));
    Hull { at, corners }
}

/// The largest distance between the hulls at a corner of either, and the interval of corners around it.
fn widest(convex: &Hull, concave: &Hull) -> (f64, usize, usize) {
    let gap = |index: &usize| -> f64 {
        let high = concave.at.get(*index).copied().unwrap_or(0.0);
        (high - convex.at.get(*index).copied().unwrap_or(0.0)).abs()
    };
    let largest = |corners: &[usize]| corners.iter().map(gap).fold(0.0, f64::max);
    let (left_gap, right_gap) = (largest(&convex.corners), largest(&concave.corners));
    if right_gap > left_gap {
        let right = concave
            .corners
            .iter()
            .rev()
            .find(|at| gap(at) == right_gap)
            .copied();
        let right = right.unwrap_or(0);
        let left = convex.corners.iter().rev().find(|at| **at <= right).copied();
        (right_gap, left.unwrap_or(0), right)
    } else {
        let left = convex
            .corners
            .iter()
            .find(|at| gap(at) == left_gap)
            .copied()
            .unwrap_or(0);
        let right = concave.corners.iter().find(|at| **at >= left).copied();
        (left_gap, left, right.unwrap_or(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peaks(values: &[f64]) -> Option<TwoPeaks> {
        two_peaks(&Sorted::new(values.to_vec()))
    }

    #[test]
    fn two_clear_groups_are_flagged_and_told_apart() {
        let found = peaks(&[1.0, 1.01, 5.0, 1.02, 5.01, 1.03, 5.02, 5.03]).unwrap();
        assert!((found.lower - 1.015).abs() < 1e-12 && (found.upper - 5.015).abs() < 1e-12);
        assert_eq!(found.lower_share, 0.5);
        assert!((found.dip - 0.248_125).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn one_group_an_outlier_and_a_coarse_clock_are_not() {
        assert_eq!(peaks(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]), None);
        assert_eq!(peaks(&[1.0, 1.1, 1.2, 1.25, 1.3, 9.0]), None);
        assert_eq!(peaks(&[100.0, 100.0, 100.0, 101.0, 101.0, 101.0]), None);
        assert_eq!(peaks(&[1.0; 50]), None);
        assert_eq!(peaks(&[1.0, 9.0, 1.0, 9.0]), None);
    }
}
