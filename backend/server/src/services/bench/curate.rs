//! What people say of series, and what becomes of alerts.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench as api;
use fleethold_format::names::Authid;
use fleethold_history::HistoryError;
use fleethold_history::bench::{
    AlertFilter, AlertState, AnnotationKind, BenchAlert, BenchAnnotation, BenchSeries, NewAnnotation,
    SeriesFilter,
};

use super::plan::check_reason;
use super::series::series_of;
use super::standing;
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::paging::{PageRequest, foreign_cursor};
use crate::state::AppState;

/// Alerts of a page at most.
const MAX_ALERTS: usize = 499;

/// Says something of a series.
///
/// # Errors
/// When the series is none, the run is not in it, or the reason is missing.
pub async fn annotate(
    state: &AppState,
    request: api::CreateAnnotation,
    author: &Authid,
) -> ServiceResult<api::Annotation> {
    check_reason(&request.reason)?;
    if request.reason.trim().is_empty() {
        let text = "reason: expected 1 to 400 characters, found none";
        return Err(ServiceError::bad_request("invalid-reason", text));
    }
    if request.run.is_none() && request.kind != api::AnnotationKind::Note {
        let text = "run: expected the run that is marked, found none";
        return Err(ServiceError::bad_request("invalid-annotation", text));
    }
    let (series, run) = (request.series, request.run);
    let new = NewAnnotation {
        series,
        run,
        kind: match request.kind {
            api::AnnotationKind::Outlier => AnnotationKind::Outlier,
            api::AnnotationKind::LevelShift => AnnotationKind::LevelShift,
            api::AnnotationKind::Note => AnnotationKind::Note,
        },
        reason: request.reason,
        author: author.to_string(),
    };
    let database = Arc::clone(&state.views.database);
    let said = state
        .work
        .spawn(async move { database.annotate(&new).await })
        .await??;
    said.map(annotation_of).ok_or_else(|| {
        let text = match run {
            Some(run) => format!("there is no series {series} with run {run}"),
            None => format!("there is no series {series}"),
        };
        ServiceError::not_found("unknown-series", text)
    })
}

/// Takes an annotation back. One that was taken back before stays as it is.
///
/// # Errors
/// When there is none with this number.
pub async fn withdraw(state: &AppState, id: i64, by: &Authid) -> ServiceResult<api::Annotation> {
    let (database, by) = (Arc::clone(&state.views.database), by.to_string());
    let taken = state
        .work
        .spawn(async move { database.withdraw_annotation(id, &by).await })
        .await??;
    taken
        .map(annotation_of)
        .ok_or_else(|| ServiceError::not_found("unknown-annotation", format!("there is no annotation {id}")))
}

/// Alerts, the newest first.
///
/// # Errors
/// When the cursor is none of this list or the database is away.
pub async fn alerts(
    state: &AppState,
    wanted: Option<api::AlertState>,
    page: &PageRequest,
) -> ServiceResult<Page<api::Alert>> {
    let after: Option<i64> = page
        .after()
        .map(|text| text.parse().map_err(|_| foreign_cursor()))
        .transpose()?;
    let filter = AlertFilter {
        state: wanted.map(state_of),
        series: None,
    };
    let page = page.clone().at_most(MAX_ALERTS);
    let limit = u32::try_from(page.limit()).unwrap_or(u32::MAX) + 1;
    let database = Arc::clone(&state.views.database);
    let read = state.work.spawn(async move {
        let alerts = database.alerts(&filter, after, limit).await?;
        let series = series_by_id(&database, &alerts).await?;
        Ok::<_, HistoryError>((alerts, series))
    });
    let (alerts, series) = read.await??;
    let items: Vec<api::Alert> = alerts
        .into_iter()
        .filter_map(|alert| alert_of(alert, &series))
        .collect();
    let mut page = page.cut(items, |alert| alert.id.to_string(), |_, _| true);
    page.total = None;
    Ok(page)
}

