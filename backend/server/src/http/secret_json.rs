//! JSON bodies with keys or passwords: read into a buffer that is wiped, parsed into a request that is wiped.
//!
//! What is not in our hands is not wiped: the pieces as TLS and HTTP hold them on their way, and serde_json's scratch
//! space for a text with escapes, which a key file in a JSON body has.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use fleethold_api_types::object;
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::problem::ApiError;
use super::{BODY_TIME, MAX_BODY};
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};
use crate::services::secrets::{Secrets, Wiped};

/// A body of type `T`.
pub struct SecretJson<T: Secrets>(pub Wiped<T>);

impl<T: Secrets + DeserializeOwned + 'static> FromRequest for SecretJson<T> {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let body = read_in_time(&request, payload).await?;
            let mut parser = serde_json::Deserializer::from_slice(&body);
            let parsed = object(&mut parser).map(Wiped::new);
            let parsed = parsed.and_then(|parsed| parser.end().map(|()| parsed));
            Ok(Self(parsed.map_err(|error| refused(&error))?))
        })
    }
}

/// The bytes of a JSON body.
///
/// # Errors
/// When it is none, too long or too slow.
pub(super) async fn read_in_time(
    request: &HttpRequest,
    payload: Payload,
) -> ServiceResult<Zeroizing<Vec<u8>>> {
    tokio::time::timeout(BODY_TIME, read(request, payload))
        .await
        .map_err(|_elapsed| refused(&format!("not complete after {} s", BODY_TIME.as_secs())))?
}

async fn read(request: &HttpRequest, mut payload: Payload) -> ServiceResult<Zeroizing<Vec<u8>>> {
    if request.content_type() != "application/json" {
        return Err(refused(&"expected content type application/json"));
    }
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let limit = announced.unwrap_or(MAX_BODY);
    // All of it at once: a buffer that grows leaves copies behind.
    let mut body = Zeroizing::new(Vec::with_capacity(limit.min(MAX_BODY)));
    if limit > MAX_BODY {
        return Err(too_large());
    }
    while let Some(piece) = payload.next().await {
        let piece = piece.map_err(|error| refused(&error))?;
        if body.len() + piece.len() > body.capacity() {
            return Err(too_large());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

pub(super) fn refused(reason: &dyn std::fmt::Display) -> ServiceError {
    ServiceError::bad_request("invalid-body", format!("request body: {reason}"))
}

fn too_large() -> ServiceError {
    let text = format!("request body: expected at most {MAX_BODY} bytes");
    ServiceError::new(ErrorKind::TooLarge, "invalid-body", text)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use fleethold_api_types::LoginRequest;

    use super::*;

    async fn extract(kind: &str, body: &str) -> Result<String, ServiceError> {
        let (request, mut payload) = TestRequest::default()
            .insert_header((header::CONTENT_TYPE, kind))
            .set_payload(body.to_owned())
            .to_http_parts();
        let taken = SecretJson::<LoginRequest>::from_request(&request, &mut payload).await;
        taken
            .map(|SecretJson(request)| request.user.clone())
            .map_err(|error| error.0)
    }

    #[actix_web::test]
    async fn what_is_taken_and_what_is_not() {
        let json = "application/json; charset=utf-8";
        let good = r#"{"user": "ann@pbs", "password": "a secret"}"#;
        assert_eq!(extract(json, good).await.unwrap(), "ann@pbs");
        let long = format!(r#"{{"user": "{}"}}"#, "x".repeat(MAX_BODY));
        for (kind, body, expected) in [
            ("text/plain", good, ErrorKind::BadRequest),
            (json, "{", ErrorKind::BadRequest),
            (json, r#"["ann@pbs", "a secret"]"#, ErrorKind::BadRequest),
            (
                json,
                r#"{"user": "ann@pbs", "password": "a secret"} {}"#,
                ErrorKind::BadRequest,
            ),
            (json, "17", ErrorKind::BadRequest),
            (json, long.as_str(), ErrorKind::TooLarge),
        ] {
            let error = extract(kind, body).await.unwrap_err();
            assert_eq!((error.kind, &*error.code), (expected, "invalid-body"), "{kind}");
            assert!(!error.message.contains("secret"));
            // Names of Rust types say nothing to a caller.
            assert!(!error.message.contains("LoginRequest"), "{}", error.message);
        }
    }
}
