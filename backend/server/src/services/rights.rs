//! What somebody sees of lists, sums and the live feed: those are filtered, not refused.

use std::sync::Arc;

use fleethold_api_types::{Event, Job};
use fleethold_format::names::Authid;

use crate::auth::acl::{AclTree, Privileges};
use crate::auth::users::UserStore;
use crate::views::Views;

/// See what is in a store.
pub const SEE: Privileges = Privileges::AUDIT.or(Privileges::READ);

/// Whether something of `owner` is the caller's: the own, and as a user that of the own tokens. A token owns nothing of
/// its user's.
#[must_use]
pub fn owns(caller: &Authid, owner: &Authid) -> bool {
    owner == caller || (caller.token.is_none() && owner.user == caller.user)
}

/// What one caller sees, under the rules of this moment.
pub struct Sight {
    acl: Arc<AclTree>,
    caller: Authid,
}

impl Sight {
    /// Of `caller`.
    #[must_use]
    pub fn of(users: &UserStore, caller: &Authid) -> Self {
        Self {
            acl: users.acl(),
            caller: caller.clone(),
        }
    }

    /// Whether it is the whole fleet with all jobs.
    #[must_use]
    pub fn everything(&self) -> bool {
        self.acl
            .privileges(&self.caller, &["datastore"])
            .any(Privileges::AUDIT)
    }

    /// Whether a store is in it: something in the store may be seen.
    #[must_use]
    pub fn store(&self, name: &str) -> bool {
        self.everything() || self.acl.any_below(&self.caller, &["datastore", name], SEE)
    }

    /// Whether a restore is in it: one's own, or with `Sys.Audit` on `/system/tasks` all, as on the PBS face.
    #[must_use]
    pub fn job(&self, job: &Job) -> bool {
        self.owns(&job.user)
            || self.everything()
            || self
                .acl
                .privileges(&self.caller, &["system", "tasks"])
                .any(Privileges::SYS_AUDIT)
    }

    /// Whether something of `owner`, as written in a job, is the caller's.
    #[must_use]
    pub fn owns(&self, owner: &str) -> bool {
        Authid::parse(owner).is_ok_and(|owner| owns(&self.caller, &owner))
    }

    /// The part of an event that is in it, if any.
    #[must_use]
    pub fn event(&self, event: &Event, views: &Views) -> Option<Event> {
        let mut event = event.clone();
        match &mut event {
            Event::Store { stores } => stores.retain(|row| self.store(&row.name)),
            Event::Job { jobs, samples } => {
                jobs.retain(|job| self.job(job));
                samples.retain(|(id, _)| jobs.iter().any(|job| job.id == *id));
            }
            Event::Server(server) => server.summary = views.summary_for(self),
            Event::Snapshot(snapshot) => {
                snapshot.summary = views.summary_for(self);
                snapshot.jobs.retain(|job| self.job(job));
            }
        }
        let is_empty = match &event {
            Event::Store { stores } => stores.is_empty(),
            Event::Job { jobs, .. } => jobs.is_empty(),
            Event::Server(_) | Event::Snapshot(_) => false,
        };
        (!is_empty).then_some(event)
    }
}
