//! Storing a run: all of it in one transaction, or nothing; the same thing once, however often it comes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::Side;
use sqlx::PgConnection;
use uuid::Uuid;

use super::columns::{SeriesColumns, SummaryColumns};
use super::copy::SampleCopy;
use super::matrix::{earlier_medians, fill_noise, frame, ordinal};
use super::new_run::{BenchMeta, NewBenchRun, NewContent, Revision};
use super::summary::{self, Prepared};
use super::{attachment, machine};
use crate::database::Database;
use crate::error::HistoryError;

/// For a run of millions of samples to arrive or to be read.
pub(super) const BULK_LIMIT: Duration = Duration::from_secs(600);

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The run: the one that was there before, when it is known.
    pub id: Uuid,
    /// It was here already; nothing was stored.
    pub known: bool,
}

/// A run that was looked at.
enum Ready {
    /// It is here, under this id.
    Known(Arc<NewBenchRun>, Uuid),
    /// It can be written.
    New(Arc<NewBenchRun>, Prepared),
}

impl Database {
    /// Stores a run with its samples and attachments in one transaction. A run whose digest is known is not stored
    /// again: the answer names the one that is here.
    ///
    /// # Errors
    /// One of which [`HistoryError::is_refusal`] is true for what makes no sense, others when the database is away; then
    /// nothing of it was stored.
    pub async fn store_bench_run(&self, run: NewBenchRun) -> Result<Stored, HistoryError> {
        let (run, prepared) = match self.ready(run).await? {
            Ready::Known(run, id) => {
                if run.meta.pinned {
                    self.pin_bench_run(id, true).await?;
                }
                return Ok(Stored { id, known: true });
            }
            Ready::New(run, prepared) => (run, prepared),
        };
        let pool = self.pool()?;
        let store = async {
            let mut transaction = pool.begin().await?;
            let Some(()) = write_head(&mut transaction, &run).await? else {
                transaction.rollback().await?;
                return Ok(None);
            };
            let series = write_series(&mut transaction, SeriesColumns::of(&prepared)).await?;
            let cells = prepared.cells(&series);
            write_summaries(&mut transaction, &run.meta, SummaryColumns::of(&prepared, &cells)).await?;
            write_samples(&mut transaction, run.meta.id, &run.content, &cells).await?;
            if let NewContent::Matrix(matrix) = &run.content {
                write_histograms(&mut transaction, run.meta.id, matrix).await?;
            }
            for file in &prepared.files {
                attachment::write(&mut transaction, run.meta.id, file).await?;
            }
            write_verdicts(&mut transaction, Arc::clone(&run), cells).await?;
            transaction.commit().await?;
            Ok(Some(()))
        };
        let Some(()) = self.bounded_by(BULK_LIMIT, "store a run", store).await? else {
            // Somebody else stored it a moment ago.
            return match self.known(&run).await? {
                Some(known) => Ok(known),
                None => Err(HistoryError::refused(
                    "run id",
                    run.meta.id.to_string(),
                    "an id that no other run has",
                )),
            };
        };
        Ok(Stored {
            id: run.meta.id,
            known: false,
        })
    }

    /// Does all that storing a run does before it is written, and answers the run that is here with its digest.
    ///
    /// # Errors
    /// As [`Self::store_bench_run`].
    pub async fn rehearse_bench_run(&self, run: NewBenchRun) -> Result<Option<Uuid>, HistoryError> {
        Ok(match self.ready(run).await? {
            Ready::Known(_, id) => Some(id),
            Ready::New(..) => None,
        })
    }

    async fn ready(&self, run: NewBenchRun) -> Result<Ready, HistoryError> {
        let run = Arc::new(run);
        let checked = Arc::clone(&run);
        blocking("check a run", move || checked.check()).await??;
        if let Some(id) = self.bench_run_of_digest(&run.digest).await? {
            return Ok(Ready::Known(run, id));
        }
        let to_prepare = Arc::clone(&run);
        let prepared = blocking("prepare a run", move || summary::prepare(&to_prepare)).await??;
        Ok(Ready::New(run, prepared))
    }

    /// The run that is here with the digest of this one; it is kept for good if this one was to be.
    async fn known(&self, run: &NewBenchRun) -> Result<Option<Stored>, HistoryError> {
        let Some(id) = self.bench_run_of_digest(&run.digest).await? else {
            return Ok(None);
        };
        if run.meta.pinned {
            self.pin_bench_run(id, true).await?;
        }
        Ok(Some(Stored { id, known: true }))
    }
}

