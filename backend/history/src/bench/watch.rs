//! Watching series: what a run says about the alerts of its series.
//!
//! Only complete runs that were measured here on a quiet machine speak; quick ones and imported files do not. Each judged after series is compared with the
//! newest earlier run that is comparable: the same series (so the same machine class) on the same data, no outlier,
//! no level shift between. A series with a standing alert is compared with what the alert was measured against, so
//! that a slow level does not become its own baseline.

use std::collections::{BTreeMap, BTreeSet};

use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::noise::{noise_ratio, threshold};
use fleethold_bench_model::unit::Direction;
use fleethold_bench_model::verdict::{Rules, Verdict, decide, evidence};
use fleethold_bench_model::{holm, rank::RankError};
use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use super::alert::{AlertRecord, AlertState, BenchAlert};
use super::matrix::earlier_medians;
use super::run::{stored_json, stored_word};
use super::store::{BULK_LIMIT, blocking};
use super::summary::count_verdicts;
use crate::database::Database;
use crate::error::HistoryError;

/// Most runs that are looked at in one go; more wait for the next.
const MAX_PENDING: i64 = 1000;

/// A series of the run, and what it is compared with.
#[derive(Debug)]
struct Candidate {
    series: i64,
    better: Direction,
    /// Nothing is comparable without it.
    against: Option<Uuid>,
    standing: Option<(i64, AlertState)>,
}

/// What the comparison said.
#[derive(Debug, Clone, Copy)]
struct Finding {
    ratio: f64,
    p: f64,
    verdict: Verdict,
}

