//! The PBS face, `/api2/json`: exactly what reference clients expect (API.md), never extended.
//!
//! ```text
//! request ─▶ PbsCaller (ticket or token; 401 late) ─▶ Rights (acl.cfg, owner; 403 late) ─▶ Params (query, form or JSON; unknown ones refused)
//!         ─▶ the same services as /api/v1 ─▶ {"data": …}, or the error as plain text
//! ```

mod access;
mod acl;
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
mod tokens;
mod usage;
mod users;
mod version;

use actix_web::http::StatusCode;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};

use super::methods::at;
use envelope::PbsError;

/// Registers the resources below `/api2/json`.
pub fn configure(config: &mut ServiceConfig) {
    let resources = [
        at("/version").get(version::version),
        at("/ping").get(version::ping),
        at("/access/ticket").post(access::log_in).delete(access::log_out),
        at("/access/domains").get(access::domains),
        at("/access/password").put(users::change_password),
        at("/access/users").get(users::list).post(users::create),
        at("/access/users/{userid}")
            .get(users::get)
            .put(users::update)
            .delete(users::remove),
        at("/access/users/{userid}/token").get(tokens::list),
        at("/access/users/{userid}/token/{name}")
            .get(tokens::get)
            .post(tokens::create)
            .put(tokens::update)
            .delete(tokens::remove),
        at("/access/acl").get(acl::list).put(acl::update),
        at("/access/roles").get(users::roles),
        at("/access/permissions").get(acl::permissions),
        at("/admin/datastore").get(datastore::list),
        at("/admin/datastore/{store}/status").get(datastore::status),
        at("/admin/datastore/{store}/namespace").get(namespaces::list),
        at("/admin/datastore/{store}/groups").get(groups::list),
        at("/admin/datastore/{store}/snapshots").get(snapshots::list),
        at("/admin/datastore/{store}/files").get(files::list),
        at("/admin/datastore/{store}/download").get(download::stored),
        at("/admin/datastore/{store}/download-decoded").get(download::decoded),
        at("/nodes").get(nodes::list),
        at("/nodes/{node}/tasks").get(tasks::list),
        at("/nodes/{node}/tasks/{upid}/status").get(tasks::status),
        at("/nodes/{node}/tasks/{upid}/log").get(tasks::log),
        at("/nodes/{node}/tasks/{upid}").delete(tasks::abort),
        at("/status/datastore-usage").get(usage::list),
    ];
    let face = web::scope("/api2/json").default_service(web::to(unknown));
    let face = resources
        .into_iter()
        .fold(face, |face, resource| face.service(resource.or(wrong_method)));
    config.service(face);
}

fn wrong_method(request: &HttpRequest) -> HttpResponse {
    let text = format!("method {} is not offered at {}", request.method(), request.path());
    PbsError::new(StatusCode::METHOD_NOT_ALLOWED, text).error_response()
}

async fn unknown(request: HttpRequest) -> PbsError {
    PbsError::not_found(format!("Path '{}' not found.", request.path()))
}