/// Counts the verdicts, with the noise of the series' own history.
async fn write_verdicts(
    connection: &mut PgConnection,
    run: Arc<NewBenchRun>,
    cells: BTreeMap<i32, i64>,
) -> Result<(), sqlx::Error> {
    let ids: Vec<i64> = cells.values().copied().collect();
    let at = run.meta.started_at.unwrap_or(run.meta.created_at);
    let medians = earlier_medians(&mut *connection, &ids, at, run.meta.id).await?;
    let id = run.meta.id;
    let counts = blocking("judge a run", move || {
        let NewContent::Matrix(matrix) = &run.content else {
            return None;
        };
        let mut matrix = Matrix::clone(matrix);
        fill_noise(&mut matrix, &cells, &medians);
        summary::count_verdicts(&matrix)
    })
    .await
    .map_err(|error| sqlx::Error::AnyDriverError(Box::new(error)))?;
    let Some(counts) = counts else { return Ok(()) };
    let counts: Vec<i32> = counts.iter().map(|count| to_i32(*count)).collect();
    sqlx::query!("UPDATE bench_run SET verdicts = $2 WHERE id = $1", id, &counts)
        .execute(connection)
        .await?;
    Ok(())
}

/// Runs what computes on a thread for that.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HistoryError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| HistoryError::Thread {
            what,
            reason: error.to_string(),
        })
}

/// The run and what it refers to; `None` when its digest or its id is taken.
async fn write_head(connection: &mut PgConnection, run: &NewBenchRun) -> Result<Option<()>, sqlx::Error> {
    let meta = &run.meta;
    let workload = sqlx::query_scalar!(
        "INSERT INTO bench_workload (name, file_sha256, data_sha256, text) VALUES ($1, $2, $3, $4)
         ON CONFLICT (name, file_sha256, data_sha256) DO UPDATE SET text = bench_workload.text
         RETURNING id",
        meta.workload.name,
        meta.workload.file_sha256,
        meta.workload.data_sha256,
        meta.workload.text,
    )
    .fetch_one(&mut *connection)
    .await?;
    let before = write_revision(connection, meta.before.as_ref()).await?;
    let after = write_revision(connection, meta.after.as_ref()).await?;
    if let Some(machine) = &meta.machine {
        machine::write(connection, machine).await?;
    }
    let class = meta.machine.as_ref().map_or("", |machine| machine.class.as_str());
    let (content, frame) = match &run.content {
        // A matrix always has a text.
        NewContent::Matrix(matrix) => ("matrix", serde_json::to_string(&frame(matrix)).ok()),
        NewContent::Series(_) => ("series", None),
        NewContent::Stacks => ("stacks", None),
    };
    let facts = serde_json::to_string(&meta.facts).unwrap_or_else(|_| "{}".to_owned());
    let done = sqlx::query!(
        "INSERT INTO bench_run (id, workload, source, created_at, started_at, finished_at, revision_before,
             revision_after, machine, machine_class, cold, quick, complete, quiet, seed, samples, operator, reason,
             load, tool_version, digest, content, frame, facts, floors, pinned)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
             $23::text::json, $24::text::json, $25::text::json, $26)
         ON CONFLICT DO NOTHING",
        meta.id,
        workload,
        meta.source,
        meta.created_at,
        meta.started_at,
        meta.finished_at,
        before,
        after,
        meta.machine.as_ref().map(|machine| &machine.fingerprint),
        class,
        meta.cold,
        meta.quick,
        meta.complete,
        meta.load.is_some_and(|load| load.quiet),
        meta.seed.map(u64::cast_signed),
        to_i32(meta.samples),
        meta.operator,
        meta.reason,
        meta.load.and_then(|load| serde_json::to_value(load).ok()),
        meta.tool_version,
        run.digest,
        content,
        frame,
        facts,
        meta.floors.as_ref().map(ToString::to_string),
        meta.pinned,
    )
    .execute(connection)
    .await?;
    Ok((done.rows_affected() > 0).then_some(()))
}

async fn write_revision(
    connection: &mut PgConnection,
    revision: Option<&Revision>,
) -> Result<Option<i64>, sqlx::Error> {
    let Some(revision) = revision else { return Ok(None) };
    let id = sqlx::query_scalar!(
        "INSERT INTO bench_revision (repository, commit, dirty, parent) VALUES ($1, $2, $3, $4)
         ON CONFLICT (repository, commit, dirty) DO UPDATE
         SET parent = coalesce(bench_revision.parent, EXCLUDED.parent)
         RETURNING id",
        revision.repository,
        revision.commit,
        revision.dirty,
        revision.parent,
    )
    .fetch_one(connection)
    .await?;
    Ok(Some(id))
}