impl Database {
    /// Looks at all runs whose alerts nobody has judged, the one measured first first, and answers the alerts that
    /// changed. To be called after runs were stored and when the server starts: a run is judged once. What people are
    /// to be told stands in [`Database::untold_alerts`], so that an error on the way loses no news. A run that cannot
    /// be judged for what its rows hold is in the log and holds up no other.
    ///
    /// # Errors
    /// [`HistoryError`] when the database goes away; what was judged before it stays.
    pub async fn watch_bench_runs(&self) -> Result<Vec<BenchAlert>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT id, content = 'matrix' AND verdicts IS NULL AND rolled_up_at IS NULL AS "uncounted!"
               FROM bench_run WHERE alerts_judged_at IS NULL ORDER BY measured_at, id LIMIT $1"#,
            MAX_PENDING
        );
        let pending = self.bounded("list new runs", query.fetch_all(&pool)).await?;
        let mut changed = Vec::new();
        for run in pending {
            match self.watch_one(&pool, run.id, run.uncounted).await {
                Ok(of_run) => changed.extend(of_run),
                Err(error) if error.is_of_the_database() => return Err(error),
                Err(error) => {
                    tracing::warn!(run = %run.id, %error, "the alerts of a benchmark run cannot be judged");
                    // What its rows hold does not change: it is not asked again and again.
                    self.mark_judged(&pool, run.id).await?;
                }
            }
        }
        Ok(changed)
    }

    async fn watch_one(
        &self,
        pool: &PgPool,
        id: Uuid,
        uncounted: bool,
    ) -> Result<Vec<BenchAlert>, HistoryError> {
        if uncounted {
            self.count_late(pool, id).await?;
        }
        self.watch_bench_run(id).await
    }

    async fn mark_judged(&self, pool: &PgPool, id: Uuid) -> Result<(), HistoryError> {
        let query = sqlx::query!(
            "UPDATE bench_run SET alerts_judged_at = now() WHERE id = $1 AND alerts_judged_at IS NULL",
            id
        );
        self.bounded("mark a run", query.execute(pool)).await?;
        Ok(())
    }

    /// The verdicts of a run that was stored when its server ended before they were counted.
    async fn count_late(&self, pool: &PgPool, id: Uuid) -> Result<(), HistoryError> {
        let Some(matrix) = self.bench_matrix(id).await? else {
            return Ok(());
        };
        let counts = blocking("judge a run", move || count_verdicts(&matrix)).await?;
        let Some(counts) = counts else { return Ok(()) };
        let counts = counts.map(|count| i32::try_from(count).unwrap_or(i32::MAX));
        let query = sqlx::query!("UPDATE bench_run SET verdicts = $2 WHERE id = $1", id, &counts);
        self.bounded("store verdicts", query.execute(pool)).await?;
        Ok(())
    }

    /// Judges the alerts of one run's series, once; answers those that changed.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn watch_bench_run(&self, id: Uuid) -> Result<Vec<BenchAlert>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT measured_at AS "measured_at!", frame::text AS "frame!"
               FROM bench_run
               WHERE id = $1 AND alerts_judged_at IS NULL AND content = 'matrix' AND rolled_up_at IS NULL
                 AND source = 'run' AND complete AND quiet AND NOT quick"#,
            id
        );
        let run = self.bounded("read a run", query.fetch_optional(&pool)).await?;
        let Some(run) = run else {
            self.mark_judged(&pool, id).await?;
            return Ok(Vec::new());
        };
        let frame: Matrix = stored_json("bench_run", &id.to_string(), "frame", &run.frame)?;
        let (candidates, overtaken) = self.candidates(&pool, id).await?;
        let findings = self
            .findings(&pool, id, run.measured_at, frame.rules, &candidates)
            .await?;
        let write = write(&pool, id, &candidates, &findings, &overtaken);
        let records = self.bounded_by(BULK_LIMIT, "store alerts", write).await?;
        records.into_iter().map(AlertRecord::read).collect()
    }

    /// The judged after series of a run, each with what it is compared with; and standing alerts that cannot be decided
    /// any more, since a level shift was marked after what they were measured against, or its samples went. Their
    /// series are compared with what is newest.
    async fn candidates(&self, pool: &PgPool, id: Uuid) -> Result<(Vec<Candidate>, Vec<i64>), HistoryError> {
        let (mut candidates, mut again, mut overtaken) = (Vec::new(), Vec::new(), Vec::new());
        for one in self.baselines(pool, id, None).await? {
            match (one.against, one.standing) {
                (Some(_), _) => candidates.push(one),
                (None, Some((alert, _))) => {
                    overtaken.push(alert);
                    again.push(one.series);
                }
                (None, None) => {}
            }
        }
        if !again.is_empty() {
            let newest = self.baselines(pool, id, Some(&again)).await?;
            candidates.extend(newest.into_iter().filter(|one| one.against.is_some()));
        }
        Ok((candidates, overtaken))
    }

    /// The judged after series of a run with their baselines: what the standing alert was measured against, or the
    /// newest comparable run. With `again` only these series, as if no alert stood.
    async fn baselines(
        &self,
        pool: &PgPool,
        id: Uuid,
        again: Option<&[i64]>,
    ) -> Result<Vec<Candidate>, HistoryError> {
        let query = sqlx::query!(
            r#"WITH marked AS (
                   SELECT said.series, said.run, said.kind, point.measured_at
                   FROM bench_annotation AS said
                   JOIN bench_summary AS point ON point.series = said.series AND point.run = said.run
                   WHERE said.withdrawn_at IS NULL AND said.kind <> 'note'
                     AND said.series IN (SELECT series FROM bench_summary WHERE run = $1)
               ), mine AS (
                   SELECT point.series, series.better, point.measured_at, point.run
                   FROM bench_summary AS point
                   JOIN bench_series AS series ON series.id = point.series
                   WHERE point.run = $1 AND point.judged AND series.side = 'after'
                     AND NOT EXISTS (
                         SELECT FROM marked
                         WHERE marked.series = point.series AND marked.run = $1 AND marked.kind = 'outlier'
                     )
                     AND NOT EXISTS (
                         SELECT FROM bench_summary AS later JOIN bench_run AS run ON run.id = later.run
                         WHERE later.series = point.series AND run.alerts_judged_at IS NOT NULL
                           AND (later.measured_at, later.run) > (point.measured_at, point.run)
                           AND run.source = 'run' AND run.complete AND run.quiet
                     )
               )
               SELECT mine.series AS "series!", mine.better AS "better!",
                   alert.id AS "alert?", alert.state AS "state?", baseline.run AS "against?"
               FROM mine
               LEFT JOIN bench_alert AS alert
                   ON alert.series = mine.series AND alert.state <> 'gone' AND $2::bigint[] IS NULL
               LEFT JOIN LATERAL (
                   SELECT earlier.run
                   FROM bench_summary AS earlier
                   JOIN bench_run AS run ON run.id = earlier.run
                   JOIN bench_workload AS workload ON workload.id = run.workload
                   WHERE earlier.series = mine.series
                     AND (earlier.measured_at, earlier.run) < (mine.measured_at, mine.run)
                     AND (alert.against IS NULL OR earlier.run = alert.against)
                     AND run.source = 'run' AND run.complete AND run.quiet AND NOT run.quick
                     AND run.rolled_up_at IS NULL
                     AND workload.data_sha256 = (
                         SELECT own.data_sha256 FROM bench_workload AS own
                         JOIN bench_run ON bench_run.workload = own.id WHERE bench_run.id = $1
                     )
                     AND NOT EXISTS (
                         SELECT FROM marked
                         WHERE marked.series = mine.series
                           AND (marked.kind = 'outlier' AND marked.run = earlier.run
                             OR marked.kind = 'level-shift'
                               AND (marked.measured_at, marked.run) > (earlier.measured_at, earlier.run)
                               AND (marked.measured_at, marked.run) <= (mine.measured_at, mine.run))
                     )
                   ORDER BY earlier.measured_at DESC, earlier.run DESC
                   LIMIT 1
               ) AS baseline ON true
               WHERE $2::bigint[] IS NULL OR mine.series = ANY($2)
               ORDER BY mine.series"#,
            id,
            again
        );
        let records = self.bounded("find baselines", query.fetch_all(pool)).await?;
        let candidate = |record| {
            let (series, better, alert, against): (i64, String, Option<(i64, String)>, Option<Uuid>) = record;
            let standing = alert.map(|(alert, word)| {
                let state = AlertState::from_word(&word);
                Ok::<_, HistoryError>((alert, stored_word("bench_alert", alert, "state", &word, state)?))
            });
            Ok(Candidate {
                series,
                better: stored_word("bench_series", series, "better", &better, better.parse().ok())?,
                against,
                standing: standing.transpose()?,
            })
        };
        records
            .into_iter()
            .map(|record| {
                (
                    record.series,
                    record.better,
                    record.alert.zip(record.state),
                    record.against,
                )
            })
            .map(candidate)
            .collect()
    }

    /// What each comparison says, corrected over all of them.
    async fn findings(
        &self,
        pool: &PgPool,
        id: Uuid,
        at: OffsetDateTime,
        rules: Rules,
        candidates: &[Candidate],
    ) -> Result<Vec<Finding>, HistoryError> {
        let all: Vec<i64> = candidates.iter().map(|one| one.series).collect();
        let medians = self
            .bounded("read noise", earlier_medians(pool, &all, at, id))
            .await?;
        let mut now = self.numbers(pool, id, all).await?;
        let mut then: BTreeMap<i64, Vec<(i32, f64)>> = BTreeMap::new();
        let baselines: BTreeSet<Uuid> = candidates.iter().filter_map(|one| one.against).collect();
        for run in baselines {
            let of_run = candidates.iter().filter(|one| one.against == Some(run));
            let series = of_run.map(|one| one.series).collect();
            then.extend(self.numbers(pool, run, series).await?);
        }
        let values = |of: Option<Vec<(i32, f64)>>| -> Vec<f64> {
            of.unwrap_or_default()
                .into_iter()
                .map(|(_, value)| value)
                .collect()
        };
        let cells: Vec<Comparable> = candidates
            .iter()
            .map(|one| Comparable {
                before: values(then.remove(&one.series)),
                after: values(now.remove(&one.series)),
                better: one.better,
                noise: medians.get(&one.series).and_then(|medians| noise_ratio(medians)),
            })
            .collect();
        blocking("judge alerts", move || judge(&cells, &rules))
            .await?
            .map_err(|error| HistoryError::Row {
                table: "bench_sample",
                id: id.to_string(),
                field: "value",
                found: error.to_string(),
                expected: "samples that can be compared",
            })
    }
}

