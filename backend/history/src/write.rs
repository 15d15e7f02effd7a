//! Records and the statements that store them. Each may be applied again without changing anything.

use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::rows::{JobRow, Machine, SampleRow};

/// What stands in the spool, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// What this machine is.
    Machine { machine: Machine },
    /// A job, running or ended.
    Job { instance: Uuid, job: Box<JobRow> },
    /// Part of the curve of a job.
    Samples { job_id: Uuid, rows: Vec<SampleRow> },
    /// The jobs of `instance` asked for before `at` have ended without saying so, but those `alive`.
    Interrupted {
        instance: Uuid,
        #[serde(with = "time::serde::rfc3339")]
        at: OffsetDateTime,
        alive: Vec<Uuid>,
    },
}

/// Why a record was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error("field {field} holds {found}, expected at most {}", i64::MAX)]
    Range { field: &'static str, found: u64 },
}

/// Stores the records in one transaction. Answers the number of samples that had no job to belong to.
pub(crate) async fn all(pool: &PgPool, records: impl Iterator<Item = &Record>) -> Result<u64, WriteError> {
    let mut transaction = pool.begin().await?;
    let mut samples = SampleColumns::default();
    for record in records {
        match record {
            Record::Machine { machine } => write_machine(&mut transaction, machine).await?,
            Record::Job { instance, job } => write_job(&mut transaction, *instance, job).await?,
            Record::Samples { job_id, rows } => samples.add(*job_id, rows)?,
            Record::Interrupted { instance, at, alive } => {
                write_interrupted(&mut transaction, *instance, *at, alive).await?;
            }
        }
    }
    let orphans = samples.write(&mut transaction).await?;
    transaction.commit().await?;
    Ok(orphans)
}

