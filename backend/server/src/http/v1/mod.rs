//! Our own face, `/api/v1`: one file per resource; bodies are the types of `fleethold_api_types`.

pub mod about;
pub mod audit;
pub mod bench;
pub mod content;
pub mod events;
pub mod fleet;
pub mod history;
pub mod restores;
mod rights;
pub mod session;
pub mod stores;

use actix_web::web::ServiceConfig;

use super::methods::at;
use super::{openapi, wrong_method};

/// Registers the resources; the scope is `/api/v1`.
pub fn configure(config: &mut ServiceConfig) {
    let resources = [
        at("/openapi.json").get(openapi::serve),
        at("/health").get(about::health),
        at("/about").get(about::about),
        at("/observe").get(about::observe),
        at("/fleet/summary").get(fleet::summary),
        at("/audit").get(audit::list),
        at("/events").get(events::follow),
        at("/session")
            .get(session::get)
            .post(session::log_in)
            .delete(session::log_out),
        at("/session/renew").post(session::renew),
        at("/session/password").post(session::change_password),
        at("/stores").get(stores::list),
        at("/stores/{store}").get(stores::get),
        at("/stores/{store}/namespaces").get(stores::namespaces),
        at("/stores/{store}/groups").get(stores::groups),
        at("/stores/{store}/snapshots").get(stores::snapshots),
        at("/stores/{store}/snapshot").get(stores::snapshot),
        at("/stores/{store}/content")
            .get(content::plain)
            .post(content::with_key),
        at("/restores").get(restores::list).post(restores::create),
        at("/restores/plan").post(restores::plan),
        at("/restores/{id}").get(restores::get).delete(restores::cancel),
        at("/restores/{id}/cancel").post(restores::cancel),
        at("/restores/{id}/log").get(restores::log),
        at("/restores/{id}/samples").get(restores::samples),
        at("/history").get(history::list),
        at("/history/{id}").get(history::get),
        at("/history/{id}/samples").get(history::samples),
    ];
    for resource in resources.into_iter().chain(bench::resources()) {
        config.service(resource.or(wrong_method));
    }
}
