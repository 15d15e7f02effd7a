//! Series and their history.

use actix_web::{HttpResponse, web};
use fleethold_api_types::Page;
use fleethold_api_types::bench::{Series, SeriesHistory};
use fleethold_history::bench::MAX_SERIES;
use serde::Deserialize;
use time::{OffsetDateTime, UtcOffset};

use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::http::v1::rights;
use crate::services::bench::series;
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::paging::PageRequest;
use crate::state::AppState;

use super::plain_text;

/// Query of [`list`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SeriesQuery {
    /// Only of this workload.
    workload: Option<String>,
    /// From the page before.
    cursor: Option<String>,
    /// Entries a page, at most 1,999; absent: as many.
    limit: Option<usize>,
}

/// Series of a page at most: one more is asked of the history, to know whether another page follows.
const MAX_PAGE: usize = MAX_SERIES as usize - 1;

/// `GET /api/v1/bench/series?workload=&cursor=&limit=`: by workload and number, a page at a time.
#[utoipa::path(get, path = "/api/v1/bench/series", tag = "bench", params(SeriesQuery),
    responses((status = 200, body = Page<Series>), (status = 400, body = fleethold_api_types::Problem), (status = 503, body = fleethold_api_types::Problem)))]
pub async fn list(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<SeriesQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let SeriesQuery {
        workload,
        cursor,
        limit,
    } = query.into_inner();
    plain_text("workload", workload.as_deref())?;
    let list = ["bench-series", workload.as_deref().unwrap_or_default()];
    let page = PageRequest::parse(&list, cursor.as_deref(), Some(limit.unwrap_or(MAX_PAGE)))?;
    let page = page.at_most(MAX_PAGE);
    Ok(HttpResponse::Ok().json(series::list(&state, workload, &page).await?))
}

/// Query of [`history`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Runs measured at this time or later.
    #[serde(default, with = "time::serde::rfc3339::option")]
    from: Option<OffsetDateTime>,
    /// Runs measured before this time.
    #[serde(default, with = "time::serde::rfc3339::option")]
    to: Option<OffsetDateTime>,
}

/// `GET /api/v1/bench/series/{id}/history?from=&to=`: the newest 2,000 runs with change points, levels and annotations.
#[utoipa::path(get, path = "/api/v1/bench/series/{id}/history", tag = "bench",
    params(("id" = i64, Path, description = "Number of the series"), HistoryQuery),
    responses((status = 200, body = SeriesHistory), (status = 404, body = fleethold_api_types::Problem),
        (status = 503, body = fleethold_api_types::Problem)))]
pub async fn history(
    state: web::Data<AppState>,
    caller: Caller,
    id: web::Path<i64>,
    query: Query<HistoryQuery>,
) -> ApiResult<HttpResponse> {
    rights::system(&state, &caller)?;
    let (from, to) = (in_utc("from", query.from)?, in_utc("to", query.to)?);
    let history = series::history(&state, *id, from, to).await?;
    Ok(HttpResponse::Ok().json(history))
}

/// The same time in UTC: at the ends of the calendar there may be none.
fn in_utc(name: &str, time: Option<OffsetDateTime>) -> ServiceResult<Option<OffsetDateTime>> {
    time.map(|time| {
        time.checked_to_offset(UtcOffset::UTC).ok_or_else(|| {
            let text =
                format!("{name}: expected a time between the years -9999 and 9999 in UTC, found {time}");
            ServiceError::bad_request("invalid-query", text)
        })
    })
    .transpose()
}
