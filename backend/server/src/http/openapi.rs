//! The OpenAPI 3.1 document of `/api/v1`.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use bytes::Bytes;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::extract::{CSRF_HEADER, HOST_COOKIE};
use super::v1::{about, audit, bench, content, events, fleet, history, restores, session, stores};

/// The document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Fleethold",
        description = "Restores from Proxmox Backup Server datastores. Sizes in bytes, spans in nanoseconds, times RFC \
            3339 in UTC. Lists are pages: pass `next_cursor` as `cursor` of the same list. Errors are problem documents \
            with a stable `code`; another method than those of a path gets 405 with `Allow`, HEAD is answered like GET. \
            Sign in with `POST /api/v1/session`; every request other than GET and HEAD then needs the header \
            `CSRFPreventionToken`.",
        license(name = "MIT OR Apache-2.0")
    ),
    paths(
        session::log_in, session::get, session::log_out, session::renew, session::change_password,
        about::health, about::about, fleet::summary,
        stores::list, stores::get, stores::namespaces, stores::groups, stores::snapshots, stores::snapshot,
        content::plain, content::with_key,
        restores::create, restores::list, restores::get, restores::cancel, restores::log, restores::samples,
        restores::plan,
        history::list, history::get, history::samples,
        audit::list,
        events::follow,
        bench::workloads::list, bench::workloads::machines,
        bench::runs::create, bench::runs::list, bench::runs::get, bench::runs::cancel,
        bench::compare::run_text, bench::compare::compare, bench::compare::text,
        bench::files::import, bench::files::attach, bench::files::get, bench::files::flame,
        bench::series::list, bench::series::history,
        bench::curate::annotate, bench::curate::withdraw, bench::curate::alerts, bench::curate::change_alert,
    ),
    components(schemas(fleethold_api_types::Problem, fleethold_api_types::ServerEvent)),
    modifiers(&Security),
    security(("ticket" = [], "csrf" = []), ("token" = [])),
)]
struct Document;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        for (name, scheme) in [
            ("ticket", ApiKey::Cookie(ApiKeyValue::new(HOST_COOKIE))),
            ("csrf", ApiKey::Header(ApiKeyValue::new(CSRF_HEADER))),
            (
                "token",
                ApiKey::Header(ApiKeyValue::with_description(
                    "Authorization",
                    "`PBSAPIToken=<user@realm!name>:<secret>`",
                )),
            ),
        ] {
            components.add_security_scheme(name, SecurityScheme::ApiKey(scheme));
        }
    }
}

/// The document as JSON.
#[must_use]
pub fn json() -> String {
    match Document::openapi().to_pretty_json() {
        Ok(text) => text,
        Err(error) => {
            tracing::error!(%error, "the OpenAPI document cannot be written");
            String::from("{}")
        }
    }
}

/// `GET /api/v1/openapi.json`.
pub async fn serve() -> HttpResponse {
    static JSON: LazyLock<Bytes> = LazyLock::new(|| json().into());
    HttpResponse::Ok()
        .content_type("application/json")
        .body(JSON.clone())
}
