//! What the caller may do with what (API.md §2.3): a full privilege on a namespace, or a partial one together with
//! owning the group.

use std::sync::Arc;
use std::time::Duration;

use fleethold_format::names::{Authid, Namespace};

use super::caller::PbsCaller;
use super::envelope::PbsError;
use crate::auth::acl::{AclTree, Privileges};
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};
use crate::services::rights;
use crate::state::AppState;

/// How late a refusal is answered (API.md §1).
pub(super) const FORBIDDEN_DELAY: Duration = Duration::from_millis(500);

/// The caller's rights under the rules of this moment.
#[derive(Clone)]
pub(super) struct Rights {
    acl: Arc<AclTree>,
    authid: Authid,
}

/// How much of a namespace the caller sees.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// Every group.
    All,
    /// Groups the caller owns.
    Own,
}

impl Rights {
    pub(super) fn of(state: &AppState, PbsCaller(caller): &PbsCaller) -> Self {
        Self {
            acl: state.sessions.users.acl(),
            authid: caller.authid.clone(),
        }
    }

    /// What the caller may do in a namespace.
    pub(super) fn on(&self, store: &str, ns: &Namespace) -> Privileges {
        rights::in_namespace(&self.acl, &self.authid, store, ns)
    }

    /// Whether a namespace is in the caller's lists.
    pub(super) fn lists(&self, store: &str, ns: &Namespace) -> bool {
        rights::lists_namespace(&self.acl, &self.authid, store, ns)
    }

    /// Whether the caller may see the figures of a whole store.
    pub(super) fn figures_of(&self, store: &str) -> bool {
        self.on(store, &Namespace::root()).any(rights::FIGURES)
    }

    /// Whether the caller may do any of `wanted` in the store or a namespace of it.
    pub(super) fn anywhere_in(&self, store: &str, wanted: Privileges) -> bool {
        self.acl.any_below(&self.authid, &["datastore", store], wanted)
    }

    /// What the caller may do at a path, given by its components.
    pub(super) fn at(&self, path: &[&str]) -> Privileges {
        self.acl.privileges(&self.authid, path)
    }

    /// Whether the caller may do any of `wanted` with the system's `part`.
    pub(super) fn on_system(&self, part: &str, wanted: Privileges) -> bool {
        self.at(&["system", part]).any(wanted)
    }

    /// All groups with one of `full`, the own ones with one of `own`; late otherwise.
    pub(super) async fn reach(
        &self,
        store: &str,
        ns: &Namespace,
        full: Privileges,
        own: Privileges,
    ) -> Result<Reach, PbsError> {
        let privileges = self.on(store, ns);
        if privileges.any(full) {
            Ok(Reach::All)
        } else if privileges.any(own) {
            Ok(Reach::Own)
        } else {
            Err(self.refuse(store, ns).await)
        }
    }

    /// The refusal, after its delay.
    pub(super) async fn refuse(&self, store: &str, ns: &Namespace) -> PbsError {
        let separator = if ns.is_root() { "" } else { "/" };
        self.refuse_at(&format!("/datastore/{store}{separator}{ns}"))
            .await
    }

    /// The refusal at a path, after its delay.
    pub(super) async fn refuse_at(&self, path: &str) -> PbsError {
        tokio::time::sleep(FORBIDDEN_DELAY).await;
        PbsError::forbidden(format!(
            "permission check failed: '{}' may not do this on {path}",
            self.authid
        ))
    }

    /// The owner itself, and the user of a token that is the owner. A token owns nothing of its user's.
    pub(super) fn owns(&self, owner: &Authid) -> bool {
        rights::owns(&self.authid, owner)
    }

    /// Checks a group's owner where only own groups are in reach.
    pub(super) fn check_owner(&self, reach: Reach, owner: Option<&Authid>) -> ServiceResult<()> {
        if reach == Reach::All || owner.is_some_and(|owner| self.owns(owner)) {
            return Ok(());
        }
        let owner = owner.map_or_else(|| "nobody".to_owned(), ToString::to_string);
        let text = format!(
            "permission check failed: the group belongs to '{owner}', not to '{}'",
            self.authid
        );
        Err(ServiceError::new(ErrorKind::Forbidden, "not-owner", text))
    }

    /// Whether the caller may see a task of `authid`.
    pub(super) fn sees_task_of(&self, authid: &Authid) -> bool {
        self.owns(authid) || self.on_system("tasks", Privileges::SYS_AUDIT)
    }

    /// Whether the caller may stop a task of `authid`.
    pub(super) fn stops_task_of(&self, authid: &Authid) -> bool {
        self.owns(authid) || self.on_system("tasks", Privileges::SYS_MODIFY)
    }
}
