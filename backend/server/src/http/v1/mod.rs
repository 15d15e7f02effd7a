//! Our own face, `/api/v1`: one file per resource; bodies are the types of `fleethold_api_types`.

pub mod about;
pub mod content;
pub mod events;
pub mod fleet;
pub mod history;
pub mod restores;
mod rights;
pub mod session;
pub mod stores;

use actix_web::web::{self, ServiceConfig};

use super::openapi;

/// Registers the resources; the scope is `/api/v1`.
pub fn configure(config: &mut ServiceConfig) {
    config
        .route("/openapi.json", web::get().to(openapi::serve))
        .route("/health", web::get().to(about::health))
        .route("/about", web::get().to(about::about))
        .route("/observe", web::get().to(about::observe))
        .route("/fleet/summary", web::get().to(fleet::summary))
        .route("/events", web::get().to(events::follow))
        .service(
            web::resource("/session")
                .get(session::get)
                .post(session::log_in)
                .delete(session::log_out),
        )
        .route("/session/renew", web::post().to(session::renew))
        .route("/session/password", web::post().to(session::change_password))
        .route("/stores", web::get().to(stores::list))
        .route("/stores/{store}", web::get().to(stores::get))
        .route("/stores/{store}/namespaces", web::get().to(stores::namespaces))
        .route("/stores/{store}/groups", web::get().to(stores::groups))
        .route("/stores/{store}/snapshots", web::get().to(stores::snapshots))
        .route("/stores/{store}/snapshot", web::get().to(stores::snapshot))
        .service(
            web::resource("/stores/{store}/content")
                .get(content::plain)
                .post(content::with_key),
        )
        .service(
            web::resource("/restores")
                .get(restores::list)
                .post(restores::create),
        )
        .route("/restores/plan", web::post().to(restores::plan))
        .service(
            web::resource("/restores/{id}")
                .get(restores::get)
                .delete(restores::cancel),
        )
        .route("/restores/{id}/cancel", web::post().to(restores::cancel))
        .route("/restores/{id}/log", web::get().to(restores::log))
        .route("/restores/{id}/samples", web::get().to(restores::samples))
        .route("/history", web::get().to(history::list))
        .route("/history/{id}", web::get().to(history::get))
        .route("/history/{id}/samples", web::get().to(history::samples));
}
