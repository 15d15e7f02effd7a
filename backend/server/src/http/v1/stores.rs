//! Stores and what is in them.

use std::sync::Arc;

use actix_web::http::header::{self, EntityTag, IfNoneMatch};
use actix_web::{HttpResponse, web};
use fleethold_api_types::{GroupEntry, NamespaceEntry, Page, SnapshotEntry, StoreRow};
use fleethold_format::hash::Sha256;
use serde::{Deserialize, Serialize};

use super::rights;
use crate::auth::session::Caller;
use crate::http::problem::ApiResult;
use crate::http::query::Query;
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::paging::PageRequest;
use crate::services::{content, stores};
use crate::state::AppState;
use crate::views::Views;

/// Query of a list.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Namespace; empty or absent for the root.
    #[serde(default)]
    ns: String,
    /// Group such as `vm/100`; absent: all groups of the namespace.
    group: Option<String>,
    /// From the page before.
    cursor: Option<String>,
    /// Entries a page.
    limit: Option<usize>,
}

/// `GET /api/v1/stores`: all rows that the caller sees, from memory; with an entity tag. Who has rights in a namespace of
/// a store only gets its row without figures and path.
#[utoipa::path(get, path = "/api/v1/stores", tag = "stores",
    params(("cursor" = Option<String>, Query), ("limit" = Option<usize>, Query, description = "10,000 when absent")),
    responses((status = 200, body = Page<StoreRow>), (status = 304)))]
pub async fn list(
    state: web::Data<AppState>,
    caller: Caller,
    query: Query<ListQuery>,
    known: web::Header<IfNoneMatch>,
) -> ApiResult<HttpResponse> {
    let sight = rights::sight(&state, &caller);
    let limit = query.limit.or(Some(crate::services::paging::MAX_LIMIT));
    let page = PageRequest::parse(&["stores"], query.cursor.as_deref(), limit)?;
    let rows = stores::list(&state.views, &sight);
    let rows = page.cut(
        rows,
        |row| row.name.clone(),
        |row, after| row.name.as_str() > after,
    );
    tagged(&rows, &known)
}

/// `GET /api/v1/stores/{store}`: as in the list.
#[utoipa::path(get, path = "/api/v1/stores/{store}", tag = "stores",
    params(("store" = String, Path, description = "Datastore name")),
    responses((status = 200, body = StoreRow), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn get(
    state: web::Data<AppState>,
    caller: Caller,
    store: web::Path<String>,
) -> ApiResult<HttpResponse> {
    rights::store(&state, &caller, &store)?;
    let sight = rights::sight(&state, &caller);
    Ok(HttpResponse::Ok().json(stores::get(&state.views, &sight, &store)?))
}

/// `GET /api/v1/stores/{store}/namespaces`: those that the caller has a right in, the root first.
#[utoipa::path(get, path = "/api/v1/stores/{store}/namespaces", tag = "stores", params(("store" = String, Path, description = "Datastore name"), ListQuery),
    responses((status = 200, body = Page<NamespaceEntry>)))]
pub async fn namespaces(
    state: web::Data<AppState>,
    caller: Caller,
    store: web::Path<String>,
    query: Query<ListQuery>,
) -> ApiResult<HttpResponse> {
    rights::store(&state, &caller, &store)?;
    let page = PageRequest::parse(&["namespaces", &store], query.cursor.as_deref(), query.limit)?;
    let sight = rights::sight(&state, &caller);
    let found = blocking(&state, move |views| {
        content::namespaces(views, &store, &page, |ns| sight.namespace(&store, ns))
    })
    .await?;
    Ok(HttpResponse::Ok().json(found))
}

/// `GET /api/v1/stores/{store}/groups?ns=`.
#[utoipa::path(get, path = "/api/v1/stores/{store}/groups", tag = "stores", params(("store" = String, Path, description = "Datastore name"), ListQuery),
    responses((status = 200, body = Page<GroupEntry>), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn groups(
    state: web::Data<AppState>,
    caller: Caller,
    store: web::Path<String>,
    query: Query<ListQuery>,
) -> ApiResult<HttpResponse> {
    rights::see(&state, &caller, &store, &query.ns)?;
    let page = PageRequest::parse(
        &["groups", &store, &query.ns],
        query.cursor.as_deref(),
        query.limit,
    )?;
    let found = blocking(&state, move |views| {
        content::groups(views, &store, &query.ns, &page)
    })
    .await?;
    Ok(HttpResponse::Ok().json(found))
}

/// `GET /api/v1/stores/{store}/snapshots?ns=&group=`.
#[utoipa::path(get, path = "/api/v1/stores/{store}/snapshots", tag = "stores", params(("store" = String, Path, description = "Datastore name"), ListQuery),
    responses((status = 200, body = Page<SnapshotEntry>), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn snapshots(
    state: web::Data<AppState>,
    caller: Caller,
    store: web::Path<String>,
    query: Query<ListQuery>,
) -> ApiResult<HttpResponse> {
    rights::see(&state, &caller, &store, &query.ns)?;
    let page = PageRequest::parse(
        &[
            "snapshots",
            &store,
            &query.ns,
            query.group.as_deref().unwrap_or_default(),
        ],
        query.cursor.as_deref(),
        query.limit,
    )?;
    let found = blocking(&state, move |views| {
        content::snapshots(views, &store, &query.ns, query.group.as_deref(), &page)
    })
    .await?;
    Ok(HttpResponse::Ok().json(found))
}

/// Query of [`snapshot`].
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SnapshotQuery {
    /// Namespace; empty or absent for the root.
    #[serde(default)]
    ns: String,
    /// Such as `vm/100/2024-05-01T10:00:00Z`.
    snapshot: String,
}

/// `GET /api/v1/stores/{store}/snapshot?ns=&snapshot=`: one snapshot with its files.
#[utoipa::path(get, path = "/api/v1/stores/{store}/snapshot", tag = "stores", params(("store" = String, Path, description = "Datastore name"), SnapshotQuery),
    responses((status = 200, body = SnapshotEntry), (status = 404, body = fleethold_api_types::Problem)))]
pub async fn snapshot(
    state: web::Data<AppState>,
    caller: Caller,
    store: web::Path<String>,
    query: Query<SnapshotQuery>,
) -> ApiResult<HttpResponse> {
    rights::see(&state, &caller, &store, &query.ns)?;
    let found = blocking(&state, move |views| {
        content::snapshot(views, &store, &query.ns, &query.snapshot)
    })
    .await?;
    Ok(HttpResponse::Ok().json(found))
}

/// Runs what reads a disk where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    state: &AppState,
    work: impl FnOnce(&Arc<Views>) -> ServiceResult<T> + Send + 'static,
) -> ServiceResult<T> {
    let views = Arc::clone(&state.views);
    state.work.spawn_blocking(move || work(&views)).await?
}

fn tagged(value: &impl Serialize, known: &IfNoneMatch) -> ApiResult<HttpResponse> {
    let body = serde_json::to_vec(value).map_err(ServiceError::internal)?;
    let digest = hex::encode(Sha256::digest(&body));
    let tag = EntityTag::new_strong(digest.get(..32).unwrap_or(&digest).to_owned());
    let same = match known {
        IfNoneMatch::Any => true,
        IfNoneMatch::Items(tags) => tags.iter().any(|known| known.weak_eq(&tag)),
    };
    let mut reply = if same {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    reply
        .insert_header(header::ETag(tag))
        .insert_header((header::CACHE_CONTROL, "no-cache"));
    Ok(if same {
        reply.finish()
    } else {
        reply.content_type("application/json").body(body)
    })
}
