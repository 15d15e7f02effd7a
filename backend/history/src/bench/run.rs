//! Runs in lists, and one by one.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use time::OffsetDateTime;
use uuid::Uuid;

use super::new_run::{BenchLoad, Revision, WorkloadFile};
use crate::database::Database;
use crate::error::HistoryError;

/// The longest page.
const MAX_LIMIT: u32 = 500;

/// Which runs to list; the default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BenchRunFilter {
    /// Of this workload.
    pub workload: Option<String>,
    /// Measured here (`run`) or imported in this format.
    pub source: Option<String>,
    /// Measured to the end, or interrupted.
    pub complete: Option<bool>,
    /// On machines of this class.
    pub machine_class: Option<String>,
}

/// A run as it is kept; its numbers come from [`Database::bench_content`].
#[derive(Debug, Clone, PartialEq)]
pub struct BenchRunRow {
    /// UUIDv7; its order is the order of the list.
    pub id: Uuid,
    /// `run`, or the format of the imported file.
    pub source: String,
    /// What was measured.
    pub workload: WorkloadFile,
    /// When it was asked for or imported.
    pub created_at: OffsetDateTime,
    /// When measuring began.
    pub started_at: Option<OffsetDateTime>,
    /// When it ended.
    pub finished_at: Option<OffsetDateTime>,
    /// Code of the before side, when it is another build.
    pub before: Option<Revision>,
    /// Code of the after side.
    pub after: Option<Revision>,
    /// Fingerprint of the machine, when it is known.
    pub machine: Option<String>,
    /// Class of the machine, or empty.
    pub machine_class: String,
    /// Page cache emptied before each sample.
    pub cold: bool,
    /// A short version.
    pub quick: bool,
    /// Measured to the end.
    pub complete: bool,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Samples a side.
    pub samples: u32,
    /// Who asked for it.
    pub operator: String,
    /// Why.
    pub reason: String,
    /// How busy the machine was.
    pub load: Option<BenchLoad>,
    /// Version of the tool that measured.
    pub tool_version: String,
    /// The digest that tells it when it comes again.
    pub digest: String,
    /// It has a matrix with both sides.
    pub has_matrix: bool,
    /// Facts for people.
    pub facts: BTreeMap<String, String>,
    /// What became of the workload's floors.
    pub floors: Option<serde_json::Value>,
    /// Judged cells: faster, slower, equal, inconclusive; `None` without a verdict.
    pub verdicts: Option<[u32; 4]>,
    /// Kept for good.
    pub pinned: bool,
    /// When the raw samples went.
    pub rolled_up_at: Option<OffsetDateTime>,
}

/// A page of runs, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchRunPage {
    /// The runs.
    pub items: Vec<BenchRunRow>,
    /// Where the next page starts; `None` on the last one.
    pub next_cursor: Option<Uuid>,
}

impl Database {
    /// A page of benchmark runs after `cursor`, at most `limit` (1 to 500). Without what only one run's page shows and
    /// may be long: the text of the workload, facts and floors are empty; [`Database::bench_run`] reads them.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn bench_runs(
        &self,
        filter: &BenchRunFilter,
        cursor: Option<Uuid>,
        limit: u32,
    ) -> Result<BenchRunPage, HistoryError> {
        let limit = limit.clamp(1, MAX_LIMIT);
        // One more tells whether there is a next page.
        let mut items = self
            .fetch_bench_runs(None, filter, cursor, i64::from(limit) + 1)
            .await?;
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        let next_cursor = items.last().filter(|_| more).map(|run| run.id);
        Ok(BenchRunPage { items, next_cursor })
    }

    /// One benchmark run.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn bench_run(&self, id: Uuid) -> Result<Option<BenchRunRow>, HistoryError> {
        let all = BenchRunFilter::default();
        Ok(self.fetch_bench_runs(Some(id), &all, None, 1).await?.pop())
    }

    /// The run with this digest: what tells the same thing measured or imported before.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn bench_run_of_digest(&self, digest: &str) -> Result<Option<Uuid>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query_scalar!("SELECT id FROM bench_run WHERE digest = $1", digest);
        self.bounded("look up a run", query.fetch_optional(&pool)).await
    }

    /// Keeps a run for good (a baseline, a tagged or linked run), or no longer. Answers whether there is such a run.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn pin_bench_run(&self, id: Uuid, pinned: bool) -> Result<bool, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!("UPDATE bench_run SET pinned = $2 WHERE id = $1", id, pinned);
        let done = self.bounded("pin a run", query.execute(&pool)).await?;
        Ok(done.rows_affected() > 0)
    }

    async fn fetch_bench_runs(
        &self,
        id: Option<Uuid>,
        filter: &BenchRunFilter,
        cursor: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<BenchRunRow>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            RunRecord,
            r#"SELECT run.id, run.source, workload.name, workload.file_sha256, workload.data_sha256,
                   CASE WHEN $1::uuid IS NULL THEN '' ELSE workload.text END AS "text!",
                   run.created_at, run.started_at, run.finished_at,
                   b.repository AS "before_repository?", b.commit AS "before_commit?", b.dirty AS "before_dirty?",
                   b.parent AS "before_parent?",
                   a.repository AS "after_repository?", a.commit AS "after_commit?", a.dirty AS "after_dirty?",
                   a.parent AS "after_parent?",
                   run.machine, run.machine_class, run.cold, run.quick, run.complete, run.seed, run.samples,
                   run.operator, run.reason, run.load, run.tool_version, run.digest,
                   run.content = 'matrix' AS "has_matrix!", 
                   CASE WHEN $1::uuid IS NULL THEN '{}' ELSE run.facts::text END AS "facts!",
                   CASE WHEN $1::uuid IS NOT NULL THEN run.floors::text END AS floors,
                   run.verdicts, run.pinned, run.rolled_up_at
               FROM bench_run AS run
               JOIN bench_workload AS workload ON workload.id = run.workload
               LEFT JOIN bench_revision AS b ON b.id = run.revision_before
               LEFT JOIN bench_revision AS a ON a.id = run.revision_after
               WHERE ($1::uuid IS NULL OR run.id = $1)
                 AND ($2::text IS NULL OR workload.name = $2)
                 AND ($3::text IS NULL OR run.source = $3)
                 AND ($4::boolean IS NULL OR run.complete = $4)
                 AND ($5::text IS NULL OR run.machine_class = $5)
                 AND ($6::uuid IS NULL OR run.id < $6)
               ORDER BY run.id DESC
               LIMIT $7"#,
            id,
            filter.workload,
            filter.source,
            filter.complete,
            filter.machine_class,
            cursor,
            limit,
        );
        let records = self.bounded("list runs", query.fetch_all(&pool)).await?;
        records.into_iter().map(BenchRunRow::try_from).collect()
    }
}

