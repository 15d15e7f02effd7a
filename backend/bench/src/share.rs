//! What share of a limit was reached, where the limit was measured in the same run.
//!
//! Each round of a run measures the limit once, so every other sample is divided by that of its own round: what the
//! machine does to both cancels out.

use fleethold_bench_model::sample::{SampleError, Samples, Side};
use fleethold_bench_model::unit::{Direction, Unit};

use crate::definition::Share;
use crate::runner::Series;

/// The shares of all fields but the limit's own; a round that ended before its limit was measured has none.
///
/// # Errors
/// [`SampleError`] when a quotient is no measurement.
pub(crate) fn shares(share: &Share, measured: &[Series]) -> Result<Vec<Series>, SampleError> {
    let of = |series: &&Series| series.metric == share.of;
    let is_limit = |series: &Series| series.cell.scenario == share.limit;
    let limit = measured.iter().filter(of).find(|series| is_limit(series));
    let Some(limit) = limit else {
        return Ok(Vec::new());
    };
    let limits = limit.samples.side(Side::After);
    let mut made = Vec::new();
    for one in measured.iter().filter(of).filter(|one| !is_limit(one)) {
        let samples = of_rounds(&one.samples, &limits, one.better)?;
        if !samples.is_empty() {
            made.push(Series {
                cell: one.cell.clone(),
                metric: share.metric.clone(),
                unit: Unit::Ratio,
                better: Direction::Higher,
                samples,
            });
        }
    }
    Ok(made)
}

/// Each side's first sample by the first limit, the second by the second, and so on; the limit by the sample where less is
/// better.
fn of_rounds(samples: &Samples, limits: &[f64], better: Direction) -> Result<Samples, SampleError> {
    let mut shares = Samples::new(samples.order_seed());
    let (mut before, mut after) = (limits.iter(), limits.iter());
    for (side, value) in samples.iter() {
        let limit = match side {
            Side::Before => before.next(),
            Side::After => after.next(),
        };
        if let Some(limit) = limit.filter(|limit| **limit > 0.0 && value > 0.0) {
            let share = match better {
                Direction::Higher => value / limit,
                Direction::Lower => limit / value,
            };
            shares.push(side, share)?;
        }
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cell::Cell;

    fn series(scenario: &str, metric: &str, samples: &[(Side, f64)]) -> Series {
        let mut all = Samples::new(Some(7));
        for (side, value) in samples {
            all.push(*side, *value).unwrap();
        }
        Series {
            cell: Cell {
                scenario: scenario.to_owned(),
                knob: ("concurrency".to_owned(), "1".to_owned()),
                parameters: BTreeMap::new(),
            },
            metric: metric.to_owned(),
            unit: Unit::MebibytesPerSecond,
            better: Direction::Higher,
            samples: all,
        }
    }

    fn share() -> Share {
        Share {
            metric: "limit_share".to_owned(),
            of: "rate".to_owned(),
            limit: "limit".to_owned(),
        }
    }

    #[test]
    fn every_sample_is_divided_by_the_limit_of_its_own_round() {
        use Side::{After, Before};
        let measured = [
            series(
                "fast",
                "rate",
                &[(After, 900.0), (Before, 100.0), (Before, 50.0), (After, 400.0)],
            ),
            series("fast", "time", &[(After, 1.0)]),
            // In the second round the machine was half as fast, for all.
            series(
                "limit",
                "rate",
                &[(Before, 9e9), (After, 1000.0), (After, 500.0), (Before, 9e9)],
            ),
        ];
        let made = shares(&share(), &measured).unwrap();
        assert_eq!(made.len(), 1);
        let samples: Vec<_> = made[0].samples.iter().collect();
        assert_eq!(
            samples,
            [(After, 0.9), (Before, 0.1), (Before, 0.1), (After, 0.8)]
        );
        assert_eq!((made[0].unit, made[0].better), (Unit::Ratio, Direction::Higher));
        assert_eq!(made[0].samples.order_seed(), Some(7));
    }

    #[test]
    fn where_less_is_better_the_limit_is_divided() {
        use Side::After;
        let time = |scenario: &str, seconds| Series {
            better: Direction::Lower,
            unit: Unit::Seconds,
            ..series(scenario, "time", &[(After, seconds)])
        };
        let of_time = Share {
            of: "time".to_owned(),
            ..share()
        };
        let made = shares(&of_time, &[time("fast", 2.0), time("limit", 1.0)]).unwrap();
        assert_eq!(made[0].samples.side(After), [0.5]);
    }

    #[test]
    fn a_round_without_its_limit_has_no_share() {
        use Side::After;
        let fast = series("fast", "rate", &[(After, 900.0), (After, 800.0)]);
        let limit = series("limit", "rate", &[(After, 1000.0)]);
        let made = shares(&share(), &[fast.clone(), limit]).unwrap();
        assert_eq!(made[0].samples.side(After), [0.9]);
        assert_eq!(shares(&share(), &[fast]).unwrap(), []);
    }
}
