//! Who asks, with the manners of the PBS face: a failed sign-in is answered late and as plain text.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::{FromRequest, HttpRequest, web};

use super::envelope::PbsError;
use super::rights::FORBIDDEN_DELAY;
use crate::auth::limit::FAILURE_DELAY;
use crate::auth::session::Caller;
use crate::clock;
use crate::http::extract::authenticate;
use crate::services::error::ServiceError;
use crate::state::AppState;

/// Somebody who is signed in.
pub(super) struct PbsCaller(pub(super) Caller);

impl FromRequest for PbsCaller {
    type Error = PbsError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, PbsError>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let state = request
                .app_data::<web::Data<AppState>>()
                .cloned()
                .ok_or_else(|| ServiceError::internal("the server has no state"))?;
            // Some failures were answered late already: the delay counts from the beginning.
            let since = tokio::time::Instant::from_std(clock::monotonic());
            match authenticate(&state, &request).await {
                Ok(caller) => Ok(Self(caller)),
                Err(error) => {
                    let error = PbsError::from(error);
                    let delay = match error.status() {
                        StatusCode::UNAUTHORIZED => FAILURE_DELAY,
                        StatusCode::FORBIDDEN => FORBIDDEN_DELAY,
                        _ => Duration::ZERO,
                    };
                    tokio::time::sleep_until(since + delay).await;
                    Err(error)
                }
            }
        })
    }
}
