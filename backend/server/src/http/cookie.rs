//! The cookies of a session, the same from both faces.

use actix_web::cookie::{Cookie, SameSite, time::Duration};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::extract::{COOKIE, HOST_COOKIE};
use crate::auth::ticket::TICKET_LIFETIME_S;

/// What stays as it is in a cookie's value.
const SAFE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The cookie with a ticket: this host only, over TLS only, not for scripts.
pub(super) fn of_ticket(ticket: &str) -> Cookie<'static> {
    let mut cookie = bare(HOST_COOKIE, utf8_percent_encode(ticket, SAFE).to_string());
    cookie.set_max_age(Duration::seconds(TICKET_LIFETIME_S));
    cookie
}

/// What makes a browser forget its ticket, under either name.
pub(super) fn removals() -> [Cookie<'static>; 2] {
    [HOST_COOKIE, COOKIE].map(|name| {
        let mut cookie = bare(name, String::new());
        cookie.make_removal();
        cookie
    })
}

fn bare(name: &'static str, value: String) -> Cookie<'static> {
    Cookie::build(name, value)
        .path("/")
        .secure(true)
        .http_only(true)
        .same_site(SameSite::Lax)
        .finish()
}
