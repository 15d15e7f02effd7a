//! A run as it was: the frame and the samples, put together again.

use std::collections::BTreeMap;

use fleethold_bench_model::import::ImportedSeries;
use fleethold_bench_model::matrix::{Cell, Matrix, Row};
use fleethold_bench_model::noise::noise_ratio;
use fleethold_bench_model::sample::{Samples, Side};
use fleethold_bench_model::series::SeriesKey;
use futures_util::TryStreamExt as _;
use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use super::run::{stored_json, stored_value, stored_word};
use super::store::{BULK_LIMIT, blocking};
use crate::database::Database;
use crate::error::HistoryError;

/// Points of a series' history that its noise is estimated from: the newest ones.
const NOISE_POINTS: i64 = 100;
/// Points that are looked at for them, whether they count or not: where nothing counts the whole history is not read.
const NOISE_LOOKED_AT: i64 = 400;

/// The numbers of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum BenchContent {
    /// Both sides of a sweep.
    Matrix(Box<Matrix>),
    /// Series of an imported file, in its order.
    Series(Vec<ImportedSeries>),
    /// Folded stacks: an attachment has them.
    Stacks,
    /// The raw samples are gone; the summaries of the series are there.
    RolledUp,
}

/// A side of a cell: `2 * cell + side`.
pub(super) fn ordinal(cell: usize, side: Side) -> i32 {
    let side = match side {
        Side::Before => 0,
        Side::After => 1,
    };
    // A matrix has at most 4096 x 4096 cells, an imported file four million series.
    i32::try_from(2 * cell).unwrap_or(i32::MAX - 1) + side
}

/// The matrix without its numbers. Seeds of the order stay.
pub(super) fn frame(matrix: &Matrix) -> Matrix {
    let cell = |cell: &Cell| Cell {
        metric: cell.metric.clone(),
        samples: Samples::new(cell.samples.order_seed()),
        noise_ratio: cell.noise_ratio,
    };
    let row = |row: &Row| Row {
        scenario: row.scenario.clone(),
        value: row.value.clone(),
        control: row.control,
        cells: row.cells.iter().map(cell).collect(),
        write_sizes: row.write_sizes.clone(),
    };
    Matrix {
        workload: matrix.workload.clone(),
        knob: matrix.knob.clone(),
        parameters: matrix.parameters.clone(),
        scenarios: matrix.scenarios.clone(),
        metrics: matrix.metrics.clone(),
        rows: matrix.rows.iter().map(row).collect(),
        before: matrix.before.clone(),
        after: matrix.after.clone(),
        data_sha256: matrix.data_sha256.clone(),
        permalink: matrix.permalink.clone(),
        quick: matrix.quick,
        rules: matrix.rules,
    }
}

