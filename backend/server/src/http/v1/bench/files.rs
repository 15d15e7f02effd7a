//! Files: imports, attachments, flame graphs.

use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use fleethold_api_types::bench::{Attachment, AttachmentKind, Flame, ImportReport, Side};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use uuid::Uuid;

use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::http::v1::rights;
use crate::services::bench::import::{self, Upload};
use crate::services::bench::{files, flame};
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};
use crate::state::AppState;

/// How long a file may take to come in.
const BODY_TIME: Duration = Duration::from_secs(300);
/// What a growing buffer begins with.
const FIRST_BYTES: usize = 64 << 10;

/// Query of [`import()`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ImportQuery {
    /// Name of the file.
    name: String,
    /// Its format, such as `hyperfine`; absent: found by looking at it.
    format: Option<String>,
    /// Only say what would be stored.
    #[serde(default)]
    dry_run: bool,
}

/// `POST /api/v1/bench/import?name=&format=&dry_run=`: a file of this or another tool, at most 128 MiB, as the body.
/// 201 when it is new, 200 when it is known or nothing was to be stored. 422 `import-refused` names file, place, what
/// was expected and what was found.
#[utoipa::path(post, path = "/api/v1/bench/import", tag = "bench", params(ImportQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 201, body = ImportReport), (status = 200, body = ImportReport),
        (status = 400, body = fleethold_api_types::Problem), (status = 403, body = fleethold_api_types::Problem),
        (status = 413, body = fleethold_api_types::Problem), (status = 415, body = fleethold_api_types::Problem),
        (status = 422, body = fleethold_api_types::Problem), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn import(
    state: web::Data<AppState>,
    request: HttpRequest,
    caller: Caller,
    query: Query<ImportQuery>,
    payload: web::Payload,
) -> ApiResult<HttpResponse> {
    rights::measure(&state, &caller)?;
    let ImportQuery {
        name,
        format,
        dry_run,
    } = query.into_inner();
    import::check(&name, format.as_deref())?;
    let place = state.lab.import_place()?;
    let upload = Upload {
        name,
        format,
        dry_run,
        bytes: read(&request, payload).await?,
        place,
    };
    let report = import::import(&state, upload, &caller.authid).await?;
    let mut reply = match report.run {
        Some(run) if !report.known => {
            let mut created = HttpResponse::Created();
            created.insert_header((header::LOCATION, format!("/api/v1/bench/runs/{run}")));
            created
        }
        _ => HttpResponse::Ok(),
    };
    Ok(reply.json(report))
}

/// Query of [`attach`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AttachQuery {
    /// What it is.
    kind: AttachmentKind,
    /// Which side it belongs to; absent: the run.
    side: Option<Side>,
    /// Its name.
    name: String,
}

/// `POST /api/v1/bench/runs/{id}/attachments?kind=&side=&name=`: a file, at most 128 MiB, as the body. A flame graph is
/// folded stacks.
#[utoipa::path(post, path = "/api/v1/bench/runs/{id}/attachments", tag = "bench",
    params(("id" = Uuid, Path, description = "Id of the run"), AttachQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 201, body = Attachment), (status = 404, body = fleethold_api_types::Problem),
        (status = 409, body = fleethold_api_types::Problem), (status = 413, body = fleethold_api_types::Problem),
        (status = 415, body = fleethold_api_types::Problem),
        (status = 422, body = fleethold_api_types::Problem)))]
pub async fn attach(
    state: web::Data<AppState>,
    request: HttpRequest,
    caller: Caller,
    id: web::Path<Uuid>,
    query: Query<AttachQuery>,
    payload: web::Payload,
) -> ApiResult<HttpResponse> {
    rights::measure(&state, &caller)?;
    files::check_name(&query.name)?;
    let place = state.lab.import_place()?;
    let file = (read(&request, payload).await?, place);
    let kept = files::attach(&state, *id, query.kind, query.side, &query.name, file).await?;
    let location = format!("/api/v1/bench/runs/{id}/attachments/{}", kept.id);
    Ok(HttpResponse::Created()
        .insert_header((header::LOCATION, location))
        .json(kept))
}

/// `GET /api/v1/bench/runs/{id}/attachments/{attachment}`: the bytes as they came.
#[utoipa::path(get, path = "/api/v1/bench/runs/{id}/attachments/{attachment}", tag = "bench",
    params(("id" = Uuid, Path, description = "Id of the run"), ("attachment" = Uuid, Path, description = "Id of the file")),
    responses((status = 200, content_type = "application/octet-stream"),
        (status = 404, body = fleethold_api_types::Problem)))]
pub async fn get(
    state: web::Data<AppState>,
    caller: Caller,
    path: web::Path<(Uuid, Uuid)>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let (run, id) = path.into_inner();
    let (file, pieces) = files::send(&state, run, id).await?;
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-._=".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = file.name.chars().map(plain).collect();
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/octet-stream"))
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ))
        .no_chunking(file.size)
        .streaming(pieces.map_ok(web::Bytes::from)))
}

/// Query of [`flame()`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FlameQuery {
    /// Attachment with folded stacks.
    of: Uuid,
    /// Another one to compare it with.
    before: Option<Uuid>,
}

/// `GET /api/v1/bench/flame?of=&before=`: a flame graph laid out, or the difference of two.
#[utoipa::path(get, path = "/api/v1/bench/flame", tag = "bench", params(FlameQuery),
    responses((status = 200, body = Flame), (status = 404, body = fleethold_api_types::Problem),
        (status = 422, body = fleethold_api_types::Problem)))]
pub async fn flame(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<FlameQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    Ok(HttpResponse::Ok().json(flame::flame(&state, query.of, query.before).await?))
}

/// The body of a request, as long as a file may be.
async fn read(request: &HttpRequest, payload: web::Payload) -> ServiceResult<Vec<u8>> {
    tokio::time::timeout(BODY_TIME, read_all(request, payload))
        .await
        .map_err(|_elapsed| refused(&format!("not complete after {} s", BODY_TIME.as_secs())))?
}

async fn read_all(request: &HttpRequest, mut payload: web::Payload) -> ServiceResult<Vec<u8>> {
    if let Some(coding) = request.headers().get(header::CONTENT_ENCODING)
        && coding != "identity"
    {
        let coding = String::from_utf8_lossy(coding.as_bytes());
        let text = format!("Content-Encoding: expected the file as it is, found {coding:?}: unpack it first");
        return Err(ServiceError::new(
            ErrorKind::UnsupportedMedia,
            "content-encoding",
            text,
        ));
    }
    let announced: Option<usize> = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(length) = announced
        && length > files::MAX_FILE
    {
        return Err(files::too_large(&length.to_string()));
    }
    // What is announced is believed once it comes.
    let mut body = Vec::with_capacity(announced.unwrap_or(FIRST_BYTES).min(FIRST_BYTES));
    while let Some(piece) = payload.next().await {
        let piece = piece.map_err(|error| refused(&error))?;
        if body.len() + piece.len() > files::MAX_FILE {
            return Err(files::too_large("more"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn refused(reason: &dyn std::fmt::Display) -> ServiceError {
    ServiceError::bad_request("invalid-body", format!("request body: {reason}"))
}
