//! Figures over all stores.

use actix_web::{HttpResponse, web};
use fleethold_api_types::FleetSummary;

use super::rights;
use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::state::AppState;

/// `GET /api/v1/fleet/summary`: over the stores and restores that the caller sees.
#[utoipa::path(get, path = "/api/v1/fleet/summary", tag = "stores", responses((status = 200, body = FleetSummary)))]
pub async fn summary(state: web::Data<AppState>, caller: Caller) -> ApiResult<HttpResponse> {
    let sight = rights::sight(&state, &caller);
    Ok(HttpResponse::Ok().json(state.views.summary_for(&sight)))
}
