//! Annotations and alerts.

use actix_web::{HttpResponse, web};
use fleethold_api_types::Page;
use fleethold_api_types::bench::{Alert, AlertState, Annotation, ChangeAlert, CreateAnnotation};
use serde::Deserialize;

use crate::auth::session::Caller;
use crate::http::json::Json;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::http::v1::rights;
use crate::services::bench::curate;
use crate::services::paging::PageRequest;
use crate::state::AppState;

/// `POST /api/v1/bench/annotations`: an outlier, a level shift or a note.
#[utoipa::path(post, path = "/api/v1/bench/annotations", tag = "bench", request_body(content = CreateAnnotation),
    responses((status = 201, body = Annotation), (status = 400, body = fleethold_api_types::Problem),
        (status = 404, body = fleethold_api_types::Problem), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn annotate(
    state: web::Data<AppState>,
    caller: Caller,
    Json(request): Json<CreateAnnotation>,
) -> ApiResult<HttpResponse> {
    rights::measure(&state, &caller)?;
    let said = curate::annotate(&state, request, &caller.authid).await?;
    Ok(HttpResponse::Created().json(said))
}

/// `DELETE /api/v1/bench/annotations/{id}`: takes it back; it stays to be read, marked as withdrawn.
#[utoipa::path(delete, path = "/api/v1/bench/annotations/{id}", tag = "bench",
    params(("id" = i64, Path, description = "Number of the annotation")),
    responses((status = 200, body = Annotation), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn withdraw(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<i64>,
) -> ApiResult<HttpResponse> {
    rights::measure(&state, &caller)?;
    Ok(HttpResponse::Ok().json(curate::withdraw(&state, *id, &caller.authid).await?))
}

/// Query of [`alerts`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AlertsQuery {
    /// Only in this state.
    state: Option<AlertState>,
    /// From the page before.
    cursor: Option<String>,
    /// Entries a page; at most 499 are given.
    limit: Option<usize>,
}

/// `GET /api/v1/bench/alerts?state=`: series that got worse, the newest first.
#[utoipa::path(get, path = "/api/v1/bench/alerts", tag = "bench", params(AlertsQuery),
    responses((status = 200, body = Page<Alert>), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn alerts(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<AlertsQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let state_name = query.state.map(|state| format!("{state:?}")).unwrap_or_default();
    let page = PageRequest::parse(
        &["bench-alerts", &state_name],
        query.cursor.as_deref(),
        query.limit,
    )?;
    Ok(HttpResponse::Ok().json(curate::alerts(&state, query.state, &page).await?))
}

/// `POST /api/v1/bench/alerts/{id}`: acknowledges or mutes an alert, or takes either back.
#[utoipa::path(post, path = "/api/v1/bench/alerts/{id}", tag = "bench", request_body(content = ChangeAlert),
    params(("id" = i64, Path, description = "Number of the alert")),
    responses((status = 200, body = Alert), (status = 400, body = fleethold_api_types::Problem),
        (status = 404, body = fleethold_api_types::Problem)))]
pub async fn change_alert(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<i64>,
    Json(request): Json<ChangeAlert>,
) -> ApiResult<HttpResponse> {
    rights::measure(&state, &caller)?;
    Ok(HttpResponse::Ok().json(curate::change_alert(&state, *id, request, &caller.authid).await?))
}
