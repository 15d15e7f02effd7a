//! A matrix with its verdicts: the one value that every export prints.

use std::collections::BTreeMap;

use crate::holm;
use crate::interval::{MAX_RESAMPLED, RatioInterval, TOO_MANY_RESAMPLED};
use crate::matrix::{Cell, Matrix, MatrixError, Metric, Row};
use crate::modes::{self, TwoPeaks};
use crate::noise;
use crate::quantile::Sorted;
use crate::rank::{self, RankError};
use crate::sample::Side;
use crate::verdict::{Evidence, Verdict, decide, evidence};

/// Most steps of judging one matrix, each about a nanosecond: some seconds.
pub const MAX_STEPS: u64 = 10_000_000_000;
/// Steps that a drawn value of the bootstrap takes: it is drawn, looked up and sorted.
const STEPS_A_DRAW: u64 = 40;

/// A judged matrix.
#[derive(Debug, Clone)]
pub struct Comparison<'a> {
    /// What was measured.
    pub matrix: &'a Matrix,
    /// One a row of the matrix, in its order.
    pub rows: Vec<JudgedRow<'a>>,
    /// Cells that got a verdict.
    pub judged_cells: usize,
    /// Facts that differ between the sides: name, before, after (empty: not known there).
    pub environment: Vec<Difference>,
    /// The sides were measured on machines of different classes; every export says so.
    pub across_machines: bool,
}

/// A fact that differs between the sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Name of the fact.
    pub name: String,
    /// On the first side; empty when it is not known.
    pub before: String,
    /// On the second side; empty when it is not known.
    pub after: String,
}

/// A row with its verdicts.
#[derive(Debug, Clone)]
pub struct JudgedRow<'a> {
    /// The row.
    pub row: &'a Row,
    /// One a cell of the row, in its order.
    pub cells: Vec<JudgedCell<'a>>,
}

/// One cell with its verdict.
#[derive(Debug, Clone)]
pub struct JudgedCell<'a> {
    /// The metric.
    pub metric: &'a Metric,
    /// The samples.
    pub cell: &'a Cell,
    /// The first side; `None` when nothing was measured there.
    pub before: Option<Summary>,
    /// The second side.
    pub after: Option<Summary>,
    /// Ratio of medians; `None` when a side is missing.
    pub ratio: Option<RatioInterval>,
    /// p as measured.
    pub p: Option<f64>,
    /// p after Holm's correction over the matrix (the same as `p` without it); `None` for metrics without verdict.
    pub adjusted_p: Option<f64>,
    /// The practical threshold that was applied: 0.02 for 2 %.
    pub threshold_ratio: f64,
    /// `None` for metrics that get none.
    pub verdict: Option<Verdict>,
}

/// One side of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub runs: usize,
    /// Smallest sample.
    pub min: f64,
    /// First quartile (type 7).
    pub lower_quartile: f64,
    /// Median.
    pub median: f64,
    /// Third quartile (type 7).
    pub upper_quartile: f64,
    /// Largest sample.
    pub max: f64,
    /// Median absolute deviation, not scaled.
    pub mad: f64,
    /// The samples have two peaks: the median describes neither.
    pub two_peaks: Option<TwoPeaks>,
}

impl Summary {
    /// `None` without values.
    pub fn new(values: Vec<f64>) -> Option<Self> {
        let sorted = Sorted::new(values);
        Some(Self {
            runs: sorted.len(),
            min: sorted.min()?,
            lower_quartile: sorted.quantile(0.25)?,
            median: sorted.median()?,
            upper_quartile: sorted.quantile(0.75)?,
            max: sorted.max()?,
            mad: sorted.mad()?,
            two_peaks: modes::two_peaks(&sorted),
        })
    }
}

