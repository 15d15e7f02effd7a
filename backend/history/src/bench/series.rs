//! Series, and their points over time.

use std::collections::BTreeMap;

use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::{Direction, Unit};
use time::OffsetDateTime;
use uuid::Uuid;

use super::matrix::ordinal;
use super::run::{stored_value, stored_word};
use crate::database::Database;
use crate::error::HistoryError;

/// Most points of one answer.
const MAX_POINTS: u32 = 2000;
/// Most series of one answer.
pub const MAX_SERIES: u32 = 2000;

/// Which series to list; the default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeriesFilter {
    /// These.
    pub ids: Option<Vec<i64>>,
    /// Of this workload.
    pub workload: Option<String>,
}

/// The same measurement at all times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchSeries {
    /// Number.
    pub id: i64,
    /// Workload.
    pub workload: String,
    /// Scenario, knob and whatever else has to be equal, by name.
    pub parameters: BTreeMap<String, String>,
    /// Metric.
    pub metric: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Which way is an improvement.
    pub better: Direction,
    /// Class of the machine; empty: not known.
    pub machine_class: String,
    /// Which side of its runs.
    pub side: Side,
    /// Runs with it.
    pub runs: u64,
}

/// One run in a series.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchPoint {
    /// Run.
    pub run: Uuid,
    /// When it was measured.
    pub at: OffsetDateTime,
    /// Commit of the code on the series' side, or empty.
    pub revision: String,
    /// Samples.
    pub n: u64,
    /// Smallest.
    pub min: f64,
    /// A quarter is below.
    pub lower_quartile: f64,
    /// Half is below.
    pub median: f64,
    /// Three quarters are below.
    pub upper_quartile: f64,
    /// Largest.
    pub max: f64,
    /// Marked as an outlier: not part of levels, noise and change points.
    pub outlier: bool,
    /// Nor is this: the run was interrupted, or it is a time of a busy machine.
    pub spoiled: bool,
}

/// The series of one cell of a run, in the order of its matrix' rows and their cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSeries {
    /// Number of the cell, from 0.
    pub cell: u32,
    /// Series of its before side.
    pub before: Option<i64>,
    /// Series of its after side.
    pub after: Option<i64>,
}

impl Database {
    /// Series by workload and number; at most [`MAX_SERIES`].
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn bench_series(&self, filter: &SeriesFilter) -> Result<Vec<BenchSeries>, HistoryError> {
        self.bench_series_after(filter, None, MAX_SERIES).await
    }

    /// The first `limit` of them (at most [`MAX_SERIES`]) behind a workload and number.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn bench_series_after(
        &self,
        filter: &SeriesFilter,
        after: Option<(&str, i64)>,
        limit: u32,
    ) -> Result<Vec<BenchSeries>, HistoryError> {
        let pool = self.pool()?;
        let (after_workload, after_id) = after.unzip();
        let query = sqlx::query!(
            r#"SELECT id, workload, parameters, metric, unit, better, machine_class, side,
                   (SELECT count(*) FROM bench_summary WHERE series = bench_series.id) AS "runs!"
               FROM bench_series
               WHERE ($1::bigint[] IS NULL OR id = ANY($1)) AND ($2::text IS NULL OR workload = $2)
                 AND ($4::bigint IS NULL OR (workload, id) > ($3, $4))
               ORDER BY workload, id LIMIT $5"#,
            filter.ids.as_deref(),
            filter.workload,
            after_workload,
            after_id,
            i64::from(limit.clamp(1, MAX_SERIES)),
        );
        let records = self.bounded("list series", query.fetch_all(&pool)).await?;
        let series = records.into_iter().map(|record| {
            let (table, id) = ("bench_series", record.id.to_string());
            Ok(BenchSeries {
                id: record.id,
                workload: record.workload,
                parameters: stored_value(table, &id, "parameters", record.parameters)?,
                metric: record.metric,
                unit: stored_word(
                    table,
                    &id,
                    "unit",
                    &record.unit,
                    Unit::from_name(&record.unit).ok(),
                )?,
                better: stored_word(table, &id, "better", &record.better, record.better.parse().ok())?,
                machine_class: record.machine_class,
                side: stored_word(table, &id, "side", &record.side, Side::from_name(&record.side))?,
                runs: u64::try_from(record.runs).unwrap_or_default(),
            })
        });
        series.collect()
    }

    /// The points of a series measured from `from` to before `to`, oldest first: the newest `limit` of them (at most
    /// 2,000). Read from the summaries, so they stay when raw samples have gone.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn series_points(
        &self,
        series: i64,
        from: Option<OffsetDateTime>,
        to: Option<OffsetDateTime>,
        limit: u32,
    ) -> Result<Vec<BenchPoint>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT point.run, point.measured_at, point.n, point.min, point.lower_quartile, point.median,
                   point.upper_quartile, point.max, coalesce(revision.commit, '') AS "revision!",
                   EXISTS (
                       SELECT FROM bench_annotation AS said
                       WHERE said.series = $1 AND said.run = point.run
                         AND said.kind = 'outlier' AND said.withdrawn_at IS NULL
                   ) AS "outlier!",
                   NOT bench_counts(run.complete, run.load, run.quiet, series.unit) AS "spoiled!"
               FROM (
                   SELECT run, measured_at, n, min, lower_quartile, median, upper_quartile, max FROM bench_summary
                   WHERE series = $1
                     AND measured_at >= coalesce($2::timestamptz, '-infinity') AND measured_at < coalesce($3::timestamptz, 'infinity')
                   ORDER BY measured_at DESC, run DESC
                   LIMIT $4
               ) AS point
               JOIN bench_series AS series ON series.id = $1
               JOIN bench_run AS run ON run.id = point.run
               LEFT JOIN bench_revision AS revision ON revision.id
                   = CASE series.side WHEN 'before' THEN run.revision_before ELSE run.revision_after END
               ORDER BY point.measured_at, point.run"#,
            series,
            from,
            to,
            i64::from(limit.clamp(1, MAX_POINTS)),
        );
        let records = self.bounded("read a series", query.fetch_all(&pool)).await?;
        Ok(records
            .into_iter()
            .map(|record| BenchPoint {
                run: record.run,
                at: record.measured_at,
                revision: record.revision,
                n: u64::try_from(record.n).unwrap_or_default(),
                min: record.min,
                lower_quartile: record.lower_quartile,
                median: record.median,
                upper_quartile: record.upper_quartile,
                max: record.max,
                outlier: record.outlier,
                spoiled: record.spoiled,
            })
            .collect())
    }

    /// The series of a run's cells, in the order of its matrix.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn series_of_run(&self, run: Uuid) -> Result<Vec<CellSeries>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            "SELECT ordinal, series FROM bench_summary WHERE run = $1 ORDER BY ordinal",
            run
        );
        let records = self
            .bounded("read a run's series", query.fetch_all(&pool))
            .await?;
        let mut cells: BTreeMap<u32, CellSeries> = BTreeMap::new();
        for record in records {
            let number = u32::try_from(record.ordinal / 2).unwrap_or_default();
            let cell = cells.entry(number).or_insert(CellSeries {
                cell: number,
                before: None,
                after: None,
            });
            if record.ordinal % 2 == ordinal(0, Side::Before) {
                cell.before = Some(record.series);
            } else {
                cell.after = Some(record.series);
            }
        }
        Ok(cells.into_values().collect())
    }
}