struct RunRecord {
    id: Uuid,
    source: String,
    name: String,
    file_sha256: String,
    data_sha256: String,
    text: String,
    created_at: OffsetDateTime,
    started_at: Option<OffsetDateTime>,
    finished_at: Option<OffsetDateTime>,
    before_repository: Option<String>,
    before_commit: Option<String>,
    before_dirty: Option<bool>,
    before_parent: Option<String>,
    after_repository: Option<String>,
    after_commit: Option<String>,
    after_dirty: Option<bool>,
    after_parent: Option<String>,
    machine: Option<String>,
    machine_class: String,
    cold: bool,
    quick: bool,
    complete: bool,
    seed: Option<i64>,
    samples: i32,
    operator: String,
    reason: String,
    load: Option<serde_json::Value>,
    tool_version: String,
    digest: String,
    has_matrix: bool,
    facts: String,
    floors: Option<String>,
    verdicts: Option<Vec<i32>>,
    pinned: bool,
    rolled_up_at: Option<OffsetDateTime>,
}

impl TryFrom<RunRecord> for BenchRunRow {
    type Error = HistoryError;

    fn try_from(record: RunRecord) -> Result<Self, HistoryError> {
        let id = record.id.to_string();
        let load = record
            .load
            .map(|load| stored_value("bench_run", &id, "load", load));
        let floors = record
            .floors
            .map(|floors| stored_json("bench_run", &id, "floors", &floors));
        let verdicts = record.verdicts.map(|counts| {
            let all: Option<Vec<u32>> = counts.iter().map(|count| u32::try_from(*count).ok()).collect();
            let four = all.and_then(|all| <[u32; 4]>::try_from(all).ok());
            stored_word("bench_run", &id, "verdicts", &format!("{counts:?}"), four)
        });
        Ok(Self {
            id: record.id,
            source: record.source,
            workload: WorkloadFile {
                name: record.name,
                file_sha256: record.file_sha256,
                data_sha256: record.data_sha256,
                text: record.text,
            },
            created_at: record.created_at,
            started_at: record.started_at,
            finished_at: record.finished_at,
            before: revision(
                record.before_repository,
                record.before_commit,
                record.before_dirty,
                record.before_parent,
            ),
            after: revision(
                record.after_repository,
                record.after_commit,
                record.after_dirty,
                record.after_parent,
            ),
            machine: record.machine,
            machine_class: record.machine_class,
            cold: record.cold,
            quick: record.quick,
            complete: record.complete,
            seed: record.seed.map(i64::cast_unsigned),
            samples: u32::try_from(record.samples).unwrap_or_default(),
            operator: record.operator,
            reason: record.reason,
            load: load.transpose()?,
            tool_version: record.tool_version,
            digest: record.digest,
            has_matrix: record.has_matrix,
            facts: stored_json("bench_run", &id, "facts", &record.facts)?,
            floors: floors.transpose()?,
            verdicts: verdicts.transpose()?,
            pinned: record.pinned,
            rolled_up_at: record.rolled_up_at,
        })
    }
}

fn revision(
    repository: Option<String>,
    commit: Option<String>,
    dirty: Option<bool>,
    parent: Option<String>,
) -> Option<Revision> {
    Some(Revision {
        repository: repository?,
        commit: commit?,
        dirty: dirty?,
        parent,
    })
}

/// A JSON text of a row as this version knows it.
pub(super) fn stored_json<T: DeserializeOwned>(
    table: &'static str,
    id: &str,
    field: &'static str,
    text: &str,
) -> Result<T, HistoryError> {
    serde_json::from_str(text).map_err(|error| unreadable(table, id, field, &error))
}

/// As [`stored_json`], of a value.
pub(super) fn stored_value<T: DeserializeOwned>(
    table: &'static str,
    id: &str,
    field: &'static str,
    value: serde_json::Value,
) -> Result<T, HistoryError> {
    serde_json::from_value(value).map_err(|error| unreadable(table, id, field, &error))
}

fn unreadable(table: &'static str, id: &str, field: &'static str, error: &serde_json::Error) -> HistoryError {
    HistoryError::Row {
        table,
        id: id.to_owned(),
        field,
        found: error.to_string(),
        expected: "JSON of this version",
    }
}

/// A word of a row as this version knows it.
pub(super) fn stored_word<T>(
    table: &'static str,
    id: impl ToString,
    field: &'static str,
    word: &str,
    parsed: Option<T>,
) -> Result<T, HistoryError> {
    parsed.ok_or_else(|| HistoryError::Row {
        table,
        id: id.to_string(),
        field,
        found: word.to_owned(),
        expected: "a word of this version",
    })
}
