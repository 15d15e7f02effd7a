//! Reading the history.

use std::collections::HashMap;

use time::OffsetDateTime;
use uuid::Uuid;

use crate::database::Database;
use crate::error::HistoryError;
use crate::rows::{JobRow, Machine, Outcome, SamplePoint, SampleRow, StoreHistory, Totals};

/// The longest page.
const MAX_LIMIT: u32 = 500;
/// Fewer points than this make no curve: the ends, and a low and a high between them.
const MIN_POINTS: u32 = 4;

/// How a listed job should have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeFilter {
    /// Not at all yet.
    Unfinished,
    /// Like this.
    Is(Outcome),
}

/// Which jobs to list; the default is all.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Of this datastore.
    pub store: Option<String>,
    /// That ended like this.
    pub outcome: Option<OutcomeFilter>,
    /// With this text in store, namespace, snapshot, archive, target, user or UPID, in any case.
    pub text: Option<String>,
}

/// A page of jobs, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPage {
    /// The jobs.
    pub items: Vec<JobRow>,
    /// Where the next page starts; `None` on the last one. Jobs that are added meanwhile do not shift pages.
    pub next_cursor: Option<Uuid>,
}

impl Database {
    /// A page of jobs after `cursor`, at most `limit` (1 to 500).
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        cursor: Option<Uuid>,
        limit: u32,
    ) -> Result<JobPage, HistoryError> {
        let limit = limit.clamp(1, MAX_LIMIT);
        // One more tells whether there is a next page.
        let mut items = self
            .fetch_jobs(None, filter, cursor, i64::from(limit) + 1)
            .await?;
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        let next_cursor = items.last().filter(|_| more).map(|job| job.id);
        Ok(JobPage { items, next_cursor })
    }

    /// One job.
    pub async fn job(&self, id: Uuid) -> Result<Option<JobRow>, HistoryError> {
        Ok(self
            .fetch_jobs(Some(id), &JobFilter::default(), None, 1)
            .await?
            .pop())
    }

    async fn fetch_jobs(
        &self,
        id: Option<Uuid>,
        filter: &JobFilter,
        cursor: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<JobRow>, HistoryError> {
        let pool = self.pool()?;
        let outcome = match filter.outcome {
            None => None,
            Some(OutcomeFilter::Unfinished) => Some(""),
            Some(OutcomeFilter::Is(outcome)) => Some(outcome.as_str()),
        };
        // What a job that did not come to its end had done is in its last sample.
        let query = sqlx::query_as!(
            JobRecord,
            r#"SELECT job.id AS "id!", job.upid AS "upid!", job.store AS "store!", job.ns AS "ns!",
                   job.snapshot AS "snapshot!", job.archive AS "archive!", job.target AS "target!", job.parallel,
                   job.memory_bytes AS "memory_bytes!", job.params AS "params!", job.authid AS "authid!",
                   job.machine AS "machine!", job.created_at AS "created_at!", job.started_at, job.finished_at,
                   job.outcome, job.error, job.bytes_total,
                   coalesce(job.bytes_done, last.bytes_done) AS bytes_done,
                   coalesce(job.bytes_written, last.bytes_written) AS bytes_written,
                   job.zero_bytes, job.chunks_total, job.chunks_distinct, job.chunks_fetched, job.refetched,
                   coalesce(job.encoded_bytes_read, last.encoded_bytes_read) AS encoded_bytes_read,
                   coalesce(job.duration_ns, last.t_ns) AS duration_ns, job.cpu_ns, job.index_csum, job.sha256
               FROM job
               LEFT JOIN LATERAL (
                   SELECT t_ns, bytes_done, bytes_written, encoded_bytes_read FROM job_sample
                   WHERE job_id = job.id ORDER BY t_ns DESC LIMIT 1
               ) AS last ON job.outcome IS NULL OR job.outcome = 'interrupted'
               WHERE ($1::uuid IS NULL OR job.id = $1)
                 AND ($2::text IS NULL OR job.store = $2)
                 AND ($3::text IS NULL OR job.outcome = $3 OR ($3 = '' AND job.outcome IS NULL))
                 AND ($4::text IS NULL OR position(lower($4) IN lower(concat_ws(' ', job.store, job.ns,
                     job.snapshot, job.archive, job.target, job.authid, job.upid))) > 0)
                 AND ($5::uuid IS NULL OR job.id < $5)
               ORDER BY job.id DESC
               LIMIT $6"#,
            id,
            filter.store,
            outcome,
            filter.text,
            cursor,
            limit,
        );
        let records = self.bounded("list jobs", query.fetch_all(&pool)).await?;
        records.into_iter().map(JobRow::try_from).collect()
    }

    /// The curve of a job in at most `max_points` (at least 4) points: where there are more samples, the slowest and
    /// the fastest of each stretch stay, and the first and the last of all.
    pub async fn samples(&self, job: Uuid, max_points: u32) -> Result<Vec<SamplePoint>, HistoryError> {
        let pool = self.pool()?;
        let max_points = max_points.max(MIN_POINTS);
        let stretches = (max_points - 2) / 2;
        let query = sqlx::query_as!(
            SampleRecord,
            r#"WITH rated AS (
                   SELECT job_sample.*, row_number() OVER time_order - 1 AS n, count(*) OVER () AS total,
                       (bytes_done - lag(bytes_done, 1, 0::bigint) OVER time_order)::float8 * 1e9
                           / nullif(t_ns - lag(t_ns, 1, 0::bigint) OVER time_order, 0) AS rate
                   FROM job_sample WHERE job_id = $1
                   WINDOW time_order AS (ORDER BY t_ns)
               ), ranked AS (
                   SELECT *, row_number() OVER (PARTITION BY n * $3 / total ORDER BY rate, n) AS slow,
                       row_number() OVER (PARTITION BY n * $3 / total ORDER BY rate DESC NULLS LAST, n) AS fast
                   FROM rated
               )
               SELECT t_ns AS "t_ns!", bytes_done AS "bytes_done!", bytes_written AS "bytes_written!",
                   encoded_bytes_read AS "encoded_bytes_read!", chunks_done AS "chunks_done!",
                   in_flight AS "in_flight!", budget_used_bytes AS "budget_used_bytes!",
                   coalesce(rate, 0) AS "rate!"
               FROM ranked
               WHERE total <= $2 OR slow = 1 OR fast = 1 OR n = 0 OR n = total - 1
               ORDER BY t_ns"#,
            job,
            i64::from(max_points),
            i64::from(stretches),
        );
        let records = self.bounded("read samples", query.fetch_all(&pool)).await?;
        records.into_iter().map(|record| record.point(job)).collect()
    }

    /// How many samples each of `jobs` has; jobs without any are left out.
    pub async fn sample_counts(&self, jobs: &[Uuid]) -> Result<HashMap<Uuid, u64>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT job_id, count(*) AS "samples!" FROM job_sample WHERE job_id = ANY($1) GROUP BY job_id"#,
            jobs
        );
        let records = self.bounded("count samples", query.fetch_all(&pool)).await?;
        let rows = records.into_iter().map(|record| {
            let samples = unsigned("job_sample", &record.job_id.to_string(), "count", record.samples)?;
            Ok((record.job_id, samples))
        });
        rows.collect()
    }

    /// The datastores that have history, by name: more than exist, once some were removed.
    pub async fn stores(&self) -> Result<Vec<StoreHistory>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT store, count(*) AS "jobs!", max(created_at) AS "last_created_at!"
               FROM job GROUP BY store ORDER BY store"#
        );
        let records = self.bounded("list stores", query.fetch_all(&pool)).await?;
        let rows = records.into_iter().map(|record| {
            let jobs = unsigned("job", &record.store, "count", record.jobs)?;
            Ok(StoreHistory {
                jobs,
                last_created_at: record.last_created_at,
                store: record.store,
            })
        });
        rows.collect()
    }

    /// A machine that jobs refer to.
    pub async fn machine(&self, fingerprint: &str) -> Result<Option<Machine>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            "SELECT fingerprint, cpu_model, cores, ram_bytes, kernel, file_system FROM machine
             WHERE fingerprint = $1",
            fingerprint
        );
        let record = self
            .bounded("read a machine", query.fetch_optional(&pool))
            .await?;
        let Some(record) = record else { return Ok(None) };
        Ok(Some(Machine {
            cores: record
                .cores
                .map(|n| unsigned32("machine", fingerprint, "cores", n))
                .transpose()?,
            ram_bytes: record
                .ram_bytes
                .map(|n| unsigned("machine", fingerprint, "ram_bytes", n))
                .transpose()?,
            fingerprint: record.fingerprint,
            cpu_model: record.cpu_model,
            kernel: record.kernel,
            file_system: record.file_system,
        }))
    }
}

