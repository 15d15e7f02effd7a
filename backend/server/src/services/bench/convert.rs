//! Matrices with their verdicts as the API shows them.

use std::collections::BTreeMap;

use fleethold_api_types::bench as api;
use fleethold_bench_model::comparison::{self, Comparison, ComparisonError};
use fleethold_bench_model::findings::{Findings, Tally};
use fleethold_bench_model::histogram::Log2Histogram;
use fleethold_bench_model::interval::RatioInterval;
use fleethold_bench_model::matrix::{Cell, Matrix, Version};
use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::Direction;
use fleethold_bench_model::verdict::Verdict;
use fleethold_history::bench::CellSeries;
use uuid::Uuid;

use crate::services::error::{ServiceError, ServiceResult};

/// Samples of a cell that a chart gets at most.
const MAX_SAMPLES: usize = 2_000;
/// Samples of all cells together.
const MAX_SAMPLES_TOTAL: usize = 400_000;

/// Why a matrix cannot be judged.
pub fn refused(error: &ComparisonError) -> ServiceError {
    let code = match error {
        ComparisonError::MachineClasses { .. } => "across-machines",
        _ => "not-comparable",
    };
    ServiceError::unprocessable(code, error)
}

/// Judges a matrix that is made of `runs`. Takes the processor for a while.
///
/// # Errors
/// Unprocessable, when its sides cannot be compared.
pub fn comparison(matrix: &Matrix, runs: Vec<Uuid>) -> ServiceResult<api::Comparison> {
    let judged = Comparison::judge(matrix).map_err(|error| refused(&error))?;
    let cells = matrix.rows.iter().map(|row| row.cells.len()).sum::<usize>();
    let shown = (MAX_SAMPLES_TOTAL / cells.max(1)).clamp(2, MAX_SAMPLES);
    Ok(api::Comparison {
        workload: matrix.workload.clone(),
        knob: matrix.knob.clone(),
        parameters: matrix.parameters.clone(),
        scenarios: matrix
            .scenarios
            .iter()
            .map(|scenario| api::Scenario {
                name: scenario.name.clone(),
                legend: scenario.legend.clone(),
            })
            .collect(),
        metrics: matrix
            .metrics
            .iter()
            .map(|metric| api::Metric {
                name: metric.name.clone(),
                unit: metric.unit.name().to_owned(),
                lower_is_better: metric.better == Direction::Lower,
                judged: matrix.is_judged(metric),
            })
            .collect(),
        rows: judged.rows.iter().map(|of| row(of, shown)).collect(),
        before: version(&matrix.before),
        after: version(&matrix.after),
        data_sha256: matrix.data_sha256.clone(),
        quick: matrix.quick,
        judged_cells: count(judged.judged_cells),
        differences: judged
            .environment
            .iter()
            .map(|difference| api::Difference {
                name: difference.name.clone(),
                before: difference.before.clone(),
                after: difference.after.clone(),
            })
            .collect(),
        across_machines: judged.across_machines,
        alpha: matrix.rules.alpha,
        min_effect_ratio: matrix.rules.min_effect_ratio,
        runs,
        findings: Findings::of(&judged)
            .into_iter()
            .map(|found| api::Findings {
                metric: found.metric,
                swept: counts(found.swept),
                control: counts(found.control),
                sentence: found.sentence,
            })
            .collect(),
    })
}

fn counts(of: Tally) -> api::Tally {
    api::Tally {
        faster: count(of.faster),
        slower: count(of.slower),
        equal: count(of.equal),
        inconclusive: count(of.inconclusive),
    }
}

/// Cells by verdict: faster, slower, equal, inconclusive. Takes the processor for a while.
///
/// # Errors
/// As [`comparison`].
pub fn tally(matrix: &Matrix) -> ServiceResult<[u32; 4]> {
    let judged = Comparison::judge(matrix).map_err(|error| refused(&error))?;
    let mut tally = [0_u32; 4];
    for (_, cell) in judged.cells() {
        let [faster, slower, equal, inconclusive] = &mut tally;
        match cell.verdict {
            Some(Verdict::Faster) => *faster += 1,
            Some(Verdict::Slower) => *slower += 1,
            Some(Verdict::EqualWithin { .. }) => *equal += 1,
            Some(_) => *inconclusive += 1,
            None => {}
        }
    }
    Ok(tally)
}

/// Says which series each cell is of: `series` is by the number of the cell in `whole`.
pub fn name_series(comparison: &mut api::Comparison, whole: &Matrix, series: &[CellSeries]) {
    let cells = whole
        .rows
        .iter()
        .flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
    let by_number: BTreeMap<u32, i64> = series
        .iter()
        .filter_map(|of| Some((of.cell, of.after.or(of.before)?)))
        .collect();
    let by_place: BTreeMap<(&str, &str, bool, &str), i64> = (0..)
        .zip(cells)
        .filter_map(|(number, (row, cell))| {
            let place = (&*row.scenario, &*row.value, row.control, &*cell.metric);
            Some((place, *by_number.get(&number)?))
        })
        .collect();
    for row in &mut comparison.rows {
        for cell in &mut row.cells {
            let place = (&*row.scenario, &*row.value, row.control, &*cell.metric);
            cell.series = by_place.get(&place).copied();
        }
    }
}

