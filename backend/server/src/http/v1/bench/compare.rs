//! Comparisons, and runs and comparisons as text.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use fleethold_api_types::bench::{Comparison, ExportFormat};
use serde::Deserialize;
use uuid::Uuid;

use crate::auth::session::Caller;
use crate::http::permalink;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::http::v1::rights;
use crate::services::bench::compare::{self, Exported, Pair};
use crate::state::AppState;

use super::send_encoded;

/// Query of [`compare()`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CompareQuery {
    /// The older run.
    before: Uuid,
    /// The newer run.
    after: Uuid,
    /// Compare machines of different classes all the same.
    #[serde(default)]
    across: bool,
}

impl CompareQuery {
    fn pair(&self) -> Pair {
        Pair {
            before: self.before,
            after: self.after,
            across: self.across,
        }
    }
}

/// `GET /api/v1/bench/compare?before=&after=&across=`: what both runs measured as after, side by side. An export
/// with a link in it keeps both for good, this does not.
#[utoipa::path(get, path = "/api/v1/bench/compare", tag = "bench", params(CompareQuery),
    responses((status = 200, body = Comparison), (status = 404, body = fleethold_api_types::Problem),
        (status = 422, body = fleethold_api_types::Problem), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn compare(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<CompareQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    Ok(send_encoded(compare::compare(&state, query.pair()).await?))
}

/// Query of [`text`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CompareTextQuery {
    /// The older run.
    before: Uuid,
    /// The newer run.
    after: Uuid,
    /// Compare machines of different classes all the same.
    #[serde(default)]
    across: bool,
    /// How.
    #[serde(default)]
    format: ExportFormat,
}

/// `GET /api/v1/bench/compare/export?before=&after=&across=&format=`.
#[utoipa::path(get, path = "/api/v1/bench/compare/export", tag = "bench", params(CompareTextQuery),
    responses((status = 200, content_type = "text/plain", description = "In the format that was asked for"),
        (status = 404, body = fleethold_api_types::Problem), (status = 422, body = fleethold_api_types::Problem)))]
pub async fn text(
    state: web::Data<AppState>,
    request: HttpRequest,
    caller: Caller,
    query: Query<CompareTextQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let CompareTextQuery {
        before,
        after,
        across,
        format,
    } = query.into_inner();
    let of = Pair {
        before,
        after,
        across,
    };
    // The line of a mail is short, and so is the link in it.
    let link = if format == ExportFormat::Mail {
        permalink::short(&request, before, after, across)
    } else {
        permalink::of_pair(&request, before, after, across)
    };
    Ok(send(compare::compare_text(&state, of, format, link).await?))
}

/// Query of [`run_text`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TextQuery {
    /// How.
    #[serde(default)]
    format: ExportFormat,
}

/// `GET /api/v1/bench/runs/{id}/export?format=`.
#[utoipa::path(get, path = "/api/v1/bench/runs/{id}/export", tag = "bench",
    params(("id" = Uuid, Path, description = "Id of the run"), TextQuery),
    responses((status = 200, content_type = "text/plain", description = "In the format that was asked for"),
        (status = 404, body = fleethold_api_types::Problem), (status = 422, body = fleethold_api_types::Problem)))]
pub async fn run_text(
    state: web::Data<AppState>,
    request: HttpRequest,
    caller: Caller,
    id: web::Path<Uuid>,
    query: Query<TextQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let link = permalink::of_run(&request, *id);
    Ok(send(compare::run_text(&state, *id, query.format, link).await?))
}

fn send(of: Exported) -> HttpResponse {
    let disposition = format!("attachment; filename=\"{}\"", of.file_name);
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, of.media_type))
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .body(of.text)
}
