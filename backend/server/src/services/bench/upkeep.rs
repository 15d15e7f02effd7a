//! What goes on beside requests: runs that wait for the database, alerts of what arrived, old samples.

use std::sync::Arc;
use std::time::Duration;

use fleethold_history::{DbState, HistoryError};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::lab::Lab;
use super::webhook::Webhook;
use super::{curate, keep, standing};
use crate::{allocator, clock};

/// The outbox and new runs are looked at this often; other processes put runs there, too.
const LOOK: Duration = Duration::from_secs(5);
/// Old samples are looked for this often.
const ROLL_UP: Duration = Duration::from_secs(24 * 3600);

/// Alerts that are told in one go.
const NEWS: u32 = 50;
/// How long turns that end are gathered before their memory is given back.
const GATHER: Duration = Duration::from_secs(2);
/// How long a webhook that fails is left alone.
const LEAVE_ALONE: Duration = Duration::from_secs(300);

/// Looks after the lab until `stop`. Telling others of alerts takes as long as they take, beside the rest.
pub async fn run(lab: Arc<Lab>, keep_days: u32, webhook: Option<Webhook>, stop: CancellationToken) {
    tokio::join!(
        look_after(&lab, keep_days, &stop),
        tell(&lab, webhook.as_ref(), &stop),
        give_memory_back(&lab, &stop)
    );
}

/// Gives memory back when a turn with large runs has ended: together with those that end soon after.
async fn give_memory_back(lab: &Lab, stop: &CancellationToken) {
    loop {
        let round = async {
            lab.turns.freed().await;
            tokio::time::sleep(GATHER).await;
            if let Err(error) = tokio::task::spawn_blocking(allocator::give_free_memory_back).await {
                tracing::warn!(%error, "memory could not be given back");
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = round => {}
        }
    }
}

/// Tells of every alert once; what could not be told is told later, after a restart, too.
async fn tell(lab: &Arc<Lab>, webhook: Option<&Webhook>, stop: &CancellationToken) {
    loop {
        let round = async {
            let told = if *lab.views.database.state().borrow() == DbState::Ready {
                tell_round(lab, webhook).await
            } else {
                Ok(true)
            };
            let pause = match told {
                Ok(true) => LOOK,
                Ok(false) => LEAVE_ALONE,
                Err(error) => {
                    report(&error, "alerts could not be told");
                    LOOK
                }
            };
            tokio::time::sleep(pause).await;
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = round => {}
        }
    }
}

/// `false`: the webhook does not answer.
async fn tell_round(lab: &Arc<Lab>, webhook: Option<&Webhook>) -> Result<bool, HistoryError> {
    let database = &lab.views.database;
    let news = database.untold_alerts(NEWS).await?;
    if news.is_empty() {
        return Ok(true);
    }
    let series = curate::series_by_id(database, &news).await?;
    for alert in news {
        let (id, state) = (alert.id, alert.state);
        if let Some(alert) = curate::alert_of(alert, &series) {
            tracing::warn!(alert = alert.id, workload = %alert.series.workload, metric = %alert.series.metric,
                ratio = alert.ratio, run = %alert.run, "a benchmark got worse");
            if let Some(webhook) = webhook
                && !webhook.tell(&alert).await
            {
                return Ok(false);
            }
        }
        database.alert_told(id, state).await?;
    }
    Ok(true)
}

async fn look_after(lab: &Arc<Lab>, keep_days: u32, stop: &CancellationToken) {
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
        if let Err(error) = look(lab).await {
            report(&error, "the benchmark lab could not be looked after");
            continue;
        }
        // What the page shows of it keeps nothing from being looked after.
        if let Err(error) = standing::refresh(&lab.views).await {
            report(&error, "the alerts that stand could not be read");
        }
        if keep_days > 0 && roll_up_at.is_none_or(|at| at <= clock::monotonic().into()) {
            roll_up_at = Some(Instant::from_std(clock::monotonic()) + ROLL_UP);
            if let Err(error) = roll_up(lab, keep_days).await {
                report(&error, "old benchmark samples could not be rolled up");
            }
        }
    }
}

async fn look(lab: &Arc<Lab>) -> Result<(), HistoryError> {
    keep::upload(lab).await?;
    lab.views.database.watch_bench_runs().await.map(drop)
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
