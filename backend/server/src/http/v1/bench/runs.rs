//! Benchmark runs.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use fleethold_api_types::Page;
use fleethold_api_types::bench::{BenchRun, BenchRunDetail, BenchState, CreateBenchRun};
use serde::Deserialize;
use uuid::Uuid;

use crate::auth::session::Caller;
use crate::http::json::Json;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::http::v1::rights;
use crate::services::bench::runs;
use crate::services::paging::PageRequest;
use crate::state::AppState;

use super::{plain_text, send_encoded};

/// `POST /api/v1/bench/runs` → 202 with the queued run and its `Location`. One run measures at a time, up to 32 wait
/// (503 `bench-queue-full` beyond). Starting, stopping and changing anything of the lab needs `Sys.Modify` on `/system`.
#[utoipa::path(post, path = "/api/v1/bench/runs", tag = "bench", request_body(content = CreateBenchRun,
    example = json!({"workload": "lookup", "quick": true, "reason": "a look at the cache"})),
    responses((status = 202, body = BenchRun, headers(("Location" = String))),
        (status = 400, body = fleethold_api_types::Problem), (status = 403, body = fleethold_api_types::Problem),
        (status = 404, body = fleethold_api_types::Problem), (status = 422, body = fleethold_api_types::Problem),
        (status = 503, body = fleethold_api_types::Problem)))]
pub async fn create(
    state: web::Data<AppState>,
    caller: Caller,
    Json(request): Json<CreateBenchRun>,
) -> ApiResult<HttpResponse> {
    rights::measure(&state, &caller)?;
    let run = runs::create(&state, request, &caller.authid).await?;
    let location = format!("/api/v1/bench/runs/{}", run.id);
    Ok(HttpResponse::Accepted()
        .insert_header((header::LOCATION, location))
        .json(run))
}

/// Query of [`list`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Only of this workload.
    workload: Option<String>,
    /// Only in this state.
    state: Option<BenchState>,
    /// From the page before.
    cursor: Option<String>,
    /// Entries a page.
    limit: Option<usize>,
}

/// `GET /api/v1/bench/runs`: queued, running and kept ones, the newest first.
#[utoipa::path(get, path = "/api/v1/bench/runs", tag = "bench", params(ListQuery),
    responses((status = 200, body = Page<BenchRun>), (status = 400, body = fleethold_api_types::Problem)))]
pub async fn list(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<ListQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let workload = query.workload.as_deref();
    plain_text("workload", workload)?;
    let state_name = query.state.map(|state| format!("{state:?}")).unwrap_or_default();
    let list = ["bench-runs", workload.unwrap_or_default(), &state_name];
    let page = PageRequest::parse(&list, query.cursor.as_deref(), query.limit)?;
    Ok(HttpResponse::Ok().json(runs::list(&state, workload, query.state, &page).await?))
}

/// `GET /api/v1/bench/runs/{id}`: with its matrix and verdicts; of a run that measures, so far.
#[utoipa::path(get, path = "/api/v1/bench/runs/{id}", tag = "bench",
    params(("id" = Uuid, Path, description = "Id of the run")),
    responses((status = 200, body = BenchRunDetail), (status = 404, body = fleethold_api_types::Problem),
        (status = 503, body = fleethold_api_types::Problem)))]
pub async fn get(state: web::Data<AppState>, caller: Caller, id: web::Path<Uuid>) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    Ok(send_encoded(runs::get(&state, *id).await?))
}

/// `POST /api/v1/bench/runs/{id}/cancel`: asks the run to stop; what it measured is kept as partial.
#[utoipa::path(post, path = "/api/v1/bench/runs/{id}/cancel", tag = "bench",
    params(("id" = Uuid, Path, description = "Id of the run")),
    responses((status = 202, body = BenchRun), (status = 404, body = fleethold_api_types::Problem),
        (status = 409, body = fleethold_api_types::Problem)))]
pub async fn cancel(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<Uuid>,
) -> ApiResult<HttpResponse> {
    rights::measure(&state, &caller)?;
    Ok(HttpResponse::Accepted().json(runs::cancel(&state, *id, &caller.authid).await?))
}