/// Why a matrix is not judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// The matrix makes no sense.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// Two classes of machines, and nobody asked for that.
    #[error("compare machine class `{before}` with `{after}`: refused unless asked for")]
    MachineClasses {
        /// Class of the first side.
        before: String,
        /// Class of the second side.
        after: String,
    },
    /// A cell cannot be tested.
    #[error("{scenario}, {value}, {metric}: {source}")]
    Cell {
        /// Name of the scenario.
        scenario: String,
        /// Value of the knob.
        value: String,
        /// Name of the metric.
        metric: String,
        /// Why.
        source: RankError,
    },
    /// Judging it would take too long.
    #[error(
        "judge {cells} cells of {samples} samples: {drawn} values to draw for the bootstrap, about {steps} steps in all, \
         expected at most {MAX_STEPS}; with fewer cells, samples or pairs of resamples it can be judged"
    )]
    TooCostly {
        /// Cells with both sides.
        cells: usize,
        /// Samples in them.
        samples: usize,
        /// Values that the rules want drawn.
        drawn: u64,
        /// About so many steps.
        steps: u64,
    },
}

/// Whether `matrix` can be judged: it makes sense, its sides may be compared by its own rules, and judging it takes some
/// seconds at most. What passes here is judged without an error, so whoever keeps a matrix asks here first.
///
/// # Errors
/// [`ComparisonError`]
pub fn check(matrix: &Matrix) -> Result<(), ComparisonError> {
    matrix.validate()?;
    let (before, after) = (&matrix.before.machine_class, &matrix.after.machine_class);
    if before != after && !matrix.rules.across_machines {
        return Err(ComparisonError::MachineClasses {
            before: before.clone(),
            after: after.clone(),
        });
    }
    let (mut cells, mut samples, mut drawn, mut steps) = (0, 0, 0_u64, 0_u64);
    for row in &matrix.rows {
        for cell in &row.cells {
            let [before, after] = Side::BOTH.map(|side| cell.samples.count(side));
            if before == 0 || after == 0 {
                continue;
            }
            let of_cell = matrix.rules.interval.drawn(before, after);
            if of_cell > 0 && before.max(after) > MAX_RESAMPLED {
                return Err(ComparisonError::Cell {
                    scenario: row.scenario.clone(),
                    value: row.value.clone(),
                    metric: cell.metric.clone(),
                    source: RankError::Value {
                        expected: TOO_MANY_RESAMPLED,
                    },
                });
            }
            cells += 1;
            samples += before + after;
            drawn = drawn.saturating_add(of_cell);
            steps = steps
                .saturating_add(rank::steps(before, after))
                .saturating_add(of_cell.saturating_mul(STEPS_A_DRAW));
        }
    }
    if steps > MAX_STEPS {
        return Err(ComparisonError::TooCostly {
            cells,
            samples,
            drawn,
            steps,
        });
    }
    Ok(())
}

impl<'a> Comparison<'a> {
    /// Judges `matrix` by its own rules. The same matrix always gives the same comparison.
    ///
    /// # Errors
    /// [`ComparisonError`] for a matrix that makes no sense or, unless its rules allow it, crosses machine classes.
    pub fn judge(matrix: &'a Matrix) -> Result<Self, ComparisonError> {
        check(matrix)?;
        let metrics: BTreeMap<&str, &Metric> = matrix
            .metrics
            .iter()
            .map(|metric| (metric.name.as_str(), metric))
            .collect();
        let places: Vec<(&Row, &Cell, &Metric)> = matrix
            .rows
            .iter()
            .flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
            .filter_map(|(row, cell)| Some((row, cell, *metrics.get(cell.metric.as_str())?)))
            .collect();
        let mut found: Vec<Option<Evidence>> = vec![None; places.len()];
        // Cells of one size after each other: they share what is counted for their size.
        let sizes = |cell: &Cell| Side::BOTH.map(|side| cell.samples.count(side));
        let mut order: Vec<(usize, &(&Row, &Cell, &Metric))> = places.iter().enumerate().collect();
        order.sort_by_cached_key(|(_, (_, cell, _))| sizes(cell));
        for (at, (row, cell, _)) in order {
            if let Some(slot) = found.get_mut(at) {
                *slot = evidence_of(matrix, row, cell)?;
            }
        }
        let mut judged = places
            .iter()
            .zip(&found)
            .map(|((_, cell, metric), evidence)| look_at(matrix, metric, cell, *evidence));
        let mut rows: Vec<JudgedRow<'a>> = matrix
            .rows
            .iter()
            .map(|row| JudgedRow {
                row,
                cells: judged.by_ref().take(row.cells.len()).collect(),
            })
            .collect();
        let judged_cells = matrix.judged_cells();
        give_verdicts(&mut rows, &found, matrix, judged_cells);
        Ok(Self {
            matrix,
            rows,
            judged_cells,
            environment: differences(&matrix.before.environment, &matrix.after.environment),
            across_machines: matrix.before.machine_class != matrix.after.machine_class,
        })
    }

