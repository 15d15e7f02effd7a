//! One function a call.

use fleethold_api_types::{
    AboutInfo, ChangePassword, ContentRequest, CreateRestore, GroupEntry, Health, HistoryItem, HistoryQuery,
    HistorySamples, Job, JobLog, LoginRequest, NamespaceEntry, Page, PlanRequest, RestorePlan, Session,
    SnapshotEntry, StoreRow,
};
use gloo::net::http::Method;
use uuid::Uuid;

use super::{Outcome, get, network, post, send};
use crate::model::query::encode;

/// Rows asked for at once; the server caps what it gives.
const PAGE: u32 = 2_000;

/// `GET /session`: who is signed in.
pub async fn session() -> Outcome<Session> {
    get("/session").await
}

/// `POST /session`.
pub async fn log_in(body: &LoginRequest) -> Outcome<Session> {
    post("/session", body).await
}

/// `POST /session/renew`: a new ticket before the old one ends.
pub async fn renew_session() -> Outcome<Session> {
    post("/session/renew", &serde_json::json!({})).await
}

/// `DELETE /session`.
pub async fn log_out() -> Outcome<()> {
    send(Method::DELETE, "/session", None::<&()>).await.map(drop)
}

/// `POST /session/password`.
pub async fn change_password(body: &ChangePassword) -> Outcome<()> {
    send(Method::POST, "/session/password", Some(body))
        .await
        .map(drop)
}

/// All pages of a list.
pub(super) async fn all<T: serde::de::DeserializeOwned>(path: &str) -> Outcome<Vec<T>> {
    let sign = if path.contains('?') { '&' } else { '?' };
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let page: Page<T> = get(&format!("{path}{sign}limit={PAGE}{cursor}")).await?;
        let empty = page.items.is_empty();
        items.extend(page.items);
        match page.next_cursor {
            Some(next) if !empty => cursor = format!("&cursor={}", encode(&next)),
            _ => return Ok(items),
        }
    }
}

/// `GET /stores`, all of them.
pub async fn stores() -> Outcome<Vec<StoreRow>> {
    all("/stores").await
}

/// `GET /stores/{name}`.
pub async fn store(name: &str) -> Outcome<StoreRow> {
    get(&format!("/stores/{}", encode(name))).await
}

/// `GET /stores/{name}/namespaces`.
pub async fn namespaces(store: &str) -> Outcome<Vec<NamespaceEntry>> {
    all(&format!("/stores/{}/namespaces", encode(store))).await
}

/// `GET /stores/{name}/groups?ns=`.
pub async fn groups(store: &str, ns: &str) -> Outcome<Vec<GroupEntry>> {
    all(&format!("/stores/{}/groups?ns={}", encode(store), encode(ns))).await
}

/// `GET /stores/{name}/snapshots?ns=&group=`, newest first.
pub async fn snapshots(store: &str, ns: &str, group: &str) -> Outcome<Vec<SnapshotEntry>> {
    all(&format!(
        "/stores/{}/snapshots?ns={}&group={}",
        encode(store),
        encode(ns),
        encode(group)
    ))
    .await
}

/// The address of a plain file's content: the browser downloads it itself.
pub fn content_href(store: &str, ns: &str, snapshot: &str, file: &str) -> String {
    format!(
        "/api/v1/stores/{}/content?ns={}&snapshot={}&file={}",
        encode(store),
        encode(ns),
        encode(snapshot),
        encode(file)
    )
}

/// `POST /stores/{name}/content`: a file decrypted on the server with the key in the body.
pub async fn content(store: &str, body: &ContentRequest) -> Outcome<Vec<u8>> {
    let response = send(
        Method::POST,
        &format!("/stores/{}/content", encode(store)),
        Some(body),
    )
    .await?;
    response.binary().await.map_err(network)
}

/// `POST /restores/plan`.
pub async fn plan(body: &PlanRequest) -> Outcome<RestorePlan> {
    post("/restores/plan", body).await
}

/// `POST /restores`.
pub async fn create_restore(body: &CreateRestore) -> Outcome<Job> {
    post("/restores", body).await
}

/// `GET /restores/{id}`.
pub async fn restore(id: Uuid) -> Outcome<Job> {
    get(&format!("/restores/{id}")).await
}

/// `GET /restores/{id}/samples`: what the live chart has missed.
pub async fn restore_samples(id: Uuid) -> Outcome<HistorySamples> {
    get(&format!("/restores/{id}/samples")).await
}

/// `POST /restores/{id}/cancel`.
pub async fn cancel_restore(id: Uuid) -> Outcome<()> {
    send(
        Method::POST,
        &format!("/restores/{id}/cancel"),
        Some(&serde_json::json!({})),
    )
    .await
    .map(drop)
}

/// `GET /restores/{id}/log?after=N`.
pub async fn restore_log(id: Uuid, after: u64) -> Outcome<JobLog> {
    get(&format!("/restores/{id}/log?after={after}")).await
}

/// `GET /history`.
pub async fn history(query: &HistoryQuery) -> Outcome<Page<HistoryItem>> {
    let query = serde_urlencoded::to_string(query).map_err(network)?;
    get(&format!("/history?{query}")).await
}

/// `GET /history/{id}`.
pub async fn history_item(id: Uuid) -> Outcome<HistoryItem> {
    get(&format!("/history/{id}")).await
}

/// `GET /history/{id}/samples`, at most two for each pixel of a wide chart.
pub async fn history_samples(id: Uuid) -> Outcome<HistorySamples> {
    get(&format!("/history/{id}/samples?points=2000")).await
}

/// `GET /health`.
pub async fn health() -> Outcome<Health> {
    get("/health").await
}

/// `GET /about`.
pub async fn about() -> Outcome<AboutInfo> {
    get("/about").await
}