/// The side as the API names it.
#[must_use]
pub fn side(side: Side) -> api::Side {
    match side {
        Side::Before => api::Side::Before,
        Side::After => api::Side::After,
    }
}

/// `shown`: samples of a cell at most.
fn row(judged: &comparison::JudgedRow<'_>, shown: usize) -> api::MatrixRow {
    let row = judged.row;
    api::MatrixRow {
        scenario: row.scenario.clone(),
        value: row.value.clone(),
        control: row.control,
        cells: judged.cells.iter().map(|of| cell(of, shown)).collect(),
        write_sizes: row.write_sizes.as_ref().map(|sizes| api::WriteSizes {
            before: histogram(&sizes.before),
            after: histogram(&sizes.after),
        }),
    }
}

fn cell(judged: &comparison::JudgedCell<'_>, shown: usize) -> api::JudgedCell {
    api::JudgedCell {
        metric: judged.metric.name.clone(),
        samples: thinned(judged.cell, shown),
        samples_total: judged.cell.samples.len() as u64,
        before: judged.before.as_ref().map(summary),
        after: judged.after.as_ref().map(summary),
        ratio: judged.ratio.as_ref().map(interval),
        p: judged.p,
        adjusted_p: judged.adjusted_p,
        threshold_ratio: judged.threshold_ratio,
        verdict: judged.verdict.map(verdict),
        series: None,
    }
}

/// Evenly spaced in measured order, the first and the last among them.
fn thinned(cell: &Cell, shown: usize) -> Vec<api::Sample> {
    let all = cell.samples.len();
    let sample = |(of, value)| api::Sample {
        side: side(of),
        value,
    };
    if all <= shown {
        return cell.samples.iter().map(sample).collect();
    }
    let mut next = 0_usize;
    cell.samples
        .iter()
        .enumerate()
        .filter(|(at, _)| {
            let taken = *at == next * (all - 1) / (shown - 1);
            next += usize::from(taken);
            taken
        })
        .map(|(_, one)| sample(one))
        .collect()
}

fn summary(of: &comparison::Summary) -> api::Summary {
    api::Summary {
        runs: of.runs as u64,
        min: of.min,
        lower_quartile: of.lower_quartile,
        median: of.median,
        upper_quartile: of.upper_quartile,
        max: of.max,
        mad: of.mad,
        two_peaks: of.two_peaks.map(|peaks| api::TwoPeaks {
            lower: peaks.lower,
            upper: peaks.upper,
            lower_share: peaks.lower_share,
        }),
    }
}

/// Ends that are not numbers are absent: JSON has no infinity.
fn interval(of: &RatioInterval) -> api::Interval {
    let bounded = |end: f64| end.is_finite().then_some(end);
    api::Interval {
        estimate: of.estimate(),
        low: bounded(of.low()).filter(|low| *low > 0.0),
        high: bounded(of.high()),
        confidence: of.attained,
    }
}

fn verdict(of: Verdict) -> api::Verdict {
    match of {
        Verdict::Faster => api::Verdict::Faster,
        Verdict::Slower => api::Verdict::Slower,
        Verdict::EqualWithin { within_ratio } => api::Verdict::EqualWithin { within_ratio },
        Verdict::Inconclusive { more_runs } => api::Verdict::Inconclusive { more_runs },
        // The list may grow; a verdict that is not known here decides nothing.
        _ => api::Verdict::Inconclusive { more_runs: 0 },
    }
}

fn histogram(of: &Log2Histogram) -> api::Histogram {
    api::Histogram {
        bins: of.bins().map(|(low, _, count)| (low, count)).collect(),
    }
}

fn version(of: &Version) -> api::Version {
    api::Version {
        label: of.label.clone(),
        machine_class: of.machine_class.clone(),
        environment: of.environment.clone(),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use fleethold_bench_model::sample::Samples;

    use super::*;

    #[test]
    fn a_long_cell_is_thinned_evenly_with_both_ends() {
        let mut samples = Samples::new(None);
        for number in 0..10_001_u32 {
            samples
                .push(Side::BOTH[number as usize % 2], f64::from(number))
                .unwrap();
        }
        let cell = Cell {
            metric: "time".to_owned(),
            samples,
            noise_ratio: None,
        };
        let thin = thinned(&cell, MAX_SAMPLES);
        assert_eq!(thin.len(), MAX_SAMPLES);
        assert_eq!((thin[0].value, thin[MAX_SAMPLES - 1].value), (0.0, 10_000.0));
        for pair in thin.windows(2) {
            let gap = pair[1].value - pair[0].value;
            assert!((5.0..=6.0).contains(&gap), "{gap}");
        }
        let ends: Vec<f64> = thinned(&cell, 2).iter().map(|one| one.value).collect();
        assert_eq!(ends, [0.0, 10_000.0]);
    }

    #[test]
    fn an_open_end_is_absent() {
        let open = interval(&RatioInterval {
            ln_estimate: 0.0,
            ln_low: f64::NEG_INFINITY,
            ln_high: f64::INFINITY,
            attained: 0.5,
        });
        assert_eq!((open.estimate, open.low, open.high), (1.0, None, None));
    }
}