struct JobRecord {
    id: Uuid,
    upid: String,
    store: String,
    ns: String,
    snapshot: String,
    archive: String,
    target: String,
    parallel: Option<i32>,
    memory_bytes: i64,
    params: serde_json::Value,
    authid: String,
    machine: String,
    created_at: OffsetDateTime,
    started_at: Option<OffsetDateTime>,
    finished_at: Option<OffsetDateTime>,
    outcome: Option<String>,
    error: Option<serde_json::Value>,
    bytes_total: Option<i64>,
    bytes_done: Option<i64>,
    bytes_written: Option<i64>,
    zero_bytes: Option<i64>,
    chunks_total: Option<i64>,
    chunks_distinct: Option<i64>,
    chunks_fetched: Option<i64>,
    refetched: Option<i64>,
    encoded_bytes_read: Option<i64>,
    duration_ns: Option<i64>,
    cpu_ns: Option<i64>,
    index_csum: Option<String>,
    sha256: Option<String>,
}

impl TryFrom<JobRecord> for JobRow {
    type Error = HistoryError;

    fn try_from(record: JobRecord) -> Result<Self, HistoryError> {
        let id = record.id;
        let count = |field, value: Option<i64>| {
            value
                .map(|value| unsigned("job", &id.to_string(), field, value))
                .transpose()
        };
        let outcome = record.outcome.map(|word| {
            word.parse::<Outcome>().map_err(|error| HistoryError::Row {
                table: "job",
                id: id.to_string(),
                field: "outcome",
                found: error.found,
                expected: "an outcome of this version",
            })
        });
        Ok(JobRow {
            id,
            upid: record.upid,
            store: record.store,
            ns: record.ns,
            snapshot: record.snapshot,
            archive: record.archive,
            target: record.target,
            parallel: record
                .parallel
                .map(|value| unsigned32("job", &id.to_string(), "parallel", value))
                .transpose()?,
            memory_bytes: unsigned("job", &id.to_string(), "memory_bytes", record.memory_bytes)?,
            params: record.params,
            user: record.authid,
            machine: record.machine,
            created_at: record.created_at,
            started_at: record.started_at,
            finished_at: record.finished_at,
            outcome: outcome.transpose()?,
            error: record.error,
            totals: Totals {
                bytes_total: count("bytes_total", record.bytes_total)?,
                bytes_done: count("bytes_done", record.bytes_done)?,
                bytes_written: count("bytes_written", record.bytes_written)?,
                zero_bytes: count("zero_bytes", record.zero_bytes)?,
                chunks_total: count("chunks_total", record.chunks_total)?,
                chunks_distinct: count("chunks_distinct", record.chunks_distinct)?,
                chunks_fetched: count("chunks_fetched", record.chunks_fetched)?,
                refetched: count("refetched", record.refetched)?,
                encoded_bytes_read: count("encoded_bytes_read", record.encoded_bytes_read)?,
                duration_ns: count("duration_ns", record.duration_ns)?,
                cpu_ns: count("cpu_ns", record.cpu_ns)?,
                index_csum: record.index_csum,
                sha256: record.sha256,
            },
        })
    }
}

