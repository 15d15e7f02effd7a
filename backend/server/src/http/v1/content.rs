//! The decoded bytes of a file. Keys travel in the body of a POST, are neither logged nor stored, and are wiped.

use actix_web::body::SizedStream;
use actix_web::http::header::{self, ContentEncoding};
use actix_web::{HttpResponse, web};
use fleethold_api_types::{ContentQuery, ContentRequest};
use futures_util::{StreamExt as _, stream};

use super::rights;
use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::http::secret_json::SecretJson;
use crate::jobs::spec::FileSpec;
use crate::services::content::{self, Download};
use crate::services::keys::KeyText;
use crate::state::AppState;

/// `GET /api/v1/stores/{store}/content?ns=&snapshot=&file=`: a plain file. A fault half way breaks the connection, so
/// that no client takes a part for the whole.
#[utoipa::path(get, path = "/api/v1/stores/{store}/content", tag = "content",
    params(("store" = String, Path, description = "Datastore name"), ("ns" = Option<String>, Query), ("snapshot" = String, Query), ("file" = String, Query)),
    responses((status = 200, content_type = "application/octet-stream"),
        (status = 404, body = fleethold_api_types::Problem), (status = 422, body = fleethold_api_types::Problem)))]
pub async fn plain(
    state: web::Data<AppState>,
    caller: Caller,
    store: web::Path<String>,
    query: Query<ContentQuery>,
) -> ApiResult<HttpResponse> {
    let ContentQuery { ns, snapshot, file } = query.into_inner();
    send(&state, &caller, &store, &ns, &snapshot, &file, KeyText::default()).await
}

/// `POST /api/v1/stores/{store}/content`: any file, with its key in the body.
#[utoipa::path(post, path = "/api/v1/stores/{store}/content", tag = "content", request_body(content = ContentRequest,
    example = json!({"snapshot": "vm/101/2024-05-01T11:00:00Z", "file": "drive-virtio0.img",
        "key": "{\"kdf\":null,\"created\":\"…\",\"modified\":\"…\",\"data\":\"…\"}"})),
    params(("store" = String, Path, description = "Datastore name")),
    responses((status = 200, content_type = "application/octet-stream"),
        (status = 404, body = fleethold_api_types::Problem), (status = 422, body = fleethold_api_types::Problem)))]
pub async fn with_key(
    state: web::Data<AppState>,
    caller: Caller,
    store: web::Path<String>,
    SecretJson(body): SecretJson<ContentRequest>,
) -> ApiResult<HttpResponse> {
    let ContentRequest {
        ns,
        snapshot,
        file,
        key,
        key_password,
    } = body.hand_over();
    send(
        &state,
        &caller,
        &store,
        &ns,
        &snapshot,
        &file,
        KeyText::new(key, key_password),
    )
    .await
}

async fn send(
    state: &AppState,
    caller: &Caller,
    store: &str,
    ns: &str,
    snapshot: &str,
    file: &str,
    key: KeyText,
) -> ApiResult<HttpResponse> {
    rights::read(state, caller, store, ns)?;
    let spec = FileSpec::parse(&state.views, store, ns, snapshot, file)?;
    let mut download = content::download(&state.views, &state.engine, &state.work, spec, key).await?;
    // What is wrong from the first byte on is a problem document, not a broken connection.
    let first = download.next_piece().await?;
    let Download {
        stream,
        len,
        file_name,
        ..
    } = download;
    let stream = stream::iter(first.map(Ok)).chain(stream);
    let mut reply = HttpResponse::Ok();
    reply
        .insert_header((header::CONTENT_TYPE, "application/octet-stream"))
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{file_name}\""),
        ))
        .insert_header(ContentEncoding::Identity);
    Ok(match len {
        Some(len) => reply.body(SizedStream::new(len, stream)),
        None => reply.streaming(stream),
    })
}