/// The series of all sides, by the hash of their identity.
async fn write_series(
    connection: &mut PgConnection,
    columns: SeriesColumns,
) -> Result<BTreeMap<String, i64>, sqlx::Error> {
    sqlx::query!(
        "INSERT INTO bench_series (key_sha256, workload, parameters, metric, unit, better, machine_class, side)
         SELECT * FROM UNNEST($1::text[], $2::text[], $3::jsonb[], $4::text[], $5::text[], $6::text[], $7::text[],
             $8::text[])
         ON CONFLICT (key_sha256) DO NOTHING",
        &columns.key_sha256,
        &columns.workload,
        &columns.parameters,
        &columns.metric,
        &columns.unit,
        &columns.better,
        &columns.machine_class,
        &columns.side,
    )
    .execute(&mut *connection)
    .await?;
    let records = sqlx::query!(
        "SELECT id, key_sha256 FROM bench_series WHERE key_sha256 = ANY($1)",
        &columns.key_sha256
    )
    .fetch_all(connection)
    .await?;
    Ok(records
        .into_iter()
        .map(|record| (record.key_sha256, record.id))
        .collect())
}

async fn write_summaries(
    connection: &mut PgConnection,
    meta: &BenchMeta,
    columns: SummaryColumns,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO bench_summary (run, measured_at, series, ordinal, judged, n, min, lower_quartile, median,
             upper_quartile, max, mad, bins)
         SELECT $1, $2, * FROM UNNEST($3::bigint[], $4::integer[], $5::boolean[], $6::bigint[], $7::float8[],
             $8::float8[], $9::float8[], $10::float8[], $11::float8[], $12::float8[], $13::jsonb[])",
        meta.id,
        meta.started_at.unwrap_or(meta.created_at),
        &columns.series,
        &columns.ordinal,
        &columns.judged,
        &columns.n,
        &columns.min,
        &columns.lower_quartile,
        &columns.median,
        &columns.upper_quartile,
        &columns.max,
        &columns.mad,
        &columns.bins,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The samples of each cell in measured order; `cells` knows the series of each side by its ordinal.
async fn write_samples(
    connection: &mut PgConnection,
    run: Uuid,
    content: &NewContent,
    cells: &BTreeMap<i32, i64>,
) -> Result<(), sqlx::Error> {
    let series_of = |cell: usize, side: Side| cells.get(&ordinal(cell, side)).copied();
    let mut copy = SampleCopy::begin(connection, run).await?;
    match content {
        NewContent::Matrix(matrix) => {
            let mut number = 0;
            for row in &matrix.rows {
                for cell in &row.cells {
                    let [before, after] = Side::BOTH.map(|side| series_of(number, side));
                    for (position, (side, value)) in (0_i32..).zip(cell.samples.iter()) {
                        let series = match side {
                            Side::Before => before,
                            Side::After => after,
                        };
                        if let Some(series) = series {
                            copy.add(series, position, value).await?;
                        }
                    }
                    number += 1;
                }
            }
        }
        NewContent::Series(list) => {
            for (number, one) in list.iter().enumerate() {
                if let Some(series) = series_of(number, Side::After) {
                    for (position, value) in (0_i32..).zip(&one.values) {
                        copy.add(series, position, *value).await?;
                    }
                }
            }
        }
        NewContent::Stacks => {}
    }
    copy.finish().await?;
    Ok(())
}

/// Write sizes by row and side, for queries; the frame has them, too.
async fn write_histograms(
    connection: &mut PgConnection,
    run: Uuid,
    matrix: &Matrix,
) -> Result<(), sqlx::Error> {
    for (number, row) in (0_i32..).zip(&matrix.rows) {
        let Some(sizes) = &row.write_sizes else { continue };
        for (side, histogram) in [(Side::Before, &sizes.before), (Side::After, &sizes.after)] {
            sqlx::query!(
                "INSERT INTO bench_histogram (run, cell, side, kind, bins) VALUES ($1, $2, $3, 'write-sizes', $4)",
                run,
                number,
                side.name(),
                serde_json::to_value(histogram).unwrap_or_default(),
            )
            .execute(&mut *connection)
            .await?;
        }
    }
    Ok(())
}

fn to_i32(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
