//! Who asks, from a request: the cookie's ticket (with CSRF token for what changes something) or an API token.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::{Method, header};
use actix_web::{FromRequest, HttpRequest, web};
use percent_encoding::percent_decode_str;

use super::problem::ApiError;
use crate::auth::session::{Caller, Credentials};
use crate::services::error::ServiceResult;
use crate::state::AppState;

/// Cookie of the PBS face and of older clients.
pub const COOKIE: &str = "PBSAuthCookie";
/// The same, bound to this host by the browser; preferred when both are there (API.md §2.1).
pub const HOST_COOKIE: &str = "__Host-PBSAuthCookie";
/// Header of the CSRF token.
pub const CSRF_HEADER: &str = "CSRFPreventionToken";

/// Finds out who asks; for handlers of either face.
///
/// # Errors
/// Unauthorized without valid credentials, forbidden with a wrong CSRF token.
pub async fn authenticate(state: &AppState, request: &HttpRequest) -> ServiceResult<Caller> {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let credentials = match ticket_of(request) {
        Some(ticket) => Credentials::Ticket {
            ticket,
            csrf: (!safe).then(|| {
                request
                    .headers()
                    .get(CSRF_HEADER)
                    .and_then(|value| value.to_str().ok())
                    .map(str::to_owned)
            }),
        },
        None => match token_of(request) {
            Some((token, secret)) => Credentials::Token {
                token,
                secret: secret.into(),
            },
            None => Credentials::None,
        },
    };
    state.sessions.authenticate(credentials, address(request)).await
}

/// Address of the peer. Headers of proxies are not believed.
#[must_use]
pub fn address(request: &HttpRequest) -> Option<IpAddr> {
    request.peer_addr().map(|address| address.ip())
}

/// The ticket in the request's cookies. Values are percent-decoded, `+` stays, raw tickets pass unchanged.
#[must_use]
pub fn ticket_of(request: &HttpRequest) -> Option<String> {
    let cookie = |wanted: &str| {
        request
            .headers()
            .get_all(header::COOKIE)
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == wanted)
            .and_then(|(_, value)| percent_decode_str(value).decode_utf8().ok())
            .map(|value| value.into_owned())
    };
    cookie(HOST_COOKIE)
        .or_else(|| cookie(COOKIE))
        .filter(|ticket| !ticket.is_empty())
}

/// Id and secret of `Authorization: PBSAPIToken=<id>:<secret>`; a space instead of the first `=` is accepted.
fn token_of(request: &HttpRequest) -> Option<(String, String)> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let rest = value.strip_prefix("PBSAPIToken")?.strip_prefix(['=', ' '])?;
    let (id, secret) = rest.split_once(':')?;
    let secret = percent_decode_str(secret).decode_utf8().ok()?;
    Some((id.trim().to_owned(), secret.into_owned()))
}

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let state = request
                .app_data::<web::Data<AppState>>()
                .cloned()
                .ok_or_else(|| crate::services::error::ServiceError::internal("the server has no state"))?;
            Ok(authenticate(&state, &request).await?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn cookies_as_real_clients_send_them() {
        let ticket = "PBS:admin@pbs:60000000::a+b/c=";
        let cases = [
            format!("PBSAuthCookie={ticket}"),
            "PBSAuthCookie=PBS%3Aadmin%40pbs%3A60000000%3A%3Aa+b%2Fc%3D".to_owned(),
            format!("lang=de; __Host-PBSAuthCookie={ticket}; PBSAuthCookie=other"),
        ];
        for cookie in cases {
            let request = TestRequest::default()
                .insert_header((header::COOKIE, cookie.as_str()))
                .to_http_request();
            assert_eq!(ticket_of(&request).as_deref(), Some(ticket), "{cookie}");
        }
        let request = TestRequest::default()
            .insert_header((header::COOKIE, "PBSAuthCookie="))
            .to_http_request();
        assert_eq!(ticket_of(&request), None);
    }

    #[test]
    fn api_tokens_in_both_forms() {
        for value in ["PBSAPIToken=a@pbs!t:s%3A1", "PBSAPIToken a@pbs!t:s%3A1"] {
            let request = TestRequest::default()
                .insert_header((header::AUTHORIZATION, value))
                .to_http_request();
            assert_eq!(
                token_of(&request),
                Some(("a@pbs!t".into(), "s:1".into())),
                "{value}"
            );
        }
        for value in [
            "Bearer a@pbs!t:s",
            "PBSAPIToken:a@pbs!t:s",
            "PBSAPIToken=a@pbs!t=s",
        ] {
            let request = TestRequest::default()
                .insert_header((header::AUTHORIZATION, value))
                .to_http_request();
            assert_eq!(token_of(&request), None, "{value}");
        }
    }
}
