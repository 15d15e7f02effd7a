//! `/access/users`: who there is (API.md §8).
//!
//! Everybody sees and may describe themselves; the rest needs `Sys.Audit` or `Permissions.Modify` on `/access/users`. When
//! somebody ends, and whether they may act, is nobody's own business.

use actix_web::HttpRequest;
use actix_web::web::{Data, Path};
use fleethold_format::names::{Authid, Userid};
use serde::Serialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::caller::PbsCaller;
use super::envelope::{PbsError, PbsResult, data, data_with, nothing};
use super::params::{Param, Params};
use super::rights::Rights;
use super::tokens::Token;
use crate::auth::acl::Privileges;
use crate::auth::users::{Change, Deletable, Digest, Fields, UserEntry, UserError, UserStore, UserTable};
use crate::http::extract::address;
use crate::services::audit;
use crate::services::error::ServiceError;
use crate::state::AppState;

/// Where rights on users and their tokens stand.
pub(super) const PATH: &[&str] = &["access", "users"];

#[derive(Serialize)]
struct User<'t> {
    userid: &'t Userid,
    #[serde(flatten)]
    fields: &'t Fields,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<Token<'t>>>,
}

fn user<'t>(table: &'t UserTable, entry: &'t UserEntry, with_tokens: bool) -> User<'t> {
    let tokens = || table.tokens_of(&entry.authid.user).map(Token::of).collect();
    User {
        userid: &entry.authid.user,
        fields: &entry.fields,
        tokens: with_tokens.then(tokens),
    }
}

/// `GET /access/users`: all of them with `Sys.Audit`, oneself otherwise.
pub(super) async fn list(caller: PbsCaller, state: Data<AppState>, mut params: Params) -> PbsResult {
    let with_tokens = params.or("include_tokens", false)?;
    params.finish()?;
    let all = Rights::of(&state, &caller).at(PATH).any(Privileges::SYS_AUDIT);
    let table = state.sessions.users.table();
    let own = &caller.0.authid.user;
    let visible = table
        .iter()
        .filter(|entry| entry.authid.token.is_none() && (all || entry.authid.user == *own));
    let users: Vec<User<'_>> = visible.map(|entry| user(&table, entry, with_tokens)).collect();
    data_with(&users, [("digest", hex::encode(table.digest()).into())])
}

/// `GET /access/users/{userid}`.
pub(super) async fn get(
    caller: PbsCaller,
    state: Data<AppState>,
    userid: Path<String>,
    params: Params,
) -> PbsResult {
    params.finish()?;
    let userid = named(&userid)?;
    may(&state, &caller, &userid, Privileges::SYS_AUDIT).await?;
    let table = state.sessions.users.table();
    let entry = found(&table, &userid.into())?;
    let digest = hex::encode(table.digest());
    data_with(&user(&table, entry, false), [("digest", digest.into())])
}

/// `POST /access/users`.
pub(super) async fn create(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    mut params: Params,
) -> PbsResult {
    let userid: Userid = params.required("userid")?;
    let password: Option<Zeroizing<String>> = params.optional("password")?;
    let fields = fields(&mut params)?;
    params.finish()?;
    may_change(&state, &caller).await?;
    changed(&state, &caller, &request, move |users| {
        let change = users.create(
            &userid,
            password.as_ref().map(|text| text.as_str()),
            &fields,
            None,
        )?;
        Ok(((), change))
    })
    .await?;
    nothing()
}

/// `PUT /access/users/{userid}`.
pub(super) async fn update(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    userid: Path<String>,
    mut params: Params,
) -> PbsResult {
    let userid = named(&userid)?;
    let (fields, delete) = (fields(&mut params)?, params.all::<Deletable>("delete")?);
    let digest = digest(&mut params)?;
    params.finish()?;
    if fields.enable.is_some() || fields.expire.is_some() {
        may_change(&state, &caller).await?;
    }
    may(&state, &caller, &userid, Privileges::PERMISSIONS_MODIFY).await?;
    changed(&state, &caller, &request, move |users| {
        Ok(((), users.update(&userid, &fields, &delete, digest.as_ref())?))
    })
    .await?;
    nothing()
}

/// `DELETE /access/users/{userid}`: with the tokens and all rules about either.
pub(super) async fn remove(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    userid: Path<String>,
    mut params: Params,
) -> PbsResult {
    let userid = named(&userid)?;
    let digest = digest(&mut params)?;
    params.finish()?;
    may_change(&state, &caller).await?;
    changed(&state, &caller, &request, move |users| {
        Ok(((), users.remove(&userid, digest.as_ref())?))
    })
    .await?;
    nothing()
}

