//! What people say of a series: outliers, level shifts, notes. Withdrawn ones stay, marked.

use time::OffsetDateTime;
use uuid::Uuid;

use super::check::check_text;
use super::run::stored_word;
use crate::database::Database;
use crate::error::HistoryError;

/// Longest reason or author, in bytes.
const MAX_REASON: usize = 1600;
/// Most annotations of one answer.
const MAX_ANNOTATIONS: i64 = 2000;

/// Kinds of annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnnotationKind {
    /// The run does not count in this series.
    Outlier,
    /// The level changes at this run for a known reason: no alert compares across it.
    LevelShift,
    /// Words only.
    Note,
}

impl AnnotationKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Outlier, Self::LevelShift, Self::Note];

    /// The word stored in the database and shown in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outlier => "outlier",
            Self::LevelShift => "level-shift",
            Self::Note => "note",
        }
    }

    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAnnotation {
    /// Series.
    pub series: i64,
    /// Run; needed for outliers and level shifts.
    pub run: Option<Uuid>,
    /// What it does.
    pub kind: AnnotationKind,
    /// Why.
    pub reason: String,
    /// Who.
    pub author: String,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchAnnotation {
    /// Number.
    pub id: i64,
    /// Series.
    pub series: i64,
    /// Run; absent for the whole series.
    pub run: Option<Uuid>,
    /// What it does.
    pub kind: AnnotationKind,
    /// Why.
    pub reason: String,
    /// Who.
    pub author: String,
    /// When.
    pub created_at: OffsetDateTime,
    /// When it was taken back, and by whom.
    pub withdrawn: Option<(OffsetDateTime, String)>,
}

impl Database {
    /// Says something of a series. `None`: no such series, or the run is not in it.
    ///
    /// # Errors
    /// [`HistoryError::Refused`] for an outlier or level shift without a run, or without a reason.
    pub async fn annotate(&self, new: &NewAnnotation) -> Result<Option<BenchAnnotation>, HistoryError> {
        check_text("reason", &new.reason, MAX_REASON)?;
        check_text("author", &new.author, MAX_REASON)?;
        let refused = HistoryError::refused::<&'static str, &str, &'static str>;
        if new.reason.trim().is_empty() {
            return Err(refused("reason", "empty", "why"));
        }
        if new.run.is_none() && new.kind != AnnotationKind::Note {
            return Err(refused("run", "missing", "the run that is marked"));
        }
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AnnotationRecord,
            "INSERT INTO bench_annotation (series, run, kind, reason, author, created_at)
             SELECT $1, $2, $3, $4, $5, now()
             WHERE EXISTS (
                 SELECT FROM bench_summary WHERE series = $1 AND ($2::uuid IS NULL OR run = $2)
             )
             RETURNING id, series, run, kind, reason, author, created_at, withdrawn_at, withdrawn_by",
            new.series,
            new.run,
            new.kind.as_str(),
            new.reason,
            new.author,
        );
        let record = self.bounded("annotate", query.fetch_optional(&pool)).await?;
        record.map(AnnotationRecord::read).transpose()
    }

    /// Takes an annotation back; what it did is undone. One that was withdrawn stays as it is. `None`: no such one.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn withdraw_annotation(
        &self,
        id: i64,
        by: &str,
    ) -> Result<Option<BenchAnnotation>, HistoryError> {
        check_text("author", by, MAX_REASON)?;
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AnnotationRecord,
            "UPDATE bench_annotation
             SET withdrawn_by = coalesce(withdrawn_by, $2), withdrawn_at = coalesce(withdrawn_at, now())
             WHERE id = $1
             RETURNING id, series, run, kind, reason, author, created_at, withdrawn_at, withdrawn_by",
            id,
            by,
        );
        let record = self
            .bounded("withdraw an annotation", query.fetch_optional(&pool))
            .await?;
        record.map(AnnotationRecord::read).transpose()
    }

    /// What was said of a series, oldest first, withdrawn ones, too.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn annotations(&self, series: i64) -> Result<Vec<BenchAnnotation>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AnnotationRecord,
            "SELECT id, series, run, kind, reason, author, created_at, withdrawn_at, withdrawn_by
             FROM bench_annotation WHERE series = $1 ORDER BY id LIMIT $2",
            series,
            MAX_ANNOTATIONS,
        );
        let records = self.bounded("list annotations", query.fetch_all(&pool)).await?;
        records.into_iter().map(AnnotationRecord::read).collect()
    }
}

struct AnnotationRecord {
    id: i64,
    series: i64,
    run: Option<Uuid>,
    kind: String,
    reason: String,
    author: String,
    created_at: OffsetDateTime,
    withdrawn_at: Option<OffsetDateTime>,
    withdrawn_by: Option<String>,
}

impl AnnotationRecord {
    fn read(self) -> Result<BenchAnnotation, HistoryError> {
        let kind = AnnotationKind::from_word(&self.kind);
        Ok(BenchAnnotation {
            id: self.id,
            series: self.series,
            run: self.run,
            kind: stored_word("bench_annotation", self.id, "kind", &self.kind, kind)?,
            reason: self.reason,
            author: self.author,
            created_at: self.created_at,
            withdrawn: self.withdrawn_at.zip(self.withdrawn_by),
        })
    }
}
