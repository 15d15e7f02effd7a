//! `/api/v1` as the page calls it: JSON in and out, problem+json as [`Problem`], the CSRF token on every change.

pub mod bench;
mod calls;
pub mod feed;
mod json;

use std::cell::RefCell;

use gloo::net::http::{Method, RequestBuilder, Response};
use serde::{Serialize, de::DeserializeOwned};

use crate::model::load::Problem;

pub use calls::*;

/// What every call gives.
pub type Outcome<T> = Result<T, Problem>;

/// What the server answers a request whose session has ended.
const NOT_SIGNED_IN: &str = "not-signed-in";

thread_local! {
    // whatever call hears it first: the page then shows the log-in
    static SIGNED_OUT: RefCell<Option<yew::Callback<()>>> = const { RefCell::new(None) };
    // one page, one session: the token of the current ticket
    static CSRF: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Sets the token that goes with every request other than GET.
pub fn set_csrf(token: Option<String>) {
    CSRF.with(|slot| *slot.borrow_mut() = token);
}

/// Sets what is called when an answer says that the session has ended.
pub fn on_signed_out(callback: yew::Callback<()>) {
    SIGNED_OUT.with(|slot| *slot.borrow_mut() = Some(callback));
}

fn request(method: Method, path: &str) -> RequestBuilder {
    let builder = RequestBuilder::new(&format!("/api/v1{path}")).header("Accept", "application/json");
    let token = if method == Method::GET {
        None
    } else {
        CSRF.with(|slot| slot.borrow().clone())
    };
    match token {
        Some(token) => builder.header("CSRFPreventionToken", &token),
        None => builder,
    }
    .method(method)
}

fn network(error: impl std::fmt::Display) -> Problem {
    Problem {
        code: "network".into(),
        status: 0,
        detail: error.to_string(),
    }
}

async fn checked(response: Response) -> Outcome<Response> {
    if response.ok() {
        return Ok(response);
    }
    let status = response.status();
    let text = response.text().await.map_err(network)?;
    let problem = json::read::<fleethold_api_types::Problem>(&text);
    if status == 401
        && problem.as_ref().is_ok_and(|p| p.code == NOT_SIGNED_IN)
        && let Some(callback) = SIGNED_OUT.with(|slot| slot.borrow().clone())
    {
        callback.emit(());
    }
    Err(match problem {
        Ok(problem) => Problem {
            code: problem.code,
            status,
            detail: problem.detail,
        },
        Err(_) => Problem {
            code: "http".into(),
            status,
            detail: format!("{status} {}", text.trim()),
        },
    })
}

async fn decoded<T: DeserializeOwned>(response: Response) -> Outcome<T> {
    let status = response.status();
    let text = response.text().await.map_err(network)?;
    json::read(&text).map_err(|e| Problem {
        code: "decode".into(),
        status,
        detail: e.to_string(),
    })
}

async fn get<T: DeserializeOwned>(path: &str) -> Outcome<T> {
    let response = request(Method::GET, path).send().await.map_err(network)?;
    decoded(checked(response).await?).await
}

async fn send(method: Method, path: &str, body: Option<&impl Serialize>) -> Outcome<Response> {
    let builder = request(method, path);
    let request = match body {
        Some(body) => builder.json(body),
        None => builder.build(),
    }
    .map_err(network)?;
    checked(request.send().await.map_err(network)?).await
}

async fn post<T: DeserializeOwned>(path: &str, body: &impl Serialize) -> Outcome<T> {
    decoded(send(Method::POST, path, Some(body)).await?).await
}
