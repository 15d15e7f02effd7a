//! JSON bodies without secrets.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use fleethold_api_types::object;
use serde::de::DeserializeOwned;

use super::problem::ApiError;
use super::secret_json::{read_in_time, refused};

/// A body of type `T`.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let body = read_in_time(&request, payload).await?;
            let mut parser = serde_json::Deserializer::from_slice(&body);
            let parsed = object(&mut parser).and_then(|parsed| parser.end().map(|()| parsed));
            Ok(Self(parsed.map_err(|error| refused(&error))?))
        })
    }
}
