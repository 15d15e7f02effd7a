//! The PBS face, `/api2/json`: exactly what reference clients expect (API.md), never extended.
//!
//! ```text
//! request ─▶ PbsCaller (ticket or token; 401 late) ─▶ Rights (acl.cfg, owner; 403 late) ─▶ Params (query, form or JSON; unknown ones refused)
//!         ─▶ the same services as /api/v1 ─▶ {"data": …}, or the error as plain text
//! ```

mod access;
mod caller;
mod datastore;
mod download;
mod envelope;
mod files;
mod groups;
mod locate;
mod namespaces;
mod nodes;
mod params;
mod rights;
mod snapshots;
mod tasks;
mod usage;
mod version;

use actix_web::HttpRequest;
use actix_web::web::{self, ServiceConfig, get, post, put};

use envelope::PbsError;

/// Registers the resources below `/api2/json`.
pub fn configure(config: &mut ServiceConfig) {
    let ticket = web::resource("/access/ticket")
        .route(post().to(access::log_in))
        .route(web::delete().to(access::log_out));
    let store = web::scope("/admin/datastore")
        .route("", get().to(datastore::list))
        .route("/{store}/status", get().to(datastore::status))
        .route("/{store}/namespace", get().to(namespaces::list))
        .route("/{store}/groups", get().to(groups::list))
        .route("/{store}/snapshots", get().to(snapshots::list))
        .route("/{store}/files", get().to(files::list))
        .route("/{store}/download", get().to(download::stored))
        .route("/{store}/download-decoded", get().to(download::decoded));
    let nodes = web::scope("/nodes")
        .route("", get().to(nodes::list))
        .route("/{node}/tasks", get().to(tasks::list))
        .route("/{node}/tasks/{upid}/status", get().to(tasks::status))
        .route("/{node}/tasks/{upid}/log", get().to(tasks::log))
        .route("/{node}/tasks/{upid}", web::delete().to(tasks::abort));
    config.service(
        web::scope("/api2/json")
            .route("/version", get().to(version::version))
            .route("/ping", get().to(version::ping))
            .service(ticket)
            .route("/access/domains", get().to(access::domains))
            .route("/access/password", put().to(access::change_password))
            .service(store)
            .service(nodes)
            .route("/status/datastore-usage", get().to(usage::list))
            .default_service(web::to(unknown)),
    );
}

async fn unknown(request: HttpRequest) -> PbsError {
    PbsError::not_found(format!("Path '{}' not found.", request.path()))
}
