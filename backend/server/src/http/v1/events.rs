//! The live feed as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{self, ContentEncoding};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::StreamExt as _;
use serde::Deserialize;
use tokio_stream::wrappers::ReceiverStream;

use crate::actors::audience::Viewer;
use crate::actors::events::Subscribe;
use crate::auth::session::Caller;
use crate::clock;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::services::error::ServiceError;
use crate::state::AppState;

/// Query of [`follow`]: for clients that cannot set `Last-Event-ID` themselves.
#[derive(Deserialize)]
pub struct EventsQuery {
    last_event_id: Option<String>,
}

/// `GET /api/v1/events`: of what the caller sees, which is everything with `Datastore.Audit` on `/datastore`, else the
/// stores with a right of the caller's in them and the own restores; benchmark runs with `Sys.Audit` on
/// `/system/status`. An unknown `Last-Event-ID` is none: the client gets
/// a snapshot. The stream ends with the session: ticket expired, logged out, password changed, user switched off.
#[utoipa::path(get, path = "/api/v1/events", tag = "events",
    params(("Last-Event-ID" = Option<String>, Header, description = "Id of the last event seen, `<epoch>-<sequence>`")),
    responses((status = 200, content_type = "text/event-stream", body = fleethold_api_types::SnapshotEvent,
        description = "Events `snapshot`, `store`, `job`, `bench`, `server`; at most four a second of each")))]
pub async fn follow(
    state: web::Data<AppState>,
    request: HttpRequest,
    caller: Caller,
    query: Query<EventsQuery>,
) -> ApiResult<HttpResponse> {
    let header = request
        .headers()
        .get("last-event-id")
        .and_then(|value| value.to_str().ok());
    let last = header
        .or(query.last_event_id.as_deref())
        .and_then(|text| text.parse().ok());
    let left = caller
        .expires()
        .map_or(i64::MAX / 1_000_000, |expires| expires - clock::epoch());
    let viewer = Viewer {
        sessions: Arc::clone(&state.sessions),
        caller,
    };
    let frames = state
        .events
        .send(Subscribe { last, viewer })
        .await
        .map_err(ServiceError::from)??;
    let end = tokio::time::sleep(Duration::from_secs(u64::try_from(left).unwrap_or(0)));
    let stream = ReceiverStream::new(frames)
        .map(Ok::<_, actix_web::Error>)
        .take_until(end);
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .insert_header(ContentEncoding::Identity)
        .streaming(stream))
}
