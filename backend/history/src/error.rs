//! Errors of reading the history, and of keeping benchmark runs.

use std::borrow::Cow;
use std::time::Duration;

use fleethold_bench_model::comparison::ComparisonError;
use fleethold_bench_model::import::ImportError;
use time::OffsetDateTime;

/// Why the history could not be read, or a benchmark run not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The database has not answered yet since the server started.
    #[error("the history database is starting")]
    Starting,
    /// The database is away; restores and reads go on without it.
    #[error("the history database is away since {since}: {reason}")]
    Away {
        /// Since when.
        since: OffsetDateTime,
        /// What the last attempt to reach it said.
        reason: String,
    },
    /// A command could not join it.
    #[error("cannot use the history database: {reason}")]
    Unreachable {
        /// What the attempt said.
        reason: String,
    },
    /// It is there and too slow.
    #[error("the history database did not answer {what} within {limit:?}")]
    Slow {
        /// What was asked.
        what: &'static str,
        /// The time it had.
        limit: Duration,
    },
    /// It refused.
    #[error("cannot {what} in the history database: {source}")]
    Query {
        /// What was attempted.
        what: &'static str,
        /// What the database or the connection said.
        source: sqlx::Error,
    },
    /// A row holds what this version does not know.
    #[error("history row {table} {id}: field {field} holds {found:?}, expected {expected}")]
    Row {
        /// The table.
        table: &'static str,
        /// The row.
        id: String,
        /// The column.
        field: &'static str,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// What was to be stored makes no sense.
    #[error("{field} is {found}: expected {expected}")]
    Refused {
        /// Which field.
        field: Cow<'static, str>,
        /// What stood there, shortened.
        found: String,
        /// What is allowed.
        expected: Cow<'static, str>,
    },
    /// The same in a file, which it names.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A matrix that is none, or that cannot be judged.
    #[error(transparent)]
    Matrix(#[from] ComparisonError),
    /// A file of the outbox.
    #[error("cannot {action} {}: {source}", path.display())]
    Outbox {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A thread of this process failed.
    #[error("cannot {what}: {reason}")]
    Thread {
        /// What was attempted.
        what: &'static str,
        /// What went wrong.
        reason: String,
    },
}

impl HistoryError {
    /// What makes no sense and was not stored.
    pub(crate) fn refused<F, S, E>(field: F, found: S, expected: E) -> Self
    where
        F: Into<Cow<'static, str>>,
        S: Into<String>,
        E: Into<Cow<'static, str>>,
    {
        Self::Refused {
            field: field.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// Whether it says that what was to be stored makes no sense, now and whenever it comes again.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Import(_) | Self::Matrix(_))
    }

    /// Whether it says something about the database or the way to it, not about what was asked: the next question
    /// would fail, too.
    #[must_use]
    pub fn is_of_the_database(&self) -> bool {
        match self {
            Self::Starting | Self::Away { .. } | Self::Unreachable { .. } | Self::Slow { .. } => true,
            Self::Query { source, .. } => crate::database::is_outage(source),
            _ => false,
        }
    }
}
