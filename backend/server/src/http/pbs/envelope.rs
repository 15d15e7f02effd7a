//! `{"data": …}` around every reply, plain text for every error (API.md §1).

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::Value;

use crate::services::error::{ErrorKind, ServiceError};

/// Also of errors, although their body is plain text.
const CONTENT_TYPE: &str = "application/json;charset=UTF-8";

/// What handlers return.
pub(super) type PbsResult = Result<HttpResponse, PbsError>;

/// An error on its way out: status and text.
#[derive(Debug)]
pub(super) struct PbsError {
    status: StatusCode,
    text: String,
}

impl PbsError {
    pub(super) fn new(status: StatusCode, text: impl fmt::Display) -> Self {
        Self {
            status,
            text: text.to_string(),
        }
    }

    pub(super) fn bad_request(text: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub(super) fn forbidden(text: impl fmt::Display) -> Self {
        Self::new(StatusCode::FORBIDDEN, text)
    }

    pub(super) fn not_found(text: impl fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, text)
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }
}

impl<E: Into<ServiceError>> From<E> for PbsError {
    /// The reference answers 400 to whatever is not about the caller; only what a client can act on differs.
    fn from(error: E) -> Self {
        let error = error.into();
        let status = match error.kind {
            ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
            // To a reference client a missing CSRF token is a missing sign-in.
            ErrorKind::Forbidden if error.code == "wrong-csrf-token" => StatusCode::UNAUTHORIZED,
            ErrorKind::Forbidden => StatusCode::FORBIDDEN,
            ErrorKind::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::UnsupportedMedia => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error.message)
    }
}

impl fmt::Display for PbsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ResponseError for PbsError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        if self.status.is_server_error() {
            tracing::warn!(status = self.status.as_u16(), "{}", self.text);
        }
        HttpResponse::build(self.status)
            .insert_header((header::CONTENT_TYPE, CONTENT_TYPE))
            .body(self.text.clone())
    }
}

impl actix_web::Responder for PbsError {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, _: &actix_web::HttpRequest) -> HttpResponse {
        self.error_response()
    }
}

/// `{"data": data}`.
pub(super) fn data(data: &impl Serialize) -> PbsResult {
    data_with(data, [])
}

/// `{"data": data, …siblings}`.
pub(super) fn data_with<const N: usize>(
    data: &impl Serialize,
    siblings: [(&'static str, Value); N],
) -> PbsResult {
    #[derive(Serialize)]
    struct Envelope<'d, T> {
        data: &'d T,
        #[serde(flatten)]
        siblings: serde_json::Map<String, Value>,
    }
    let siblings = siblings
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    let body = serde_json::to_vec(&Envelope { data, siblings })
        .map_err(|error| ServiceError::internal(format!("cannot write a reply: {error}")))?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, CONTENT_TYPE))
        .body(body))
}

/// `{"data": null}`, what a call without a result answers.
pub(super) fn nothing() -> PbsResult {
    data(&())
}