async fn write_machine(connection: &mut PgConnection, machine: &Machine) -> Result<(), WriteError> {
    sqlx::query!(
        "INSERT INTO machine (fingerprint, cpu_model, cores, ram_bytes, kernel, file_system)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (fingerprint) DO UPDATE
         SET cpu_model = EXCLUDED.cpu_model, cores = EXCLUDED.cores, ram_bytes = EXCLUDED.ram_bytes,
             kernel = EXCLUDED.kernel, file_system = EXCLUDED.file_system",
        machine.fingerprint,
        machine.cpu_model,
        opt_i32("cores", machine.cores)?,
        opt_i64("ram_bytes", machine.ram_bytes)?,
        machine.kernel,
        machine.file_system,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A job that has ended is not changed by an older record that comes again; a real end replaces an assumed one.
async fn write_job(connection: &mut PgConnection, instance: Uuid, job: &JobRow) -> Result<(), WriteError> {
    // The record with the details may have been dropped: the job still has to find its machine.
    sqlx::query!(
        "INSERT INTO machine (fingerprint) VALUES ($1) ON CONFLICT DO NOTHING",
        job.machine
    )
    .execute(&mut *connection)
    .await?;
    let totals = &job.totals;
    sqlx::query!(
        "INSERT INTO job (id, instance, upid, store, ns, snapshot, archive, target, parallel, memory_bytes, params,
             authid, machine, created_at, started_at, finished_at, outcome, error, bytes_total, bytes_done,
             bytes_written, zero_bytes, chunks_total, chunks_distinct, chunks_fetched, refetched,
             encoded_bytes_read, duration_ns, cpu_ns, index_csum, sha256)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
             $22, $23, $24, $25, $26, $27, $28, $29, $30, $31)
         ON CONFLICT (id) DO UPDATE
         SET started_at = EXCLUDED.started_at, finished_at = EXCLUDED.finished_at, outcome = EXCLUDED.outcome,
             error = EXCLUDED.error, params = EXCLUDED.params, bytes_total = EXCLUDED.bytes_total,
             bytes_done = EXCLUDED.bytes_done, bytes_written = EXCLUDED.bytes_written,
             zero_bytes = EXCLUDED.zero_bytes, chunks_total = EXCLUDED.chunks_total,
             chunks_distinct = EXCLUDED.chunks_distinct, chunks_fetched = EXCLUDED.chunks_fetched,
             refetched = EXCLUDED.refetched, encoded_bytes_read = EXCLUDED.encoded_bytes_read,
             duration_ns = EXCLUDED.duration_ns, cpu_ns = EXCLUDED.cpu_ns, index_csum = EXCLUDED.index_csum,
             sha256 = EXCLUDED.sha256
         WHERE job.outcome IS NULL OR (job.outcome = 'interrupted' AND EXCLUDED.outcome IS NOT NULL)",
        job.id,
        instance,
        job.upid,
        job.store,
        job.ns,
        job.snapshot,
        job.archive,
        job.target,
        opt_i32("parallel", job.parallel)?,
        to_i64("memory_bytes", job.memory_bytes)?,
        job.params,
        job.user,
        job.machine,
        job.created_at,
        job.started_at,
        job.finished_at,
        job.outcome.map(|outcome| outcome.as_str()),
        job.error,
        opt_i64("bytes_total", totals.bytes_total)?,
        opt_i64("bytes_done", totals.bytes_done)?,
        opt_i64("bytes_written", totals.bytes_written)?,
        opt_i64("zero_bytes", totals.zero_bytes)?,
        opt_i64("chunks_total", totals.chunks_total)?,
        opt_i64("chunks_distinct", totals.chunks_distinct)?,
        opt_i64("chunks_fetched", totals.chunks_fetched)?,
        opt_i64("refetched", totals.refetched)?,
        opt_i64("encoded_bytes_read", totals.encoded_bytes_read)?,
        opt_i64("duration_ns", totals.duration_ns)?,
        opt_i64("cpu_ns", totals.cpu_ns)?,
        totals.index_csum,
        totals.sha256,
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_interrupted(
    connection: &mut PgConnection,
    instance: Uuid,
    at: OffsetDateTime,
    alive: &[Uuid],
) -> Result<(), WriteError> {
    sqlx::query!(
        "UPDATE job SET outcome = 'interrupted', finished_at = $2
         WHERE instance = $1 AND outcome IS NULL AND created_at < $2 AND NOT id = ANY($3)",
        instance,
        at,
        alive,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Samples by column, for one statement whatever their number.
#[derive(Debug, Default)]
struct SampleColumns {
    job_id: Vec<Uuid>,
    t_ns: Vec<i64>,
    bytes_done: Vec<i64>,
    bytes_written: Vec<i64>,
    encoded_bytes_read: Vec<i64>,
    chunks_done: Vec<i64>,
    in_flight: Vec<i32>,
    budget_used_bytes: Vec<i64>,
}

impl SampleColumns {
    fn add(&mut self, job_id: Uuid, rows: &[SampleRow]) -> Result<(), WriteError> {
        for row in rows {
            self.job_id.push(job_id);
            self.t_ns.push(to_i64("t_ns", row.t_ns)?);
            self.bytes_done.push(to_i64("bytes_done", row.bytes_done)?);
            self.bytes_written
                .push(to_i64("bytes_written", row.bytes_written)?);
            self.encoded_bytes_read
                .push(to_i64("encoded_bytes_read", row.encoded_bytes_read)?);
            self.chunks_done.push(to_i64("chunks_done", row.chunks_done)?);
            self.in_flight.push(to_i32("in_flight", row.in_flight)?);
            self.budget_used_bytes
                .push(to_i64("budget_used_bytes", row.budget_used_bytes)?);
        }
        Ok(())
    }

    async fn write(self, connection: &mut PgConnection) -> Result<u64, WriteError> {
        if self.job_id.is_empty() {
            return Ok(0);
        }
        let orphans = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM UNNEST($1::uuid[]) AS sample (job_id)
               WHERE NOT EXISTS (SELECT FROM job WHERE job.id = sample.job_id)"#,
            &self.job_id,
        )
        .fetch_one(&mut *connection)
        .await?;
        sqlx::query!(
            "INSERT INTO job_sample (job_id, t_ns, bytes_done, bytes_written, encoded_bytes_read, chunks_done,
                 in_flight, budget_used_bytes)
             SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                 $7::integer[], $8::bigint[]) AS sample (job_id)
             WHERE EXISTS (SELECT FROM job WHERE job.id = sample.job_id)
             ON CONFLICT (job_id, t_ns) DO NOTHING",
            &self.job_id,
            &self.t_ns,
            &self.bytes_done,
            &self.bytes_written,
            &self.encoded_bytes_read,
            &self.chunks_done,
            &self.in_flight,
            &self.budget_used_bytes,
        )
        .execute(connection)
        .await?;
        Ok(u64::try_from(orphans).unwrap_or_default())
    }
}

fn to_i64(field: &'static str, value: u64) -> Result<i64, WriteError> {
    i64::try_from(value).map_err(|_| WriteError::Range { field, found: value })
}

fn opt_i64(field: &'static str, value: Option<u64>) -> Result<Option<i64>, WriteError> {
    value.map(|value| to_i64(field, value)).transpose()
}

fn to_i32(field: &'static str, value: u32) -> Result<i32, WriteError> {
    i32::try_from(value).map_err(|_| WriteError::Range {
        field,
        found: value.into(),
    })
}

fn opt_i32(field: &'static str, value: Option<u32>) -> Result<Option<i32>, WriteError> {
    value.map(|value| to_i32(field, value)).transpose()
}