/// Two lists of samples of one series.
struct Comparable {
    before: Vec<f64>,
    after: Vec<f64>,
    better: Direction,
    noise: Option<f64>,
}

fn judge(cells: &[Comparable], rules: &Rules) -> Result<Vec<Finding>, RankError> {
    let found = cells
        .iter()
        .map(|cell| evidence(&cell.before, &cell.after, rules));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let p: Vec<f64> = found.iter().map(|one| one.p).collect();
    let adjusted = if rules.holm { holm::adjust(&p) } else { p };
    let judged = cells
        .iter()
        .zip(found)
        .zip(adjusted)
        .map(|((cell, found), p)| Finding {
            ratio: found.ratio.estimate(),
            p,
            verdict: decide(
                &found,
                p,
                threshold(rules.min_effect_ratio, cell.noise),
                cell.better,
                cells.len(),
                rules,
            ),
        });
    Ok(judged.collect())
}

/// What becomes of an alert; `None`: it stays as it is. What is not decided changes nothing.
fn next_state(standing: Option<AlertState>, verdict: Verdict) -> Option<AlertState> {
    match (standing, verdict) {
        (None, Verdict::Slower) => Some(AlertState::Open),
        (Some(AlertState::Open), Verdict::Slower) => Some(AlertState::Confirmed),
        (
            Some(AlertState::Open | AlertState::Confirmed | AlertState::Acknowledged),
            Verdict::Faster | Verdict::EqualWithin { .. },
        ) => Some(AlertState::Gone),
        _ => None,
    }
}

