//! The interval of each cell on one axis for the whole matrix, so that cells can be compared by eye.

use fleethold_api_types::bench::{Comparison, JudgedCell};

use super::matrix::cell;

/// The common axis of all cells of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forest {
    low: f64,
    high: f64,
    /// Of logarithms: factors instead of percents.
    log: bool,
}

/// One cell on it, in percent of the width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// Left edge and width of the band of changes that do not count.
    pub band: (f64, f64),
    /// No change.
    pub zero: f64,
    /// Ends of the interval.
    pub interval: (f64, f64),
    /// The estimate.
    pub point: f64,
}

/// Room at both ends, as a share of the range.
const ROOM: f64 = 0.06;

impl Forest {
    /// The axis that holds every cell of a metric and the bands around no change.
    pub fn of(comparison: &Comparison, metric: &str) -> Self {
        let cells = || comparison.rows.iter().filter_map(|r| cell(r, metric));
        let log = cells()
            .filter_map(|c| c.ratio)
            .any(|r| !(0.5..=2.0).contains(&r.estimate));
        let axis = Self {
            low: 0.0,
            high: 0.0,
            log,
        };
        let (mut low, mut high) = (0.0f64, 0.0f64);
        for c in cells() {
            let Some(ratio) = c.ratio else { continue };
            for end in [Some(ratio.estimate), ratio.low, ratio.high]
                .into_iter()
                .flatten()
            {
                let at = axis.at(end);
                // an interval that reaches to nothing or beyond all bounds ends at the edge
                if at.is_finite() && at.abs() < 40.0 {
                    low = low.min(at);
                    high = high.max(at);
                }
            }
            low = low.min(axis.at(1.0 - c.threshold_ratio));
            high = high.max(axis.at(1.0 + c.threshold_ratio));
        }
        let range = (high - low).max(0.02);
        Self {
            low: low - range * ROOM,
            high: high + range * ROOM,
            log,
        }
    }

    fn at(self, ratio: f64) -> f64 {
        if self.log { ratio.ln() } else { ratio - 1.0 }
    }

    fn percent(self, ratio: f64) -> f64 {
        let at = self.at(ratio);
        if at.is_nan() {
            return 0.0;
        }
        ((at - self.low) / (self.high - self.low) * 100.0).clamp(0.0, 100.0)
    }

    /// Where a cell lies; `None` without a change.
    pub fn place(self, cell: &JudgedCell) -> Option<Placed> {
        let ratio = cell.ratio?;
        let band = (
            self.percent(1.0 - cell.threshold_ratio),
            self.percent(1.0 + cell.threshold_ratio),
        );
        Some(Placed {
            band: (band.0, band.1 - band.0),
            zero: self.percent(1.0),
            interval: (
                ratio.low.map_or(0.0, |l| self.percent(l)),
                ratio.high.map_or(100.0, |h| self.percent(h)),
            ),
            point: self.percent(ratio.estimate),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bench::testing::comparison;

    #[test]
    fn every_cell_lies_on_one_axis_inside_it() {
        let c = comparison();
        let forest = Forest::of(&c, "rate");
        let placed: Vec<Placed> = c
            .rows
            .iter()
            .filter_map(|r| forest.place(r.cells.first()?))
            .collect();
        assert_eq!(placed.len(), c.rows.len());
        for p in &placed {
            assert!((p.zero - placed[0].zero).abs() < 1e-9);
            assert!(
                0.0 < p.interval.0
                    && p.interval.0 <= p.point
                    && p.point <= p.interval.1
                    && p.interval.1 < 100.0,
                "{p:?}"
            );
            assert!(p.band.0 < p.zero && p.band.0 + p.band.1 > p.zero);
        }
    }

    #[test]
    fn factors_of_thousands_are_on_a_logarithmic_axis() {
        let mut c = comparison();
        if let Some(r) = c
            .rows
            .last_mut()
            .and_then(|r| r.cells.first_mut())
            .and_then(|c| c.ratio.as_mut())
        {
            (r.estimate, r.low, r.high) = (1e-5, Some(0.9e-5), Some(1.1e-5));
        }
        let forest = Forest::of(&c, "rate");
        assert!(forest.log);
        let small = forest.place(&c.rows[0].cells[0]).expect("a change");
        assert!(small.point - small.zero > 0.5, "{small:?}");
    }

    #[test]
    fn an_open_end_reaches_the_edge() {
        let mut c = comparison();
        if let Some(r) = c.rows[1].cells[0].ratio.as_mut() {
            (r.low, r.high) = (None, None);
        }
        let placed = Forest::of(&c, "rate")
            .place(&c.rows[1].cells[0])
            .expect("a change");
        assert_eq!(placed.interval, (0.0, 100.0));
    }
}
