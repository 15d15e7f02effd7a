//! Restores.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use fleethold_api_types::{
    CreateRestore, HistorySamples, Job, JobLog, JobState, Page, PlanRequest, RestorePlan,
};
use serde::Deserialize;
use uuid::Uuid;

use super::rights;
use super::stores::blocking;
use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::http::secret_json::SecretJson;
use crate::services::error::ServiceResult;
use crate::services::paging::PageRequest;
use crate::services::{plans, restores};
use crate::state::AppState;

/// `POST /api/v1/restores` → 202 with the queued job and its `Location`. Needs `Datastore.Read` on the source; a target
/// that is a file or a device also needs `Sys.Modify` on `/system` (403 `permission-denied` names what is missing).
#[utoipa::path(post, path = "/api/v1/restores", tag = "restores", request_body(content = CreateRestore,
    example = json!({"source": {"store": "golden", "snapshot": "vm/100/2024-05-01T10:00:00Z",
        "archive": "drive-scsi0.img"}, "target": {"kind": "file", "path": "vm-100-scsi0.raw"}, "sha256": true})),
    responses((status = 202, body = Job, headers(("Location" = String))),
        (status = 403, body = fleethold_api_types::Problem), (status = 404, body = fleethold_api_types::Problem), (status = 409, body = fleethold_api_types::Problem),
        (status = 422, body = fleethold_api_types::Problem), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn create(
    state: web::Data<AppState>,
    caller: Caller,
    SecretJson(request): SecretJson<CreateRestore>,
) -> ApiResult<HttpResponse> {
    rights::read(&state, &caller, &request.source.store, &request.source.ns)?;
    rights::write(&state, &caller, request.target.kind)?;
    let job = restores::create(&state, request, caller.authid).await?;
    let location = format!("/api/v1/restores/{}", job.id);
    Ok(HttpResponse::Accepted()
        .insert_header((header::LOCATION, location))
        .json(job))
}

/// Query of [`list`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Only in this state.
    state: Option<JobState>,
    /// From the page before.
    cursor: Option<String>,
    /// Entries a page.
    limit: Option<usize>,
}

/// `GET /api/v1/restores`: queued, running and lately ended ones, the newest first; the own ones, or all with
/// `Datastore.Audit` on `/datastore` or `Sys.Audit` on `/system/tasks`.
#[utoipa::path(get, path = "/api/v1/restores", tag = "restores", params(ListQuery),
    responses((status = 200, body = Page<Job>)))]
pub async fn list(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<ListQuery>,
) -> ApiResult<HttpResponse> {
    let sight = rights::sight(&state, &caller);
    let state_name = query.state.map(|state| format!("{state:?}")).unwrap_or_default();
    let page = PageRequest::parse(&["restores", &state_name], query.cursor.as_deref(), query.limit)?;
    Ok(HttpResponse::Ok().json(restores::list(&state, &sight, query.state, &page)?))
}

/// The restore, if the caller may see it.
async fn visible(state: &AppState, caller: &Caller, id: Uuid) -> ServiceResult<Job> {
    let job = restores::get(state, id).await?;
    rights::job(state, caller, &job)?;
    Ok(job)
}

/// `GET /api/v1/restores/{id}`.
#[utoipa::path(get, path = "/api/v1/restores/{id}", tag = "restores",
    params(("id" = Uuid, Path, description = "Id of the restore")),
    responses((status = 200, body = Job), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn get(state: web::Data<AppState>, caller: Caller, id: web::Path<Uuid>) -> ApiResult<HttpResponse> {
    Ok(HttpResponse::Ok().json(visible(&state, &caller, *id).await?))
}

/// `DELETE /api/v1/restores/{id}` or `POST …/cancel`: asks the restore to stop; it has stopped when its state says so.
#[utoipa::path(delete, path = "/api/v1/restores/{id}", tag = "restores",
    params(("id" = Uuid, Path, description = "Id of the restore")),
    responses((status = 202, body = Job), (status = 404, body = fleethold_api_types::Problem),
        (status = 409, body = fleethold_api_types::Problem)))]
pub async fn cancel(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<Uuid>,
) -> ApiResult<HttpResponse> {
    let job = restores::get(&state, *id).await?;
    rights::stop(&state, &caller, &job.user)?;
    Ok(HttpResponse::Accepted().json(restores::cancel(&state, *id, &caller.authid).await?))
}

/// Query of [`log`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Lines behind this one; 0 for all.
    #[serde(default)]
    after: u64,
}

/// `GET /api/v1/restores/{id}/log?after=`.
#[utoipa::path(get, path = "/api/v1/restores/{id}/log", tag = "restores", params(("id" = Uuid, Path, description = "Id of the restore"), LogQuery),
    responses((status = 200, body = JobLog)))]
pub async fn log(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<Uuid>,
    query: Query<LogQuery>,
) -> ApiResult<HttpResponse> {
    visible(&state, &caller, *id).await?;
    Ok(HttpResponse::Ok().json(restores::log(&state, *id, query.after).await?))
}

/// Query of [`samples`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SamplesQuery {
    /// Points at most, for ended restores: 4 to 10,000; 1,000 when absent.
    pub(super) points: Option<u32>,
}

/// `GET /api/v1/restores/{id}/samples`.
#[utoipa::path(get, path = "/api/v1/restores/{id}/samples", tag = "restores", params(("id" = Uuid, Path, description = "Id of the restore"), SamplesQuery),
    responses((status = 200, body = HistorySamples)))]
pub async fn samples(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<Uuid>,
    query: Query<SamplesQuery>,
) -> ApiResult<HttpResponse> {
    // Who sees everything sees what is in the history only, too.
    if rights::fleet(&state, &caller).is_err() {
        visible(&state, &caller, *id).await?;
    }
    Ok(HttpResponse::Ok().json(restores::samples(&state, *id, query.points).await?))
}

/// `POST /api/v1/restores/plan`: what a restore would do.
#[utoipa::path(post, path = "/api/v1/restores/plan", tag = "restores", request_body(content = PlanRequest,
    example = json!({"source": {"store": "golden", "snapshot": "vm/100/2024-05-01T10:00:00Z",
        "archive": "drive-scsi0.img"}})),
    responses((status = 200, body = RestorePlan), (status = 404, body = fleethold_api_types::Problem),
        (status = 422, body = fleethold_api_types::Problem)))]
pub async fn plan(
    state: web::Data<AppState>,
    caller: Caller,
    SecretJson(request): SecretJson<PlanRequest>,
) -> ApiResult<HttpResponse> {
    rights::see(&state, &caller, &request.source.store, &request.source.ns)?;
    let engine = state.engine.clone();
    let planned = blocking(&state, move |views| {
        plans::plan(views, &engine, request.hand_over())
    })
    .await?;
    Ok(HttpResponse::Ok().json(planned))
}
