//! Log in, log out, renew, change the password.

use actix_web::{HttpRequest, HttpResponse, web};
use fleethold_api_types::{ChangePassword, LoginRequest, Session};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::auth::session::{Caller, SignedIn};
use crate::auth::ticket::TICKET_LIFETIME_S;
use crate::clock;
use crate::http::cookie;
use crate::http::extract::address;
use crate::http::problem::ApiResult;
use crate::http::secret_json::SecretJson;
use crate::services::audit;
use crate::services::error::ServiceError;
use crate::state::AppState;

/// `POST /api/v1/session`: the ticket goes into a cookie that scripts cannot read, the CSRF token into the body.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", request_body(content = LoginRequest,
    example = json!({"user": "admin@pbs", "password": "correct horse battery staple"})),
    responses((status = 200, body = Session), (status = 401, body = fleethold_api_types::Problem),
        (status = 429, body = fleethold_api_types::Problem)))]
pub async fn log_in(
    state: web::Data<AppState>,
    request: HttpRequest,
    SecretJson(body): SecretJson<LoginRequest>,
) -> ApiResult<HttpResponse> {
    let LoginRequest { user, password } = body.hand_over();
    let signed_in = state
        .sessions
        .log_in(&user, Zeroizing::new(password), address(&request))
        .await?;
    reply(signed_in)
}

/// `GET /api/v1/session`: who is signed in, and a fresh CSRF token for the page.
#[utoipa::path(get, path = "/api/v1/session", tag = "session",
    responses((status = 200, body = Session), (status = 401, body = fleethold_api_types::Problem)))]
pub async fn get(state: web::Data<AppState>, caller: Caller) -> ApiResult<HttpResponse> {
    let csrf_token = state.sessions.csrf_for(&caller)?;
    let expires = caller
        .expires()
        .unwrap_or_else(|| clock::epoch() + TICKET_LIFETIME_S);
    Ok(HttpResponse::Ok().json(Session {
        user: caller.authid.to_string(),
        csrf_token,
        expires_at: moment(expires)?,
    }))
}

/// `DELETE /api/v1/session`: ends the ticket and removes the cookie.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session", responses((status = 204)))]
pub async fn log_out(state: web::Data<AppState>, caller: Caller) -> HttpResponse {
    state.sessions.log_out(&caller).await;
    let mut reply = HttpResponse::NoContent();
    for cookie in cookie::removals() {
        reply.cookie(cookie);
    }
    reply.finish()
}

/// `POST /api/v1/session/renew`: a fresh ticket before the old one ends.
#[utoipa::path(post, path = "/api/v1/session/renew", tag = "session", responses((status = 200, body = Session)))]
pub async fn renew(state: web::Data<AppState>, caller: Caller) -> ApiResult<HttpResponse> {
    reply(state.sessions.renew(&caller).await?)
}

/// `POST /api/v1/session/password`: changes the caller's password and ends its other sessions.
#[utoipa::path(post, path = "/api/v1/session/password", tag = "session", request_body(content = ChangePassword,
    example = json!({"current_password": "old secret", "new_password": "a better secret"})),
    responses((status = 200, body = Session), (status = 403, body = fleethold_api_types::Problem),
        (status = 422, body = fleethold_api_types::Problem)))]
pub async fn change_password(
    state: web::Data<AppState>,
    request: HttpRequest,
    caller: Caller,
    SecretJson(body): SecretJson<ChangePassword>,
) -> ApiResult<HttpResponse> {
    let ChangePassword {
        current_password,
        new_password,
    } = body.hand_over();
    let (current, new) = (Zeroizing::new(current_password), Zeroizing::new(new_password));
    let from = address(&request);
    let (signed_in, change) = state
        .sessions
        .change_password(&caller, current, new, from)
        .await?;
    audit::note(&state, &caller, from, change).await;
    reply(signed_in)
}

fn reply(signed_in: SignedIn) -> ApiResult<HttpResponse> {
    let SignedIn {
        user,
        ticket,
        csrf,
        expires,
    } = signed_in;
    let session = Session {
        user: user.to_string(),
        csrf_token: csrf,
        expires_at: moment(expires)?,
    };
    Ok(HttpResponse::Ok()
        .cookie(cookie::of_ticket(&ticket))
        .json(session))
}

fn moment(epoch: i64) -> Result<OffsetDateTime, ServiceError> {
    OffsetDateTime::from_unix_timestamp(epoch).map_err(ServiceError::internal)
}
