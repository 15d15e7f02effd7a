//! The server itself.

use actix_web::{HttpResponse, web};
use fleethold_api_types::{AboutInfo, Health};
use serde::Deserialize;
use serde_json::json;

use super::rights;
use crate::actors::{events, fleet, jobs, store};
use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::services::error::ServiceError;
use crate::services::health::without_reasons;
use crate::services::stores;
use crate::state::AppState;

/// `GET /api/v1/health`, without signing in: for load balancers and the page's banner. With `Sys.Audit` on
/// `/system/status` the problems have their reasons.
#[utoipa::path(get, path = "/api/v1/health", tag = "server", security(()), responses((status = 200, body = Health)))]
pub async fn health(state: web::Data<AppState>, caller: Option<Caller>) -> HttpResponse {
    let health = state.views.health();
    HttpResponse::Ok().json(match caller {
        Some(caller) => rights::sight(&state, &caller).health(health),
        None => without_reasons(health),
    })
}

/// `GET /api/v1/about`.
#[utoipa::path(get, path = "/api/v1/about", tag = "server", responses((status = 200, body = AboutInfo)))]
pub async fn about(state: web::Data<AppState>, _caller: Caller) -> HttpResponse {
    HttpResponse::Ok().json(state.about())
}

/// Query of [`observe`].
#[derive(Deserialize)]
pub struct ObserveQuery {
    store: Option<String>,
}

/// `GET /api/v1/observe?store=`: what the actors hold, for tests and administrators. Not a stable format.
pub async fn observe(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<ObserveQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let fleet = state
        .fleet
        .send(fleet::Observe)
        .await
        .map_err(ServiceError::from)?;
    let jobs = state.jobs.send(jobs::Observe).await.map_err(ServiceError::from)?;
    let events = state
        .events
        .send(events::Observe)
        .await
        .map_err(ServiceError::from)?;
    let store = match &query.store {
        Some(name) => {
            let actor = stores::handle(&state.views, name)?.actor;
            Some(actor.send(store::Observe).await.map_err(ServiceError::from)?)
        }
        None => None,
    };
    let budget = state.engine.stats().budget;
    Ok(HttpResponse::Ok().json(json!({
        "fleet": fleet, "jobs": jobs, "events": events, "store": store,
        "engine": {"budget_used_bytes": budget.used_bytes, "budget_bytes": budget.total_bytes},
    })))
}
