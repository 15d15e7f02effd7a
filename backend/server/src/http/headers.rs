//! What every reply carries: a request id (also in the body of a problem), security headers; and what no request may
//! be: longer than 3,072 characters of path and query.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpResponse};
use tracing_actix_web::RequestId;

use super::MAX_URI;
use super::problem::{self, ApiError};
use crate::services::error::{ErrorKind, ServiceError};

/// Everything comes from this server, nothing inline; WebAssembly may be compiled.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    style-src-attr 'none'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The middleware.
///
/// # Errors
/// Passes on what the handler returned.
pub async fn stamp<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let id = request.extensions().get::<RequestId>().copied();
    let api = request.path().starts_with("/api");
    let too_long = request
        .uri()
        .path_and_query()
        .is_some_and(|uri| uri.as_str().len() > MAX_URI);
    let mut reply = if too_long {
        let text = format!("path and query: expected at most {MAX_URI} characters");
        let error = ApiError(ServiceError::new(ErrorKind::UriTooLong, "uri-too-long", text));
        request
            .into_response(problem::reply(&error.0, id.map(|id| id.to_string())))
            .map_into_right_body()
    } else {
        next.call(request).await?.map_into_left_body()
    };
    // Extractors and handlers fail without knowing the id.
    let failed = reply
        .response()
        .error()
        .and_then(|error| error.as_error::<ApiError>())
        .map(|error| error.0.clone());
    if let Some(error) = failed {
        let (request, before) = reply.into_parts();
        let mut body: HttpResponse = problem::reply(&error, id.map(|id| id.to_string()));
        if let Some(allowed) = before.headers().get(header::ALLOW) {
            body.headers_mut().insert(header::ALLOW, allowed.clone());
        }
        reply = ServiceResponse::new(request, body).map_into_right_body();
    }
    let headers = reply.headers_mut();
    if let Some(value) = id.and_then(|id| HeaderValue::from_str(&id.to_string()).ok()) {
        headers.insert(REQUEST_ID, value);
    }
    let mut set = |name: HeaderName, value: &'static str| {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    };
    set(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    );
    if api {
        set(header::CACHE_CONTROL, "no-store");
    }
    Ok(reply)
}
