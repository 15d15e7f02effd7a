//! Alerts that stand, open or confirmed: looked at in the database, told to the live feed when they change.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleethold_api_types::bench::Alert;
use fleethold_history::bench::{AlertFilter, AlertState};
use fleethold_history::{Database, HistoryError};
use parking_lot::Mutex;

use super::curate;
use crate::views::Views;

/// Alerts of either state that are looked at: beyond that, people have more to do than to read a number.
const MAX_ALERTS: u32 = 500;

/// The alerts that stood when last looked at, and what the live feed has not heard of.
#[derive(Default)]
pub struct Standing {
    inner: Mutex<Inner>,
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Inner {
    /// `None` until the database was asked once.
    standing: Option<BTreeMap<i64, Alert>>,
    news: BTreeMap<i64, Alert>,
    changed: bool,
}

impl Standing {
    /// Takes note of the alerts that stand now. What stood already at the first look is no news, only a number.
    pub fn replace(&self, alerts: Vec<Alert>) {
        let now: BTreeMap<i64, Alert> = alerts.into_iter().map(|alert| (alert.id, alert)).collect();
        let mut inner = self.inner.lock();
        let Inner {
            standing,
            news,
            changed,
        } = &mut *inner;
        let before = standing.replace(now);
        let now = standing.iter().flatten();
        match before {
            None => *changed |= now.count() > 0,
            Some(before) => {
                let state_of = |id: &i64| before.get(id).map(|alert| alert.state);
                let new: BTreeMap<i64, Alert> = now
                    .filter(|(id, alert)| state_of(id) != Some(alert.state))
                    .map(|(id, alert)| (*id, alert.clone()))
                    .collect();
                let gone = before
                    .keys()
                    .any(|id| standing.as_ref().is_some_and(|now| !now.contains_key(id)));
                *changed |= gone || !new.is_empty();
                news.extend(new);
                news.retain(|id, _| standing.as_ref().is_some_and(|now| now.contains_key(id)));
            }
        }
    }

    /// How many stand.
    #[must_use]
    pub fn standing(&self) -> u32 {
        let inner = self.inner.lock();
        let count = inner.standing.as_ref().map_or(0, BTreeMap::len);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// How many stand, and those that were opened or confirmed, if something changed since the last call.
    #[must_use]
    pub fn take_changed(&self) -> Option<(u32, Vec<Alert>)> {
        let news = {
            let mut inner = self.inner.lock();
            if !std::mem::take(&mut inner.changed) {
                return None;
            }
            std::mem::take(&mut inner.news)
        };
        Some((self.standing(), news.into_values().collect()))
    }
}

/// Asks the database which alerts stand.
///
/// # Errors
/// When it is away.
pub async fn refresh(views: &Arc<Views>) -> Result<(), HistoryError> {
    let database: &Database = &views.database;
    // Of two readings at once the older could come second, and tell what was acknowledged meanwhile as news.
    let _one_at_a_time = views.bench.alerts.reading.lock().await;
    let mut alerts = Vec::new();
    for state in [AlertState::Open, AlertState::Confirmed] {
        let filter = AlertFilter {
            state: Some(state),
            series: None,
        };
        alerts.extend(database.alerts(&filter, None, MAX_ALERTS).await?);
    }
    let series = curate::series_by_id(database, &alerts).await?;
    let alerts = alerts
        .into_iter()
        .filter_map(|alert| curate::alert_of(alert, &series))
        .collect();
    views.bench.alerts.replace(alerts);
    Ok(())
}

#[cfg(test)]
mod tests {
    use fleethold_api_types::bench as api;
    use time::OffsetDateTime;
    use uuid::Uuid;

    use super::*;

    fn alert(id: i64, state: api::AlertState) -> Alert {
        Alert {
            id,
            series: api::Series {
                id: 1,
                workload: "lookup".to_owned(),
                parameters: BTreeMap::new(),
                metric: "time".to_owned(),
                unit: "s".to_owned(),
                lower_is_better: true,
                machine_class: String::new(),
                side: api::Side::After,
                runs: 2,
            },
            run: Uuid::nil(),
            against: Uuid::max(),
            ratio: 1.2,
            p: 0.001,
            state,
            confirmed_by: None,
            opened_at: OffsetDateTime::UNIX_EPOCH,
            changed_at: OffsetDateTime::UNIX_EPOCH,
            changed_by: String::new(),
            reason: String::new(),
        }
    }

    fn ids(told: Option<(u32, Vec<Alert>)>) -> Option<(u32, Vec<i64>)> {
        told.map(|(standing, alerts)| (standing, alerts.iter().map(|alert| alert.id).collect()))
    }

    #[test]
    fn what_opens_confirms_or_goes_is_told_once() {
        use api::AlertState::{Confirmed, Open};
        let table = Standing::default();
        table.replace(vec![alert(1, Open)]);
        assert_eq!(
            ids(table.take_changed()),
            Some((1, vec![])),
            "old at the first look"
        );
        table.replace(vec![alert(1, Open)]);
        assert_eq!(ids(table.take_changed()), None, "nothing changed");
        table.replace(vec![alert(1, Confirmed), alert(2, Open)]);
        assert_eq!(ids(table.take_changed()), Some((2, vec![1, 2])));
        assert_eq!(ids(table.take_changed()), None, "told already");
        table.replace(vec![alert(2, Open)]);
        assert_eq!(
            ids(table.take_changed()),
            Some((1, vec![])),
            "one is acknowledged"
        );
    }

    #[test]
    fn what_came_and_went_between_two_looks_of_the_feed_is_no_news() {
        let table = Standing::default();
        table.replace(Vec::new());
        assert_eq!(ids(table.take_changed()), None, "nothing stands, nothing is told");
        table.replace(vec![alert(3, api::AlertState::Open)]);
        table.replace(Vec::new());
        assert_eq!(ids(table.take_changed()), Some((0, vec![])));
    }
}