/// Acknowledges or mutes an alert, or takes either back.
///
/// # Errors
/// When there is none with this number that stands, or only a run decides about that state.
pub async fn change_alert(
    state: &AppState,
    id: i64,
    request: api::ChangeAlert,
    by: &Authid,
) -> ServiceResult<api::Alert> {
    check_reason(&request.reason)?;
    let wanted = match request.state {
        api::AlertState::Acknowledged | api::AlertState::Muted | api::AlertState::Open => {
            state_of(request.state)
        }
        api::AlertState::Confirmed | api::AlertState::Gone => {
            let text = "state: expected acknowledged, muted or open; the others are for runs to decide";
            return Err(ServiceError::bad_request("invalid-state", text));
        }
    };
    let (database, by) = (Arc::clone(&state.views.database), by.to_string());
    let changed = state.work.spawn(async move {
        let Some(alert) = database.change_alert(id, wanted, &by, &request.reason).await? else {
            return Ok(None);
        };
        let series = series_by_id(&database, std::slice::from_ref(&alert)).await?;
        Ok::<_, HistoryError>(Some((alert, series)))
    });
    let changed = changed.await??;
    let views = Arc::clone(&state.views);
    let looked = state
        .work
        .spawn(async move { standing::refresh(&views).await })
        .await?;
    if let Err(error) = looked {
        // It is changed, and the next look of the upkeep counts it.
        tracing::debug!(%error, "the standing alerts could not be counted at once");
    }
    changed
        .and_then(|(alert, series)| alert_of(alert, &series))
        .ok_or_else(|| {
            let text = format!("there is no alert {id} that stands");
            ServiceError::not_found("unknown-alert", text)
        })
}

/// The series of alerts.
pub(super) async fn series_by_id(
    database: &fleethold_history::Database,
    alerts: &[BenchAlert],
) -> Result<BTreeMap<i64, BenchSeries>, HistoryError> {
    let filter = SeriesFilter {
        ids: Some(alerts.iter().map(|alert| alert.series).collect()),
        workload: None,
    };
    let series = database.bench_series(&filter).await?;
    Ok(series.into_iter().map(|one| (one.id, one)).collect())
}

/// `None` when its series went between the two questions to the database.
pub(super) fn alert_of(alert: BenchAlert, series: &BTreeMap<i64, BenchSeries>) -> Option<api::Alert> {
    Some(api::Alert {
        id: alert.id,
        series: series_of(series.get(&alert.series)?.clone()),
        run: alert.run,
        against: alert.against,
        ratio: alert.ratio,
        p: alert.p,
        state: match alert.state {
            AlertState::Open => api::AlertState::Open,
            AlertState::Confirmed => api::AlertState::Confirmed,
            AlertState::Acknowledged => api::AlertState::Acknowledged,
            AlertState::Muted => api::AlertState::Muted,
            AlertState::Gone => api::AlertState::Gone,
        },
        confirmed_by: alert.confirmed_by,
        opened_at: alert.opened_at,
        changed_at: alert.changed_at,
        changed_by: alert.changed_by,
        reason: alert.reason,
    })
}

fn state_of(state: api::AlertState) -> AlertState {
    match state {
        api::AlertState::Open => AlertState::Open,
        api::AlertState::Confirmed => AlertState::Confirmed,
        api::AlertState::Acknowledged => AlertState::Acknowledged,
        api::AlertState::Muted => AlertState::Muted,
        api::AlertState::Gone => AlertState::Gone,
    }
}

/// An annotation as the API shows it.
pub(super) fn annotation_of(of: BenchAnnotation) -> api::Annotation {
    let (withdrawn_at, withdrawn_by) = of.withdrawn.unzip();
    api::Annotation {
        id: of.id,
        series: of.series,
        run: of.run,
        kind: match of.kind {
            AnnotationKind::Outlier => api::AnnotationKind::Outlier,
            AnnotationKind::LevelShift => api::AnnotationKind::LevelShift,
            AnnotationKind::Note => api::AnnotationKind::Note,
        },
        reason: of.reason,
        author: of.author,
        created_at: of.created_at,
        withdrawn_at,
        withdrawn_by,
    }
}
