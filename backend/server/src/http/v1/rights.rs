//! What a caller may do here, by acl.cfg. Lists, rows, sums and the live feed hold what the caller sees ([`Sight`]); the history
//! needs `Datastore.Audit` on `/datastore`; a store's content needs a right on the store or the namespace; bytes need
//! `Datastore.Read`. A restore belongs to who started it. Writing to this machine's disks is nothing a datastore's roles
//! allow: it needs `Sys.Modify` on `/system`.

use fleethold_api_types::{Job, TargetKind};
use fleethold_format::names::{Authid, Namespace};

use crate::auth::acl::Privileges;
use crate::auth::session::Caller;
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};
use crate::services::rights::{SEE, Sight};
use crate::state::AppState;

/// What the caller sees of lists.
pub(super) fn sight(state: &AppState, caller: &Caller) -> Sight {
    Sight::of(&state.sessions.users, &caller.authid)
}

/// Whether the caller may see a restore.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn job(state: &AppState, caller: &Caller, job: &Job) -> ServiceResult<()> {
    if sight(state, caller).job(job) {
        return Ok(());
    }
    Err(refused(&caller.authid, "Datastore.Audit", &["datastore"]))
}

/// Whether the caller may see the whole fleet.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn fleet(state: &AppState, caller: &Caller) -> ServiceResult<()> {
    require(
        state,
        caller,
        &["datastore"],
        Privileges::AUDIT,
        "Datastore.Audit",
    )
}

/// Whether the caller may see the server's inside.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn system(state: &AppState, caller: &Caller) -> ServiceResult<()> {
    require(
        state,
        caller,
        &["system", "status"],
        Privileges::SYS_AUDIT,
        "Sys.Audit",
    )
}

/// Whether the caller may see who changed users, tokens and rules.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn audit(state: &AppState, caller: &Caller) -> ServiceResult<()> {
    require(state, caller, &["access"], Privileges::SYS_AUDIT, "Sys.Audit")
}

/// Whether the caller may start and stop measuring on this machine, and change what is kept of it.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn measure(state: &AppState, caller: &Caller) -> ServiceResult<()> {
    require(state, caller, &["system"], Privileges::SYS_MODIFY, "Sys.Modify")
}

/// Whether the caller may see a store, or something in it.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn store(state: &AppState, caller: &Caller, store: &str) -> ServiceResult<()> {
    if state
        .sessions
        .users
        .acl()
        .any_below(&caller.authid, &["datastore", store], SEE)
    {
        return Ok(());
    }
    Err(refused(
        &caller.authid,
        "Datastore.Audit or Datastore.Read",
        &["datastore", store],
    ))
}

/// Whether the caller may see what is in a namespace.
///
/// # Errors
/// Forbidden, naming right and path, or the namespace's name is none.
pub(super) fn see(state: &AppState, caller: &Caller, store: &str, ns: &str) -> ServiceResult<()> {
    namespace(state, caller, store, ns, SEE, "Datastore.Audit or Datastore.Read")
}

/// Whether the caller may read and restore what is in a namespace.
///
/// # Errors
/// As [`see`].
pub(super) fn read(state: &AppState, caller: &Caller, store: &str, ns: &str) -> ServiceResult<()> {
    namespace(state, caller, store, ns, Privileges::READ, "Datastore.Read")
}

/// Whether the caller may write to a target. Nowhere is free; a new file needs the right as well as one that is
/// replaced, since it fills the server's disk.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn write(state: &AppState, caller: &Caller, target: TargetKind) -> ServiceResult<()> {
    match target {
        TargetKind::Null => Ok(()),
        TargetKind::File | TargetKind::Device => {
            require(state, caller, &["system"], Privileges::SYS_MODIFY, "Sys.Modify")
        }
    }
}

/// Whether the caller may stop a job of `owner`: the own ones, or with `Sys.Modify`.
///
/// # Errors
/// Forbidden, naming right and path.
pub(super) fn stop(state: &AppState, caller: &Caller, owner: &str) -> ServiceResult<()> {
    if sight(state, caller).owns(owner) {
        return Ok(());
    }
    require(
        state,
        caller,
        &["system", "tasks"],
        Privileges::SYS_MODIFY,
        "Sys.Modify",
    )
}

fn namespace(
    state: &AppState,
    caller: &Caller,
    store: &str,
    ns: &str,
    wanted: Privileges,
    name: &str,
) -> ServiceResult<()> {
    let ns: Namespace = ns.parse()?;
    let path: Vec<&str> = ["datastore", store].into_iter().chain(ns.components()).collect();
    require(state, caller, &path, wanted, name)
}

fn require(
    state: &AppState,
    caller: &Caller,
    path: &[&str],
    wanted: Privileges,
    name: &str,
) -> ServiceResult<()> {
    if state
        .sessions
        .users
        .acl()
        .privileges(&caller.authid, path)
        .any(wanted)
    {
        return Ok(());
    }
    Err(refused(&caller.authid, name, path))
}

fn refused(authid: &Authid, right: &str, path: &[&str]) -> ServiceError {
    let text = format!("`{authid}` lacks {right} on /{}", path.join("/"));
    ServiceError::new(ErrorKind::Forbidden, "permission-denied", text)
}
