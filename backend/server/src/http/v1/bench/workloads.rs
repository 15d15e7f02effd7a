//! Workloads, and the machines that ran them.

use actix_web::{HttpResponse, web};
use fleethold_api_types::Page;
use fleethold_api_types::bench::{Machine, Workload};

use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::v1::rights;
use crate::services::bench::{machines, workloads};
use crate::state::AppState;

/// `GET /api/v1/bench/workloads`: what this server can measure. Reading anything of the lab needs `Sys.Audit` on
/// `/system/status`.
#[utoipa::path(get, path = "/api/v1/bench/workloads", tag = "bench",
    responses((status = 200, body = Page<Workload>), (status = 403, body = fleethold_api_types::Problem)))]
pub async fn list(state: web::Data<AppState>, caller: Caller) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    Ok(HttpResponse::Ok().json(workloads::list(&state).await?))
}

/// `GET /api/v1/bench/machines`: the machines that measured, the one with the newest run first.
#[utoipa::path(get, path = "/api/v1/bench/machines", tag = "bench",
    responses((status = 200, body = Page<Machine>), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn machines(state: web::Data<AppState>, caller: Caller) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    Ok(HttpResponse::Ok().json(machines::list(&state).await?))
}
