//! Alerts: a series got worse.
//!
//! ```text
//!           slower again               by a person          by a person
//! open ─────────────────▶ confirmed ─────────────▶ acknowledged, muted ──▶ open (or confirmed) again
//!   └──────────┬──────────────┴──────────────┬───────────┘
//!              ▼ a later run does not show it ▼ (a muted one stays muted)
//!            gone                           gone
//! ```

use time::OffsetDateTime;
use uuid::Uuid;

use super::check::check_text;
use super::run::stored_word;
use crate::database::Database;
use crate::error::HistoryError;

/// Longest reason or name, in bytes.
const MAX_REASON: usize = 1600;
/// The longest list.
const MAX_LIMIT: u32 = 500;

/// Where an alert stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlertState {
    /// Seen once.
    Open,
    /// A second run shows it, too.
    Confirmed,
    /// Somebody knows.
    Acknowledged,
    /// Not to be told again.
    Muted,
    /// A later run does not show it.
    Gone,
}

impl AlertState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Open,
        Self::Confirmed,
        Self::Acknowledged,
        Self::Muted,
        Self::Gone,
    ];

    /// The word stored in the database and shown in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Confirmed => "confirmed",
            Self::Acknowledged => "acknowledged",
            Self::Muted => "muted",
            Self::Gone => "gone",
        }
    }

    /// The state of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Which alerts to list; the default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertFilter {
    /// In this state.
    pub state: Option<AlertState>,
    /// Of this series.
    pub series: Option<i64>,
}

/// A series got worse.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchAlert {
    /// Number.
    pub id: i64,
    /// Series.
    pub series: i64,
    /// Run in which it was seen.
    pub run: Uuid,
    /// Run that it was measured against.
    pub against: Uuid,
    /// New level to old level.
    pub ratio: f64,
    /// p after correction.
    pub p: f64,
    /// Where it stands.
    pub state: AlertState,
    /// Run that confirmed it.
    pub confirmed_by: Option<Uuid>,
    /// When it was seen.
    pub opened_at: OffsetDateTime,
    /// When it last changed.
    pub changed_at: OffsetDateTime,
    /// Who changed it; empty: a run did.
    pub changed_by: String,
    /// Why it was acknowledged or muted.
    pub reason: String,
}

impl Database {
    /// Alerts, newest first, at most `limit` (1 to 500), older than `cursor`.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn alerts(
        &self,
        filter: &AlertFilter,
        cursor: Option<i64>,
        limit: u32,
    ) -> Result<Vec<BenchAlert>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AlertRecord,
            "SELECT id, series, run, against, ratio, p, state, confirmed_by, opened_at, changed_at, changed_by, reason
             FROM bench_alert
             WHERE ($1::text IS NULL OR state = $1) AND ($2::bigint IS NULL OR series = $2)
               AND ($3::bigint IS NULL OR id < $3)
             ORDER BY id DESC LIMIT $4",
            filter.state.map(AlertState::as_str),
            filter.series,
            cursor,
            i64::from(limit.clamp(1, MAX_LIMIT)),
        );
        let records = self.bounded("list alerts", query.fetch_all(&pool)).await?;
        records.into_iter().map(AlertRecord::read).collect()
    }

    /// Alerts that were opened or confirmed and nobody was told of, oldest first, at most `limit` (1 to 500).
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn untold_alerts(&self, limit: u32) -> Result<Vec<BenchAlert>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AlertRecord,
            "SELECT id, series, run, against, ratio, p, state, confirmed_by, opened_at, changed_at, changed_by, reason
             FROM bench_alert
             WHERE state IN ('open', 'confirmed') AND told IS DISTINCT FROM state
             ORDER BY id LIMIT $1",
            i64::from(limit.clamp(1, MAX_LIMIT)),
        );
        let records = self.bounded("list news", query.fetch_all(&pool)).await?;
        records.into_iter().map(AlertRecord::read).collect()
    }

    /// Takes note that people were told of an alert as it stood then.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn alert_told(&self, id: i64, state: AlertState) -> Result<(), HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            "UPDATE bench_alert SET told = $2 WHERE id = $1",
            id,
            state.as_str()
        );
        self.bounded("mark an alert", query.execute(&pool)).await?;
        Ok(())
    }

    /// Acknowledges or mutes an alert, or takes either back (`open`: it is confirmed again if a run had confirmed
    /// it). `None`: no such alert, or it is gone.
    ///
    /// # Errors
    /// [`HistoryError::Refused`] for a state that only runs decide.
    pub async fn change_alert(
        &self,
        id: i64,
        state: AlertState,
        by: &str,
        reason: &str,
    ) -> Result<Option<BenchAlert>, HistoryError> {
        check_text("reason", reason, MAX_REASON)?;
        check_text("user", by, MAX_REASON)?;
        if matches!(state, AlertState::Confirmed | AlertState::Gone) {
            return Err(HistoryError::refused(
                "state",
                state.as_str(),
                "acknowledged, muted or open: the others are for runs to decide",
            ));
        }
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AlertRecord,
            "UPDATE bench_alert
             SET state = CASE WHEN $2 = 'open' AND confirmed_by IS NOT NULL THEN 'confirmed' ELSE $2 END,
                 changed_by = $3, reason = $4, changed_at = now()
             WHERE id = $1 AND state <> 'gone'
             RETURNING id, series, run, against, ratio, p, state, confirmed_by, opened_at, changed_at, changed_by,
                 reason",
            id,
            state.as_str(),
            by,
            reason,
        );
        let record = self
            .bounded("change an alert", query.fetch_optional(&pool))
            .await?;
        record.map(AlertRecord::read).transpose()
    }
}

pub(super) struct AlertRecord {
    pub(super) id: i64,
    pub(super) series: i64,
    pub(super) run: Uuid,
    pub(super) against: Uuid,
    pub(super) ratio: f64,
    pub(super) p: f64,
    pub(super) state: String,
    pub(super) confirmed_by: Option<Uuid>,
    pub(super) opened_at: OffsetDateTime,
    pub(super) changed_at: OffsetDateTime,
    pub(super) changed_by: String,
    pub(super) reason: String,
}

impl AlertRecord {
    pub(super) fn read(self) -> Result<BenchAlert, HistoryError> {
        let state = AlertState::from_word(&self.state);
        Ok(BenchAlert {
            id: self.id,
            series: self.series,
            run: self.run,
            against: self.against,
            ratio: self.ratio,
            p: self.p,
            state: stored_word("bench_alert", self.id, "state", &self.state, state)?,
            confirmed_by: self.confirmed_by,
            opened_at: self.opened_at,
            changed_at: self.changed_at,
            changed_by: self.changed_by,
            reason: self.reason,
        })
    }
}
