//! `/access`: log-in, log-out, realms.

use actix_web::cookie::Cookie;
use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use zeroize::Zeroizing;

use super::caller::PbsCaller;
use super::envelope::{PbsError, PbsResult, data, nothing};
use super::params::Params;
use crate::http::cookie;
use crate::http::extract::address;
use crate::state::AppState;

/// `POST /access/ticket`: the ticket in the body or, with `http-only`, in a cookie that scripts cannot read.
pub(super) async fn log_in(request: HttpRequest, state: Data<AppState>, mut params: Params) -> PbsResult {
    let username: String = params.required("username")?;
    let password: Zeroizing<String> = params.required("password")?;
    let http_only = params.or("http-only", false)?;
    if params.optional::<String>("tfa-challenge")?.is_some() {
        return Err(PbsError::bad_request("no second factor was asked for"));
    }
    let terminal = ["path", "privs", "port"].map(|name| params.optional::<String>(name));
    for given in terminal {
        if given?.is_some() {
            return Err(PbsError::bad_request(
                "permission tickets of terminals are not offered here",
            ));
        }
    }
    params.finish()?;

    let session = state
        .sessions
        .log_in(&username, password, address(&request))
        .await?;
    let (user, csrf) = (session.user.as_str(), &session.csrf);
    if !http_only {
        return data(&json!({ "username": user, "ticket": session.ticket, "CSRFPreventionToken": csrf }));
    }
    let info = session
        .ticket
        .split_once("::")
        .map_or(session.ticket.as_str(), |(info, _)| info);
    let mut reply = data(&json!({ "username": user, "ticket-info": info, "CSRFPreventionToken": csrf }))?;
    set_cookie(&mut reply, &cookie::of_ticket(&session.ticket))?;
    Ok(reply)
}

/// `DELETE /access/ticket`: ends the session and clears its cookies.
pub(super) async fn log_out(
    PbsCaller(caller): PbsCaller,
    state: Data<AppState>,
    params: Params,
) -> PbsResult {
    params.finish()?;
    state.sessions.log_out(&caller).await;
    let mut reply = nothing()?;
    for cookie in cookie::removals() {
        set_cookie(&mut reply, &cookie)?;
    }
    Ok(reply)
}

/// `GET /access/domains`: where users may be looked up; asked before anybody is signed in.
pub(super) async fn domains(params: Params) -> PbsResult {
    params.finish()?;
    data(&[json!({ "realm": "pbs", "type": "pbs", "comment": "users of this server", "default": true })])
}

fn set_cookie(reply: &mut HttpResponse, cookie: &Cookie<'_>) -> Result<(), PbsError> {
    let value = header::HeaderValue::from_str(&cookie.to_string())
        .map_err(|error| PbsError::bad_request(format!("cannot write the cookie: {error}")))?;
    reply.headers_mut().append(header::SET_COOKIE, value);
    Ok(())
}
