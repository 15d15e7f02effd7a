//! Service errors as replies: `application/problem+json` for our own face.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpResponse, ResponseError};
use fleethold_api_types::Problem;

use crate::services::error::{ErrorKind, ServiceError};

/// A service error on its way out.
#[derive(Debug)]
pub struct ApiError(pub ServiceError);

/// What v1 handlers return.
pub type ApiResult<T> = Result<T, ApiError>;

impl<E: Into<ServiceError>> From<E> for ApiError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

/// The status code of a kind of error, for both faces.
#[must_use]
pub fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::BadRequest => StatusCode::BAD_REQUEST,
        ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::UriTooLong => StatusCode::URI_TOO_LONG,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::UnsupportedMedia => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        status(self.0.kind)
    }

    fn error_response(&self) -> HttpResponse {
        reply(&self.0, None)
    }
}

/// An error as a reply; the id of the request goes into the body when it is known.
#[must_use]
pub fn reply(error: &ServiceError, request_id: Option<String>) -> HttpResponse {
    let status = status(error.kind);
    let mut reply = HttpResponse::build(status);
    if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::TooManyRequests) {
        reply.insert_header((header::RETRY_AFTER, "2"));
    }
    reply
        .insert_header((header::CONTENT_TYPE, "application/problem+json"))
        .json(Problem {
            code: error.code.to_string(),
            title: status.canonical_reason().unwrap_or("error").to_owned(),
            status: status.as_u16(),
            detail: error.message.clone(),
            request_id,
        })
}
