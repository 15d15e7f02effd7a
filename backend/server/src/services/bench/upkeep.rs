//! What goes on beside requests: runs that wait for the database, alerts of what arrived, old samples.

use std::sync::Arc;
use std::time::Duration;

use fleethold_api_types::bench::Alert;
use fleethold_history::bench::BenchAlert;
use fleethold_history::{DbState, HistoryError};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::lab::Lab;
use super::webhook::Webhook;
use super::{curate, keep};
use crate::clock;

/// The outbox and new runs are looked at this often; other processes put runs there, too.
const LOOK: Duration = Duration::from_secs(5);
/// Old samples are looked for this often.
const ROLL_UP: Duration = Duration::from_secs(24 * 3600);

/// Looks after the lab until `stop`.
pub async fn run(lab: Arc<Lab>, keep_days: u32, webhook: Option<Webhook>, stop: CancellationToken) {
    let mut database = lab.views.database.state();
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut roll_up_at: Option<Instant> = None;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
            () = lab.put.notified() => {}
            changed = database.changed() => if changed.is_err() { return },
        }
        if *database.borrow_and_update() != DbState::Ready {
            continue;
        }
        if let Err(error) = look(&lab, webhook.as_ref()).await {
            report(&error, "the benchmark lab could not be looked after");
            continue;
        }
        if keep_days > 0 && roll_up_at.is_none_or(|at| at <= clock::monotonic().into()) {
            roll_up_at = Some(Instant::from_std(clock::monotonic()) + ROLL_UP);
            if let Err(error) = roll_up(&lab, keep_days).await {
                report(&error, "old benchmark samples could not be rolled up");
            }
        }
    }
}

async fn look(lab: &Arc<Lab>, webhook: Option<&Webhook>) -> Result<(), HistoryError> {
    keep::upload(lab).await?;
    let changed = lab.views.database.watch_bench_runs().await?;
    let news: Vec<BenchAlert> = changed.into_iter().filter(BenchAlert::is_news).collect();
    if news.is_empty() {
        return Ok(());
    }
    let series = curate::series_by_id(&lab.views.database, &news).await?;
    let news: Vec<Alert> = news
        .into_iter()
        .filter_map(|alert| curate::alert_of(alert, &series))
        .collect();
    for alert in &news {
        tracing::warn!(alert = alert.id, workload = %alert.series.workload, metric = %alert.series.metric,
            ratio = alert.ratio, run = %alert.run, "a benchmark got worse");
        if let Some(webhook) = webhook {
            webhook.tell(alert).await;
        }
    }
    Ok(())
}

async fn roll_up(lab: &Lab, keep_days: u32) -> Result<(), HistoryError> {
    let before = clock::now() - time::Duration::days(i64::from(keep_days));
    let done = lab.views.database.roll_up(before).await?;
    if done.runs > 0 {
        tracing::info!(
            runs = done.runs,
            samples = done.samples,
            keep_days,
            "old benchmark samples rolled up"
        );
    }
    Ok(())
}

fn report(error: &HistoryError, what: &str) {
    match error {
        HistoryError::Away { .. } | HistoryError::Starting => tracing::debug!(%error, "{what}"),
        error => tracing::warn!(%error, "{what}"),
    }
}