impl Database {
    /// The matrix of a run as it is judged: where a cell brought no noise of its own, that of its series' earlier
    /// runs is filled in. `None`: no such run, no matrix, or its raw samples are gone.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn bench_matrix(&self, id: Uuid) -> Result<Option<Matrix>, HistoryError> {
        let Some(BenchContent::Matrix(mut matrix)) = self.bench_content(id).await? else {
            return Ok(None);
        };
        let pool = self.pool()?;
        let cells = self.cells_of(&pool, id).await?;
        let query = sqlx::query_scalar!("SELECT measured_at FROM bench_run WHERE id = $1", id);
        let Some(at) = self.bounded("read a run", query.fetch_optional(&pool)).await? else {
            return Ok(None);
        };
        let ids: Vec<i64> = cells.values().copied().collect();
        let medians = self
            .bounded("read noise", earlier_medians(&pool, &ids, at, id))
            .await?;
        blocking("fill in noise", move || {
            fill_noise(&mut matrix, &cells, &medians);
            Ok(Some(*matrix))
        })
        .await?
    }

    /// The numbers of a run exactly as they were stored. `None`: no such run.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn bench_content(&self, id: Uuid) -> Result<Option<BenchContent>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            "SELECT content, frame::text AS frame, rolled_up_at FROM bench_run WHERE id = $1",
            id
        );
        let Some(run) = self.bounded("read a run", query.fetch_optional(&pool)).await? else {
            return Ok(None);
        };
        if run.rolled_up_at.is_some() {
            return Ok(Some(BenchContent::RolledUp));
        }
        Ok(Some(match (run.content.as_str(), run.frame) {
            ("matrix", Some(frame)) => {
                let read = move || stored_json("bench_run", &id.to_string(), "frame", &frame);
                let frame: Matrix = blocking("read a run", read).await??;
                BenchContent::Matrix(self.filled(&pool, id, frame).await?)
            }
            ("series", _) => BenchContent::Series(self.imported_series(&pool, id).await?),
            ("stacks", _) => BenchContent::Stacks,
            (other, _) => return stored_word("bench_run", id, "content", other, None),
        }))
    }

    async fn filled(&self, pool: &PgPool, id: Uuid, frame: Matrix) -> Result<Box<Matrix>, HistoryError> {
        let cells = self.cells_of(pool, id).await?;
        let numbers = self.numbers(pool, id, cells.values().copied().collect()).await?;
        blocking("put a run together", move || fill(id, frame, &cells, numbers)).await?
    }

    /// Series by ordinal.
    async fn cells_of(&self, pool: &PgPool, id: Uuid) -> Result<BTreeMap<i32, i64>, HistoryError> {
        let query = sqlx::query!("SELECT ordinal, series FROM bench_summary WHERE run = $1", id);
        let records = self.bounded("read a run's series", query.fetch_all(pool)).await?;
        Ok(records
            .into_iter()
            .map(|record| (record.ordinal, record.series))
            .collect())
    }

    /// Positions and values by series, in measured order: read from the index alone.
    pub(super) async fn numbers(
        &self,
        pool: &PgPool,
        id: Uuid,
        series: Vec<i64>,
    ) -> Result<Numbers, HistoryError> {
        let read = async {
            let mut found = Numbers::new();
            let mut rows = sqlx::query!(
                "SELECT series, position, value FROM bench_sample WHERE run = $1 AND series = ANY($2)
                 ORDER BY series, position",
                id,
                &series
            )
            .fetch(pool);
            while let Some(row) = rows.try_next().await? {
                found
                    .entry(row.series)
                    .or_default()
                    .push((row.position, row.value));
            }
            Ok(found)
        };
        self.bounded_by(BULK_LIMIT, "read samples", read).await
    }

    async fn imported_series(&self, pool: &PgPool, id: Uuid) -> Result<Vec<ImportedSeries>, HistoryError> {
        let query = sqlx::query!(
            "SELECT series.id, workload, parameters, metric, unit, better, machine_class
             FROM bench_summary JOIN bench_series AS series ON series.id = bench_summary.series
             WHERE run = $1 ORDER BY ordinal",
            id
        );
        let records = self.bounded("read a run's series", query.fetch_all(pool)).await?;
        let ids = records.iter().map(|record| record.id).collect();
        let mut numbers = self.numbers(pool, id, ids).await?;
        let series = records.into_iter().map(|record| {
            let (id, table) = (record.id, "bench_series");
            let better = stored_value(table, &id.to_string(), "better", record.better.into())?;
            let values = numbers.remove(&id).unwrap_or_default();
            Ok(ImportedSeries {
                key: SeriesKey {
                    workload: record.workload,
                    parameters: stored_value(table, &id.to_string(), "parameters", record.parameters)?,
                    metric: record.metric,
                    unit: stored_value(table, &id.to_string(), "unit", record.unit.into())?,
                    better,
                    machine_class: record.machine_class,
                },
                values: values.into_iter().map(|(_, value)| value).collect(),
            })
        });
        series.collect()
    }
}

