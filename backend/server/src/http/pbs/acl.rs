//! `/access/acl` and `/access/permissions`: who may do what (API.md §8).

use std::collections::{BTreeMap, BTreeSet};

use actix_web::HttpRequest;
use actix_web::web::Data;
use fleethold_format::names::Authid;
use serde_json::{Value, json};

use super::caller::PbsCaller;
use super::envelope::{PbsError, PbsResult, data, data_with, nothing};
use super::params::{Param, Params};
use super::rights::Rights;
use super::users::{changed, digest};
use crate::auth::acl::{AclPath, PRIVILEGES, Privileges, Role, Rule, role};
use crate::state::AppState;

/// Where rights on the rules as a whole stand.
const PATH: &[&str] = &["access", "acl"];
/// Shown without a rule about them, too.
const MAIN_PATHS: [&str; 6] = ["/", "/access", "/datastore", "/remote", "/system", "/tape"];

/// `GET /access/acl`: all rules with `Sys.Audit`; those about one's own tokens otherwise.
pub(super) async fn list(caller: PbsCaller, state: Data<AppState>, mut params: Params) -> PbsResult {
    let path: Option<AclPath> = params.optional("path")?;
    let exact = params.or("exact", false)?;
    params.finish()?;
    let all = Rights::of(&state, &caller).at(PATH).any(Privileges::SYS_AUDIT);
    let tree = state.sessions.users.acl();
    let shown = |rule: &Rule| {
        let here = path.as_ref().is_none_or(|path| {
            let below = format!("{}/", path.as_str().trim_end_matches('/'));
            rule.path == path.as_str() || (!exact && rule.path.starts_with(&below))
        });
        let own = || {
            let who = Authid::parse(&rule.who).ok().filter(|_| !rule.is_group);
            who.is_some_and(|who| is_own_token(&caller, &who))
        };
        here && (all || own())
    };
    let rules: Vec<Value> = tree
        .rules()
        .into_iter()
        .filter(shown)
        .map(|rule| {
            json!({
                "path": rule.path,
                "ugid": rule.who,
                "ugid_type": if rule.is_group { "group" } else { "user" },
                "propagate": rule.propagate,
                "roleid": rule.role,
            })
        })
        .collect();
    data_with(&rules, [("digest", hex::encode(tree.digest()).into())])
}

/// `PUT /access/acl`: gives or takes a role. Needs `Permissions.Modify` on the path or on `/access/acl`; without it, a user
/// may do so for the own tokens, which can never do more than the user.
pub(super) async fn update(
    caller: PbsCaller,
    request: HttpRequest,
    state: Data<AppState>,
    mut params: Params,
) -> PbsResult {
    let path: AclPath = params.required("path")?;
    let role: &'static Role = params.required("role")?;
    let who: Option<Authid> = params.optional("auth-id")?;
    let group: Option<String> = params.optional("group")?;
    let (propagate, delete) = (params.or("propagate", true)?, params.or("delete", false)?);
    let digest = digest(&mut params)?;
    params.finish()?;
    let who = match (who, group) {
        (Some(who), None) => who,
        (_, Some(_)) => return Err(PbsError::bad_request("parameter 'group' - there are no groups")),
        (None, None) => return Err(PbsError::bad_request("missing 'auth-id' parameter")),
    };
    let rights = Rights::of(&state, &caller);
    let privileges = rights.at(&path.components()).or(rights.at(PATH));
    if !privileges.any(Privileges::PERMISSIONS_MODIFY) && !is_own_token(&caller, &who) {
        return Err(rights.refuse_at(path.as_str()).await);
    }
    changed(&state, &caller, &request, move |users| {
        let give = (!delete).then_some(propagate);
        Ok(((), users.change_rule(&path, &who, role, give, digest.as_ref())?))
    })
    .await?;
    nothing()
}

/// `GET /access/permissions`: what somebody may do where; nothing is told of paths where that is nothing.
pub(super) async fn permissions(caller: PbsCaller, state: Data<AppState>, mut params: Params) -> PbsResult {
    let who: Option<Authid> = params.optional("auth-id")?;
    let path: Option<AclPath> = params.optional("path")?;
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    let own = &caller.0.authid;
    let who = who.unwrap_or_else(|| own.clone());
    if who != *own && !is_own_token(&caller, &who) && !rights.at(&["access"]).any(Privileges::SYS_AUDIT) {
        return Err(rights.refuse_at("/access").await);
    }
    let tree = state.sessions.users.acl();
    let paths: BTreeSet<String> = match path {
        Some(path) => [path.as_str().to_owned()].into(),
        None => {
            let main = MAIN_PATHS.map(str::to_owned).into_iter();
            main.chain(tree.rules().into_iter().map(|rule| rule.path))
                .collect()
        }
    };
    let mut all: BTreeMap<&str, BTreeMap<&str, bool>> = BTreeMap::new();
    for path in &paths {
        let components: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (here, below) = tree.privileges_and_below(&who, &components);
        let held: BTreeMap<&str, bool> = PRIVILEGES
            .iter()
            .filter(|(_, privilege)| here.any(*privilege))
            .map(|(name, privilege)| (*name, below.any(*privilege)))
            .collect();
        if !held.is_empty() {
            all.insert(path, held);
        }
    }
    data(&all)
}

/// Whether the caller is a user in person, and `who` one of its tokens.
fn is_own_token(PbsCaller(caller): &PbsCaller, who: &Authid) -> bool {
    caller.authid.token.is_none() && who.token.is_some() && who.user == caller.authid.user
}

impl Param for AclPath {
    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl Param for &'static Role {
    fn parse(text: &str) -> Result<Self, String> {
        role(text).ok_or_else(|| format!("expected the name of a role, found {text:?}"))
    }
}