struct SampleRecord {
    t_ns: i64,
    bytes_done: i64,
    bytes_written: i64,
    encoded_bytes_read: i64,
    chunks_done: i64,
    in_flight: i32,
    budget_used_bytes: i64,
    rate: f64,
}

impl SampleRecord {
    fn point(self, job: Uuid) -> Result<SamplePoint, HistoryError> {
        let id = format!("{job} at {} ns", self.t_ns);
        let count = |field, value| unsigned("job_sample", &id, field, value);
        Ok(SamplePoint {
            sample: SampleRow {
                t_ns: count("t_ns", self.t_ns)?,
                bytes_done: count("bytes_done", self.bytes_done)?,
                bytes_written: count("bytes_written", self.bytes_written)?,
                encoded_bytes_read: count("encoded_bytes_read", self.encoded_bytes_read)?,
                chunks_done: count("chunks_done", self.chunks_done)?,
                in_flight: unsigned32("job_sample", &id, "in_flight", self.in_flight)?,
                budget_used_bytes: count("budget_used_bytes", self.budget_used_bytes)?,
            },
            rate_bytes_per_s: self.rate,
        })
    }
}

fn unsigned(table: &'static str, id: &str, field: &'static str, value: i64) -> Result<u64, HistoryError> {
    u64::try_from(value).map_err(|_| negative(table, id, field, value))
}

fn unsigned32(table: &'static str, id: &str, field: &'static str, value: i32) -> Result<u32, HistoryError> {
    u32::try_from(value).map_err(|_| negative(table, id, field, value.into()))
}

fn negative(table: &'static str, id: &str, field: &'static str, value: i64) -> HistoryError {
    HistoryError::Row {
        table,
        id: id.to_owned(),
        field,
        found: value.to_string(),
        expected: "a number that is not negative",
    }
}