/// `PUT /access/password`: the caller proves to be there with the own current password. Another's needs
/// `Permissions.Modify` on `/access/users`.
pub(super) async fn change_password(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    mut params: Params,
) -> PbsResult {
    let userid: Userid = params.required("userid")?;
    let new: Zeroizing<String> = params.required("password")?;
    let current: Option<Zeroizing<String>> = params.optional("confirmation-password")?;
    params.finish()?;
    may(&state, &caller, &userid, Privileges::PERMISSIONS_MODIFY).await?;
    let current = current.ok_or_else(|| {
        PbsError::bad_request(
            "parameter verification failed - 'confirmation-password': your own current password is needed",
        )
    })?;
    state
        .sessions
        .prove(&caller.0, current, address(&request))
        .await?;
    changed(&state, &caller, &request, move |users| {
        let (_, change) = users.set_password(&userid, &new)?;
        Ok(((), change))
    })
    .await?;
    nothing()
}

/// `GET /access/roles`.
pub(super) async fn roles(_: PbsCaller, params: Params) -> PbsResult {
    params.finish()?;
    let roles = crate::auth::acl::ROLES.iter().map(|role| {
        let privileges: Vec<&str> = role.privileges.names().collect();
        json!({ "roleid": role.name, "privs": privileges, "comment": role.comment })
    });
    data(&roles.collect::<Vec<_>>())
}

/// Changes the files on the blocking pool, in turn with what hashes passwords, and remembers who did.
pub(super) async fn changed<T: Send + 'static>(
    state: &AppState,
    PbsCaller(caller): &PbsCaller,
    request: &HttpRequest,
    work: impl FnOnce(&UserStore) -> Result<(T, Change), UserError> + Send + 'static,
) -> Result<T, PbsError> {
    let users = std::sync::Arc::clone(&state.sessions.users);
    let (done, change) = state
        .sessions
        .in_turn(move || work(&users))
        .await?
        .map_err(refused)?;
    audit::note(state, caller, address(request), change).await;
    Ok(done)
}

fn refused(error: UserError) -> PbsError {
    match error {
        UserError::NotFound { .. } => PbsError::not_found(error),
        UserError::File(_) | UserError::Hash { .. } => ServiceError::internal(error).into(),
        error => PbsError::bad_request(error),
    }
}

/// Whether the caller is this user in person or has `wanted` on `/access/users`; refuses late otherwise.
pub(super) async fn may(
    state: &AppState,
    caller: &PbsCaller,
    user: &Userid,
    wanted: Privileges,
) -> Result<(), PbsError> {
    let rights = Rights::of(state, caller);
    let in_person = caller.0.authid == Authid::from(user.clone());
    if in_person || rights.at(PATH).any(wanted) {
        return Ok(());
    }
    Err(rights.refuse_at("/access/users").await)
}

async fn may_change(state: &AppState, caller: &PbsCaller) -> Result<(), PbsError> {
    let rights = Rights::of(state, caller);
    if rights.at(PATH).any(Privileges::PERMISSIONS_MODIFY) {
        return Ok(());
    }
    Err(rights.refuse_at("/access/users").await)
}

pub(super) fn named(userid: &str) -> Result<Userid, PbsError> {
    Userid::parse(userid)
        .map_err(|error| PbsError::bad_request(format!("parameter verification failed - 'userid': {error}")))
}

pub(super) fn found<'t>(table: &'t UserTable, authid: &Authid) -> Result<&'t UserEntry, PbsError> {
    let error = || UserError::NotFound {
        authid: authid.clone(),
    };
    table.get(authid).ok_or_else(|| PbsError::not_found(error()))
}

/// The properties in the parameters.
pub(super) fn fields(params: &mut Params) -> Result<Fields, PbsError> {
    Ok(Fields {
        comment: params.optional("comment")?,
        enable: params.optional("enable")?,
        expire: params.optional("expire")?,
        firstname: params.optional("firstname")?,
        lastname: params.optional("lastname")?,
        email: params.optional("email")?,
    })
}

/// The file that the caller saw.
pub(super) fn digest(params: &mut Params) -> Result<Option<Digest>, PbsError> {
    params.optional("digest")
}

impl Param for Digest {
    fn parse(text: &str) -> Result<Self, String> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest)
            .map_err(|_| "expected the 64 hexadecimal digits of a `digest`".to_owned())?;
        Ok(digest)
    }
}

impl Param for Deletable {
    fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|property| property.as_str() == text);
        found.ok_or_else(|| "expected comment, firstname, lastname or email".to_owned())
    }
}
