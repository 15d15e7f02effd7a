//! HTTP: two faces over the same services, the page, and what watches the server.
//!
//! | path | what |
//! |---|---|
//! | `/api2/json` | the PBS face ([`pbs`]) |
//! | `/api/v1` | our own face ([`v1`]) |
//! | `/api/docs/` | the OpenAPI document to browse, offline |
//! | `/bench/c/…` | short links to comparisons |
//! | `/metrics` | figures for Prometheus |
//! | everything else | the page |

pub mod assets;
mod cookie;
pub mod docs;
pub mod drain;
pub mod extract;
pub mod headers;
pub mod json;
mod methods;
pub mod metrics;
pub mod openapi;
pub mod pbs;
pub mod permalink;
pub mod problem;
pub mod query;
pub mod secret_json;
pub mod v1;

use std::time::Duration;

use actix_web::error::PathError;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};

use crate::services::error::{ErrorKind, ServiceError};
use problem::ApiError;

/// Bytes of a request body (API.md §1).
pub const MAX_BODY: usize = 512 * 1024;
/// A body is a few kilobytes; who takes longer keeps a connection for nothing.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Characters of path and query (API.md §1).
pub const MAX_URI: usize = 3072;

/// Registers everything.
pub fn configure(config: &mut ServiceConfig) {
    config
        .app_data(web::PathConfig::default().error_handler(path_error))
        .app_data(web::PayloadConfig::default().limit(MAX_BODY))
        .service(web::scope("/api/v1").configure(v1::configure))
        .configure(docs::configure)
        .service(methods::at("/metrics").get(metrics::serve).or(wrong_method))
        .service(
            methods::at("/bench/c/{pair}")
                .get(permalink::follow)
                .or(wrong_method),
        )
        .configure(pbs::configure)
        .default_service(web::to(assets::serve));
}

fn wrong_method(request: &HttpRequest) -> HttpResponse {
    let text = format!("{} is not offered at {}", request.method(), request.path());
    HttpResponse::from_error(ApiError(ServiceError::new(
        ErrorKind::MethodNotAllowed,
        "method-not-allowed",
        text,
    )))
}

fn path_error(error: PathError, request: &HttpRequest) -> actix_web::Error {
    let text = format!("path {}: {error}", request.path());
    ApiError(ServiceError::not_found("unknown-path", text)).into()
}
