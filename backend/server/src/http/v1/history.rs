//! Past restores.

use actix_web::{HttpResponse, web};
use fleethold_api_types::{HistoryItem, HistoryQuery, HistorySamples, Page};
use uuid::Uuid;

use super::restores::SamplesQuery;
use super::rights;
use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::services::history;
use crate::state::AppState;

/// `GET /api/v1/history`: the newest first.
#[utoipa::path(get, path = "/api/v1/history", tag = "history",
    params(("store" = Option<String>, Query), ("state" = Option<fleethold_api_types::JobState>, Query),
        ("text" = Option<String>, Query), ("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<HistoryItem>), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn list(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<HistoryQuery>,
) -> ApiResult<HttpResponse> {
    rights::fleet(&state, &caller)?;
    Ok(HttpResponse::Ok().json(history::list(&state, query.into_inner()).await?))
}

/// `GET /api/v1/history/{id}`.
#[utoipa::path(get, path = "/api/v1/history/{id}", tag = "history",
    params(("id" = Uuid, Path, description = "Id of the restore")),
    responses((status = 200, body = HistoryItem), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn get(state: web::Data<AppState>, caller: Caller, id: web::Path<Uuid>) -> ApiResult<HttpResponse> {
    rights::fleet(&state, &caller)?;
    Ok(HttpResponse::Ok().json(history::get(&state, *id).await?))
}

/// `GET /api/v1/history/{id}/samples?points=`.
#[utoipa::path(get, path = "/api/v1/history/{id}/samples", tag = "history", params(("id" = Uuid, Path, description = "Id of the restore"), SamplesQuery),
    responses((status = 200, body = HistorySamples), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn samples(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<Uuid>,
    query: Query<SamplesQuery>,
) -> ApiResult<HttpResponse> {
    rights::fleet(&state, &caller)?;
    Ok(HttpResponse::Ok().json(history::samples(&state, *id, query.points).await?))
}
