//! What is computed of a run before it is stored: identities, figures, verdicts. No database.

use std::collections::BTreeMap;

use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::histogram::Log2Histogram;
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::quantile::Sorted;
use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::{Dimension, Unit};
use fleethold_bench_model::verdict::Verdict;

use super::attachment::PackedAttachment;
use super::identity::Identity;
use super::matrix::ordinal;
use super::new_run::{NewBenchRun, NewContent};
use crate::error::HistoryError;

/// A run that is ready to be written.
#[derive(Debug)]
pub(super) struct Prepared {
    /// One a side of a cell that has samples.
    pub(super) sides: Vec<PreparedSide>,
    /// Its files, compressed.
    pub(super) files: Vec<PackedAttachment>,
}

impl Prepared {
    /// The series of each side by its ordinal, when `series` knows them by the hash of their identity.
    pub(super) fn cells(&self, series: &BTreeMap<String, i64>) -> BTreeMap<i32, i64> {
        let of = |side: &PreparedSide| Some((side.ordinal, *series.get(&side.key_sha256)?));
        self.sides.iter().filter_map(of).collect()
    }
}

/// One side of one cell.
#[derive(Debug)]
pub(super) struct PreparedSide {
    pub(super) ordinal: i32,
    pub(super) identity: Identity,
    pub(super) key_sha256: String,
    pub(super) judged: bool,
    pub(super) figures: Figures,
    pub(super) bins: serde_json::Value,
}

/// Figures of the samples of one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    pub(super) n: i64,
    pub(super) min: f64,
    pub(super) lower_quartile: f64,
    pub(super) median: f64,
    pub(super) upper_quartile: f64,
    pub(super) max: f64,
    pub(super) mad: f64,
}

impl Figures {
    fn of(sorted: &Sorted) -> Option<Self> {
        Some(Self {
            n: i64::try_from(sorted.len()).ok()?,
            min: sorted.min()?,
            lower_quartile: sorted.quantile(0.25)?,
            median: sorted.median()?,
            upper_quartile: sorted.quantile(0.75)?,
            max: sorted.max()?,
            mad: sorted.mad()?,
        })
    }
}

/// Computes what is stored beside the samples.
pub(super) fn prepare(run: &NewBenchRun) -> Result<Prepared, HistoryError> {
    let mut sides = Vec::new();
    match &run.content {
        NewContent::Matrix(matrix) => {
            let cells = matrix
                .rows
                .iter()
                .flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
            for (number, (row, cell)) in cells.enumerate() {
                // A matrix that was checked has a metric for each cell.
                let Some(metric) = matrix.metric(&cell.metric) else {
                    continue;
                };
                for side in Side::BOTH {
                    let identity = Identity::of_cell(&run.meta, matrix, row, metric, side);
                    let values = cell.samples.side(side);
                    sides.extend(prepare_side(
                        ordinal(number, side),
                        identity,
                        metric.judged,
                        values,
                    ));
                }
            }
        }
        NewContent::Series(list) => {
            for (number, one) in list.iter().enumerate() {
                let identity = Identity {
                    key: one.key.clone(),
                    side: Side::After,
                };
                let values = one.values.clone();
                sides.extend(prepare_side(
                    ordinal(number, Side::After),
                    identity,
                    false,
                    values,
                ));
            }
        }
        NewContent::Stacks => {}
    }
    let files = run.attachments.iter().map(PackedAttachment::pack);
    Ok(Prepared {
        sides,
        files: files.collect::<Result<_, _>>()?,
    })
}

/// `None` for a side without samples.
fn prepare_side(ordinal: i32, identity: Identity, judged: bool, values: Vec<f64>) -> Option<PreparedSide> {
    let sorted = Sorted::new(values);
    let figures = Figures::of(&sorted)?;
    let bins = bins(identity.key.unit, &sorted);
    Some(PreparedSide {
        ordinal,
        key_sha256: identity.sha256(),
        bins: serde_json::to_value(bins).unwrap_or_default(),
        identity,
        judged,
        figures,
    })
}

/// Values as whole numbers of their smallest unit: nanoseconds, bytes, millionths of a ratio or joule.
fn bins(unit: Unit, values: &Sorted) -> Log2Histogram {
    let smallest = match unit.dimension() {
        Dimension::Time | Dimension::CpuTime => 1e9,
        Dimension::Ratio | Dimension::Energy => 1e6,
        _ => 1.0,
    };
    let mut histogram = Log2Histogram::default();
    for value in values.values() {
        // What is more than a u64 holds counts in the last bin.
        histogram.add((value * unit.scale() * smallest).round() as u64);
    }
    histogram
}

/// Judged cells: faster, slower, equal, inconclusive. `None` when the matrix has no verdict.
pub(super) fn count_verdicts(matrix: &Matrix) -> Option<[u32; 4]> {
    let comparison = match Comparison::judge(matrix) {
        Ok(comparison) => comparison,
        Err(error) => {
            tracing::debug!(%error, "a stored run has no verdict");
            return None;
        }
    };
    let mut counts = [0; 4];
    for (_, cell) in comparison.cells() {
        let [faster, slower, equal, inconclusive] = &mut counts;
        match cell.verdict {
            Some(Verdict::Faster) => *faster += 1,
            Some(Verdict::Slower) => *slower += 1,
            Some(Verdict::EqualWithin { .. }) => *equal += 1,
            Some(_) => *inconclusive += 1,
            None => {}
        }
    }
    Some(counts)
}