/// Writes what changed, in one transaction with the mark that the run was judged.
async fn write(
    pool: &PgPool,
    id: Uuid,
    candidates: &[Candidate],
    findings: &[Finding],
    overtaken: &[i64],
) -> Result<Vec<AlertRecord>, sqlx::Error> {
    let mut transaction = pool.begin().await?;
    let marked = sqlx::query!(
        "UPDATE bench_run SET alerts_judged_at = now() WHERE id = $1 AND alerts_judged_at IS NULL",
        id
    )
    .execute(&mut *transaction)
    .await?;
    if marked.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(Vec::new());
    }
    let mut changed = sqlx::query_as!(
        AlertRecord,
        "UPDATE bench_alert SET state = 'gone', changed_at = now(), changed_by = ''
         WHERE id = ANY($1) AND state <> 'gone'
         RETURNING id, series, run, against, ratio, p, state, confirmed_by, opened_at, changed_at, changed_by, reason",
        overtaken
    )
    .fetch_all(&mut *transaction)
    .await?;
    for (one, found) in candidates.iter().zip(findings) {
        let record = match (next_state(one.standing.map(|(_, state)| state), found.verdict), one.standing) {
            (None, _) => None,
            (Some(state), None) => {
                sqlx::query_as!(
                    AlertRecord,
                    "INSERT INTO bench_alert (series, run, against, ratio, p, state, opened_at, changed_at, changed_by,
                         reason)
                     VALUES ($1, $2, $3, $4, $5, $6, now(), now(), '', '')
                     ON CONFLICT (series) WHERE state <> 'gone' DO NOTHING
                     RETURNING id, series, run, against, ratio, p, state, confirmed_by, opened_at, changed_at,
                         changed_by, reason",
                    one.series,
                    id,
                    one.against,
                    found.ratio,
                    found.p,
                    state.as_str(),
                )
                .fetch_optional(&mut *transaction)
                .await?
            }
            (Some(state), Some((alert, was))) => {
                sqlx::query_as!(
                    AlertRecord,
                    "UPDATE bench_alert
                     SET state = $3, confirmed_by = CASE WHEN $3 = 'confirmed' THEN $4 ELSE confirmed_by END,
                         changed_at = now(), changed_by = ''
                     WHERE id = $1 AND state = $2
                     RETURNING id, series, run, against, ratio, p, state, confirmed_by, opened_at, changed_at,
                         changed_by, reason",
                    alert,
                    was.as_str(),
                    state.as_str(),
                    id,
                )
                .fetch_optional(&mut *transaction)
                .await?
            }
        };
        changed.extend(record);
    }
    transaction.commit().await?;
    Ok(changed)
}

impl BenchAlert {
    /// Whether people are told of it when it comes out of [`Database::watch_bench_runs`]: it was opened or confirmed.
    pub fn is_news(&self) -> bool {
        matches!(self.state, AlertState::Open | AlertState::Confirmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_decided_changes_an_alert() {
        use AlertState::{Acknowledged, Confirmed, Gone, Muted, Open};
        let equal = Verdict::EqualWithin { within_ratio: 0.01 };
        let unknown = Verdict::Inconclusive { more_runs: 3 };
        for (standing, verdict, next) in [
            (None, Verdict::Slower, Some(Open)),
            (None, Verdict::Faster, None),
            (None, equal, None),
            (Some(Open), Verdict::Slower, Some(Confirmed)),
            (Some(Confirmed), Verdict::Slower, None),
            (Some(Open), equal, Some(Gone)),
            (Some(Confirmed), Verdict::Faster, Some(Gone)),
            (Some(Acknowledged), equal, Some(Gone)),
            (Some(Acknowledged), Verdict::Slower, None),
            (Some(Muted), Verdict::Slower, None),
            (Some(Muted), equal, None),
            (Some(Open), unknown, None),
        ] {
            assert_eq!(next_state(standing, verdict), next, "{standing:?} {verdict:?}");
        }
    }
}