/// The numbers of each series where they belong.
fn fill(
    id: Uuid,
    mut matrix: Matrix,
    cells: &BTreeMap<i32, i64>,
    mut numbers: Numbers,
) -> Result<Box<Matrix>, HistoryError> {
    let mut side_of = |ordinal: i32| {
        cells
            .get(&ordinal)
            .and_then(|series| numbers.remove(series))
            .unwrap_or_default()
    };
    let slots = matrix.rows.iter_mut().flat_map(|row| &mut row.cells);
    for (number, cell) in slots.enumerate() {
        let sides = Side::BOTH.map(|side| side_of(ordinal(number, side)));
        let before_and_after = sides.map(|side| side.into_iter().peekable());
        let [mut before, mut after] = before_and_after;
        loop {
            let first = match (before.peek(), after.peek()) {
                (Some(b), Some(a)) => b.0 < a.0,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let (side, next) = if first {
                (Side::Before, before.next())
            } else {
                (Side::After, after.next())
            };
            let Some((position, value)) = next else { break };
            cell.samples
                .push(side, value)
                .map_err(|error| HistoryError::Row {
                    table: "bench_sample",
                    id: format!("{id} at {position}"),
                    field: "value",
                    found: error.to_string(),
                    expected: "a measurement",
                })?;
        }
    }
    Ok(Box::new(matrix))
}

/// Positions and values by series, in measured order.
pub(super) type Numbers = BTreeMap<i64, Vec<(i32, f64)>>;

/// Medians of the newest runs of each series before a moment, oldest first; outliers, interrupted runs and, of times,
/// those of a busy machine are left out.
pub(super) async fn earlier_medians(
    connection: impl sqlx::PgExecutor<'_>,
    series: &[i64],
    before: OffsetDateTime,
    run: Uuid,
) -> Result<BTreeMap<i64, Vec<f64>>, sqlx::Error> {
    let records = sqlx::query!(
        r#"SELECT wanted.id AS "series!", point.median AS "median!"
           FROM unnest($1::bigint[]) AS wanted (id)
           JOIN bench_series AS series ON series.id = wanted.id
           CROSS JOIN LATERAL (
               SELECT median, measured_at, run FROM (
                   SELECT median, measured_at, run FROM bench_summary
                   WHERE series = wanted.id AND (measured_at, run) < ($2, $3)
                   ORDER BY measured_at DESC, run DESC
                   LIMIT $5
               ) AS newest
               WHERE EXISTS (
                     SELECT FROM bench_run AS of
                     WHERE of.id = newest.run AND bench_counts(of.complete, of.load, of.quiet, series.unit)
                 )
                 AND NOT EXISTS (
                     SELECT FROM bench_annotation AS said
                     WHERE said.series = wanted.id AND said.run = newest.run
                       AND said.kind = 'outlier' AND said.withdrawn_at IS NULL
                 )
               ORDER BY measured_at DESC, run DESC
               LIMIT $4
           ) AS point
           ORDER BY wanted.id, point.measured_at, point.run"#,
        series,
        before,
        run,
        NOISE_POINTS,
        NOISE_LOOKED_AT
    )
    .fetch_all(connection)
    .await?;
    let mut medians: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for record in records {
        medians.entry(record.series).or_default().push(record.median);
    }
    Ok(medians)
}

/// Fills in the noise of each cell that brought none: that of its noisier side.
pub(super) fn fill_noise(
    matrix: &mut Matrix,
    series: &BTreeMap<i32, i64>,
    medians: &BTreeMap<i64, Vec<f64>>,
) {
    let noise_of = |number: usize, side: Side| {
        let series = series.get(&ordinal(number, side))?;
        noise_ratio(medians.get(series)?)
    };
    let cells = matrix.rows.iter_mut().flat_map(|row| &mut row.cells);
    for (number, cell) in cells.enumerate() {
        if cell.noise_ratio.is_none() {
            let sides = Side::BOTH.map(|side| noise_of(number, side));
            cell.noise_ratio = sides
                .into_iter()
                .flatten()
                .filter(|ratio| ratio.is_finite())
                .reduce(f64::max);
        }
    }
}
