//! Raw samples do not stay for ever: older ones roll up to the summaries that were made when they came. Runs, their
//! summaries, histograms and attachments are never deleted.

use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use super::store::BULK_LIMIT;
use crate::database::Database;
use crate::error::HistoryError;

/// Runs of one go: each is a transaction of its own.
const BATCH: i64 = 100;

/// What was rolled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RolledUp {
    /// Runs whose raw samples went.
    pub runs: u64,
    /// Their samples.
    pub samples: u64,
}

impl Database {
    /// Removes the raw samples of runs that were measured before `before`, but of those that are pinned (tagged,
    /// linked), that an alert stands on, or that are the newest of a series: the baseline of its next run.
    ///
    /// # Errors
    /// [`HistoryError`]; what was rolled up before it stays so.
    pub async fn roll_up(&self, before: OffsetDateTime) -> Result<RolledUp, HistoryError> {
        let pool = self.pool()?;
        let mut done = RolledUp::default();
        loop {
            let query = sqlx::query_scalar!(
                "SELECT run.id FROM bench_run AS run
                 WHERE run.rolled_up_at IS NULL AND run.measured_at < $1 AND NOT run.pinned
                   AND run.content <> 'stacks'
                   AND NOT EXISTS (
                       SELECT FROM bench_alert AS alert
                       WHERE alert.state <> 'gone' AND run.id IN (alert.run, alert.against, alert.confirmed_by)
                   )
                   AND NOT (run.source = 'run' AND run.complete AND run.quiet AND NOT run.quick AND EXISTS (
                       SELECT FROM bench_summary AS own
                       WHERE own.run = run.id AND NOT EXISTS (
                           SELECT FROM bench_summary AS later
                           JOIN bench_run AS other ON other.id = later.run
                           WHERE later.series = own.series
                             AND (later.measured_at, later.run) > (own.measured_at, own.run)
                             AND other.source = 'run' AND other.complete AND other.quiet AND NOT other.quick
                             AND other.rolled_up_at IS NULL
                       )
                   ))
                 ORDER BY run.measured_at, run.id LIMIT $2",
                before,
                BATCH
            );
            let runs = self
                .bounded_by(BULK_LIMIT, "find old runs", query.fetch_all(&pool))
                .await?;
            let last = runs.len() < usize::try_from(BATCH).unwrap_or(usize::MAX);
            for run in runs {
                let samples = self
                    .bounded_by(BULK_LIMIT, "roll up a run", roll_up_one(&pool, run))
                    .await?;
                done.runs += u64::from(samples.is_some());
                done.samples += samples.unwrap_or_default();
            }
            if last {
                return Ok(done);
            }
        }
    }
}

/// `None` when somebody pinned it meanwhile.
async fn roll_up_one(pool: &PgPool, run: Uuid) -> Result<Option<u64>, sqlx::Error> {
    let mut transaction = pool.begin().await?;
    let marked = sqlx::query!(
        "UPDATE bench_run SET rolled_up_at = now() WHERE id = $1 AND NOT pinned AND rolled_up_at IS NULL",
        run
    )
    .execute(&mut *transaction)
    .await?;
    if marked.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(None);
    }
    // By series, since the key of the samples begins with it.
    let gone = sqlx::query!(
        "DELETE FROM bench_sample USING bench_summary
         WHERE bench_summary.run = $1 AND bench_sample.series = bench_summary.series AND bench_sample.run = $1",
        run
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(Some(gone.rows_affected()))
}
