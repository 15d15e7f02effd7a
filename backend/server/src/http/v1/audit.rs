//! Who changed which user, token or rule.

use actix_web::{HttpResponse, web};
use fleethold_api_types::{AuditItem, AuditQuery, Page};

use super::rights;
use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::services::audit;
use crate::state::AppState;

/// `GET /api/v1/audit`: the newest first. Needs `Sys.Audit` on `/access`.
#[utoipa::path(get, path = "/api/v1/audit", tag = "access",
    params(("target" = Option<String>, Query, description = "A user, a token, or the path of a rule"),
        ("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<AuditItem>), (status = 403, body = fleethold_api_types::Problem),
        (status = 503, body = fleethold_api_types::Problem)))]
pub async fn list(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<AuditQuery>,
) -> ApiResult<HttpResponse> {
    rights::audit(&state, &caller)?;
    Ok(HttpResponse::Ok().json(audit::list(&state, query.into_inner()).await?))
}
