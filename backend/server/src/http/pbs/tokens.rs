//! `/access/users/{userid}/token`: API tokens of a user (API.md §8).

use actix_web::HttpRequest;
use actix_web::web::{Data, Path};
use fleethold_format::names::{Authid, TokenName};
use serde::Serialize;
use serde_json::json;

use super::caller::PbsCaller;
use super::envelope::{PbsError, PbsResult, data, data_with, nothing};
use super::params::Params;
use super::users::{changed, digest, fields, found, may, named};
use crate::auth::acl::Privileges;
use crate::auth::users::{Deletable, Fields, UserEntry};
use crate::state::AppState;

/// A token as lists and users show it.
#[derive(Serialize)]
pub(super) struct Token<'t> {
    #[serde(rename = "token-name", skip_serializing_if = "Option::is_none")]
    name: Option<&'t TokenName>,
    tokenid: String,
    #[serde(flatten)]
    fields: &'t Fields,
}

impl<'t> Token<'t> {
    pub(super) fn of(entry: &'t UserEntry) -> Self {
        Self {
            name: None,
            tokenid: entry.authid.to_string(),
            fields: &entry.fields,
        }
    }
}

/// `GET /access/users/{userid}/token`.
pub(super) async fn list(
    caller: PbsCaller,
    state: Data<AppState>,
    userid: Path<String>,
    params: Params,
) -> PbsResult {
    params.finish()?;
    let userid = named(&userid)?;
    may(&state, &caller, &userid, Privileges::SYS_AUDIT).await?;
    let table = state.sessions.users.table();
    found(&table, &userid.clone().into())?;
    let token = |entry| Token {
        name: UserEntry::token_name(entry),
        ..Token::of(entry)
    };
    let tokens: Vec<Token<'_>> = table.tokens_of(&userid).map(token).collect();
    data_with(&tokens, [("digest", hex::encode(table.digest()).into())])
}

/// `GET /access/users/{userid}/token/{name}`.
pub(super) async fn get(
    caller: PbsCaller,
    state: Data<AppState>,
    path: Path<(String, String)>,
    params: Params,
) -> PbsResult {
    params.finish()?;
    let token = token(&path)?;
    may(&state, &caller, &token.user, Privileges::SYS_AUDIT).await?;
    let table = state.sessions.users.table();
    let entry = found(&table, &token)?;
    let digest = hex::encode(table.digest());
    data_with(&Token::of(entry), [("digest", digest.into())])
}

/// `POST /access/users/{userid}/token/{name}`: the secret is said here and never again.
pub(super) async fn create(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    path: Path<(String, String)>,
    mut params: Params,
) -> PbsResult {
    let token = token(&path)?;
    let (fields, digest) = (fields(&mut params)?, digest(&mut params)?);
    params.finish()?;
    may(&state, &caller, &token.user, Privileges::PERMISSIONS_MODIFY).await?;
    let id = token.to_string();
    let secret = changed(&state, &caller, &request, move |users| {
        users.create_token(&token, &fields, digest.as_ref())
    })
    .await?;
    data(&json!({ "tokenid": id, "value": *secret }))
}

/// `PUT /access/users/{userid}/token/{name}`: with `regenerate` the new secret is said.
pub(super) async fn update(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    path: Path<(String, String)>,
    mut params: Params,
) -> PbsResult {
    let token = token(&path)?;
    let (fields, delete) = (fields(&mut params)?, params.all::<Deletable>("delete")?);
    let (regenerate, digest) = (params.or("regenerate", false)?, digest(&mut params)?);
    params.finish()?;
    may(&state, &caller, &token.user, Privileges::PERMISSIONS_MODIFY).await?;
    let secret = changed(&state, &caller, &request, move |users| {
        users.update_token(&token, &fields, &delete, regenerate, digest.as_ref())
    })
    .await?;
    match secret {
        Some(secret) => data(&json!({ "secret": *secret })),
        None => nothing(),
    }
}

/// `DELETE /access/users/{userid}/token/{name}`.
pub(super) async fn remove(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    path: Path<(String, String)>,
    mut params: Params,
) -> PbsResult {
    let token = token(&path)?;
    let digest = digest(&mut params)?;
    params.finish()?;
    may(&state, &caller, &token.user, Privileges::PERMISSIONS_MODIFY).await?;
    changed(&state, &caller, &request, move |users| {
        Ok(((), users.remove_token(&token, digest.as_ref())?))
    })
    .await?;
    nothing()
}

fn token(path: &(String, String)) -> Result<Authid, PbsError> {
    let (userid, name) = path;
    let token = TokenName::parse(name).map_err(|error| {
        PbsError::bad_request(format!("parameter verification failed - 'token-name': {error}"))
    })?;
    Ok(Authid {
        user: named(userid)?,
        token: Some(token),
    })
}
