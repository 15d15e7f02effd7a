//! A time series as a live chart needs it: appended to, bounded, with its gaps.

use std::collections::VecDeque;

/// One sample: seconds since the start of the series, value in the unit of the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds.
    pub t: f64,
    /// Value; never NaN.
    pub v: f64,
}

/// A bounded series in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    samples: VecDeque<Sample>,
}

/// Samples kept at most; at 4 Hz that is more than half an hour, after which every other one of the older half goes.
pub const CAPACITY: usize = 8_192;

/// What a legend says of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Newest value.
    pub now: f64,
    /// Smallest value.
    pub min: f64,
    /// Middle value.
    pub median: f64,
    /// Largest value.
    pub max: f64,
}

impl Series {
    /// Appends a sample; one that is not newer than the last or not a number is dropped.
    pub fn push(&mut self, sample: Sample) {
        if !sample.v.is_finite() || self.samples.back().is_some_and(|last| sample.t <= last.t) {
            return;
        }
        self.samples.push_back(sample);
        if self.samples.len() > CAPACITY {
            let half = CAPACITY / 2;
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index > half || index % 2 == 0
            });
        }
    }

    /// Builds a series from samples in any order.
    pub fn from_samples(samples: impl IntoIterator<Item = Sample>) -> Self {
        let mut sorted: Vec<Sample> = samples.into_iter().filter(|s| s.t.is_finite()).collect();
        sorted.sort_by(|a, b| a.t.total_cmp(&b.t));
        let mut series = Self::default();
        for sample in sorted {
            series.push(sample);
        }
        series
    }

    /// The samples, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Sample> + '_ {
        self.samples.iter().copied()
    }

    /// True before the first sample.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// The newest sample.
    pub fn last(&self) -> Option<Sample> {
        self.samples.back().copied()
    }

    /// The sample nearest to `t`, for a crosshair.
    pub fn nearest(&self, t: f64) -> Option<Sample> {
        let after = self.samples.partition_point(|s| s.t < t);
        let right = self.samples.get(after).copied();
        let left = after.checked_sub(1).and_then(|i| self.samples.get(i)).copied();
        match (left, right) {
            (Some(l), Some(r)) => Some(if t - l.t <= r.t - t { l } else { r }),
            (one, other) => one.or(other),
        }
    }

    /// Now, min, median and max of the samples from `from_s` on.
    pub fn summary(&self, from_s: f64) -> Option<Summary> {
        let mut values: Vec<f64> = self
            .samples
            .iter()
            .filter(|s| s.t >= from_s)
            .map(|s| s.v)
            .collect();
        let now = *values.last()?;
        values.sort_by(f64::total_cmp);
        let (min, median, max) = (*values.first()?, *values.get(values.len() / 2)?, *values.last()?);
        Some(Summary {
            now,
            min,
            median,
            max,
        })
    }

    /// The stretches without samples, longer than `longest_s`.
    pub fn gaps(&self, longest_s: f64) -> Vec<(f64, f64)> {
        let times = self.samples.iter().map(|s| s.t);
        times
            .clone()
            .zip(times.skip(1))
            .filter(|(a, b)| b - a > longest_s)
            .collect()
    }

    /// Lines to draw between `from_s` and `to_s`: broken at gaps, at most two points (least and greatest) a column.
    pub fn lines(&self, from_s: f64, to_s: f64, columns: usize, gap_s: f64) -> Vec<Vec<Sample>> {
        let width = ((to_s - from_s) / columns.max(1) as f64).max(1e-9);
        let mut lines = Vec::new();
        let mut line: Vec<Sample> = Vec::new();
        let mut column: Option<(i64, Sample, Sample)> = None;
        let mut last_t = f64::NEG_INFINITY;
        let flush = |column: &mut Option<(i64, Sample, Sample)>, line: &mut Vec<Sample>| {
            if let Some((_, a, b)) = column.take() {
                let (first, second) = if a.t <= b.t { (a, b) } else { (b, a) };
                line.push(first);
                if second != first {
                    line.push(second);
                }
            }
        };
        for s in self
            .samples
            .iter()
            .copied()
            .filter(|s| s.t >= from_s - gap_s && s.t <= to_s)
        {
            if s.t - last_t > gap_s && last_t.is_finite() {
                flush(&mut column, &mut line);
                lines.push(std::mem::take(&mut line));
            }
            last_t = s.t;
            let at = ((s.t - from_s) / width).floor() as i64;
            match &mut column {
                Some((current, least, greatest)) if *current == at => {
                    if s.v < least.v {
                        *least = s;
                    }
                    if s.v > greatest.v {
                        *greatest = s;
                    }
                }
                _ => {
                    flush(&mut column, &mut line);
                    column = Some((at, s, s));
                }
            }
        }
        flush(&mut column, &mut line);
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(points: &[(f64, f64)]) -> Series {
        Series::from_samples(points.iter().map(|&(t, v)| Sample { t, v }))
    }

    #[test]
    fn gaps_break_the_line() {
        let s = series(&[(0.0, 1.0), (1.0, 2.0), (10.0, 3.0), (11.0, 4.0)]);
        let lines = s.lines(0.0, 11.0, 100, 3.0);
        assert_eq!(lines.len(), 2);
        assert_eq!(s.gaps(3.0), [(1.0, 10.0)]);
    }

    #[test]
    fn a_column_keeps_its_extremes() {
        let s = Series::from_samples((0..1000).map(|i| Sample {
            t: f64::from(i),
            v: f64::from(i % 10),
        }));
        let lines = s.lines(0.0, 1000.0, 20, 5.0);
        let points: Vec<_> = lines.into_iter().flatten().collect();
        assert!(points.len() <= 40, "{}", points.len());
        assert!(points.iter().any(|p| p.v == 9.0) && points.iter().any(|p| p.v == 0.0));
        assert!(points.windows(2).all(|w| w[0].t < w[1].t));
    }

    #[test]
    fn memory_is_bounded_and_order_kept() {
        let s = Series::from_samples((0..40_000).map(|i| Sample {
            t: f64::from(i),
            v: 1.0,
        }));
        assert!(s.len() <= CAPACITY);
        assert_eq!(s.last().map(|s| s.t), Some(39_999.0));
    }

    #[test]
    fn the_crosshair_finds_the_nearest() {
        let s = series(&[(0.0, 1.0), (4.0, 2.0)]);
        assert_eq!(s.nearest(1.9).map(|s| s.v), Some(1.0));
        assert_eq!(s.nearest(99.0).map(|s| s.v), Some(2.0));
        assert_eq!(
            s.summary(0.0),
            Some(Summary {
                now: 2.0,
                min: 1.0,
                median: 2.0,
                max: 2.0
            })
        );
        assert_eq!(Series::default().nearest(0.0), None);
    }
}