    /// Whether any side says what it was measured on. Otherwise nobody can tell whether it was the same machine.
    pub fn machines_known(&self) -> bool {
        !(self.matrix.before.machine_class.is_empty() && self.matrix.after.machine_class.is_empty())
    }

    /// All cells of all rows, in order.
    pub fn cells(&self) -> impl Iterator<Item = (&'a Row, &JudgedCell<'a>)> {
        self.rows
            .iter()
            .flat_map(|judged| judged.cells.iter().map(|cell| (judged.row, cell)))
    }

    /// Fewest and most samples a side over all cells.
    pub fn runs(&self) -> (usize, usize) {
        let sides = || {
            self.cells()
                .flat_map(|(_, cell)| [cell.before, cell.after])
                .map(|side| side.map_or(0, |side| side.runs))
        };
        (sides().min().unwrap_or(0), sides().max().unwrap_or(0))
    }
}

/// The evidence of a cell; `None` when a side is missing.
fn evidence_of(matrix: &Matrix, row: &Row, cell: &Cell) -> Result<Option<Evidence>, ComparisonError> {
    let (before, after) = (cell.samples.side(Side::Before), cell.samples.side(Side::After));
    if before.is_empty() || after.is_empty() {
        return Ok(None);
    }
    let found = evidence(&before, &after, &matrix.rules).map_err(|source| ComparisonError::Cell {
        scenario: row.scenario.clone(),
        value: row.value.clone(),
        metric: cell.metric.clone(),
        source,
    })?;
    Ok(Some(found))
}

/// The cell before the correction for all others.
fn look_at<'a>(
    matrix: &'a Matrix,
    metric: &'a Metric,
    cell: &'a Cell,
    evidence: Option<Evidence>,
) -> JudgedCell<'a> {
    JudgedCell {
        metric,
        cell,
        before: Summary::new(cell.samples.side(Side::Before)),
        after: Summary::new(cell.samples.side(Side::After)),
        ratio: evidence.map(|found| found.ratio),
        p: evidence.map(|found| found.p),
        adjusted_p: None,
        threshold_ratio: noise::threshold(matrix.rules.min_effect_ratio, cell.noise_ratio),
        verdict: None,
    }
}

/// Corrects p over all judged cells and decides each.
fn give_verdicts(
    rows: &mut [JudgedRow<'_>],
    found: &[Option<Evidence>],
    matrix: &Matrix,
    judged_cells: usize,
) {
    let (rules, aside) = (&matrix.rules, matrix.aside());
    let mut open: Vec<(&mut JudgedCell<'_>, Option<Evidence>)> = rows
        .iter_mut()
        .flat_map(|judged| judged.cells.iter_mut().map(|cell| (judged.row, cell)))
        .zip(found.iter().copied())
        .filter(|((row, cell), _)| matrix.is_judged(cell.metric) && !aside.contains(row.scenario.as_str()))
        .map(|((_, cell), found)| (cell, found))
        .collect();
    // A cell with one side only stands in the family with p = 1: it was planned.
    let p_values: Vec<f64> = open
        .iter()
        .map(|(_, found)| found.map_or(1.0, |found| found.p))
        .collect();
    let adjusted = if rules.holm {
        holm::adjust(&p_values)
    } else {
        p_values
    };
    for ((cell, found), adjusted_p) in open.iter_mut().zip(adjusted) {
        cell.adjusted_p = found.map(|_| adjusted_p);
        cell.verdict = Some(match found {
            Some(found) => decide(
                found,
                adjusted_p,
                cell.threshold_ratio,
                cell.metric.better,
                judged_cells,
                rules,
            ),
            None => Verdict::Inconclusive {
                more_runs: u32::try_from(crate::verdict::default_runs(judged_cells)).unwrap_or(u32::MAX),
            },
        });
    }
}

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<Difference> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |facts: &BTreeMap<String, String>, name: &String| facts.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| Difference {
            name: name.clone(),
            before: of(before, name),
            after: of(after, name),
        })
        .collect()
}
