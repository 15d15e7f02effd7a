//! What somebody sees of lists, sums and the live feed: those are filtered, not refused.
//!
//! As in PBS, figures of a whole store are for who has a right on the store itself; who has rights in namespaces of it
//! only learns that it is there.

use std::borrow::Cow;
use std::sync::Arc;

use fleethold_api_types::{Event, Health, Job, StoreRow, StoreState};
use fleethold_format::names::{Authid, Namespace};

use super::health::without_reasons;
use crate::auth::acl::{AclTree, Privileges};
use crate::auth::users::UserStore;
use crate::views::Views;

/// See what is in a store.
pub const SEE: Privileges = Privileges::AUDIT.or(Privileges::READ);
/// See the figures of a whole store: usage, counts, the newest backup.
pub const FIGURES: Privileges = Privileges::AUDIT.or(Privileges::BACKUP);
/// See that a namespace is there.
pub const NAMESPACE: Privileges = Privileges::AUDIT.or(Privileges::MODIFY).or(Privileges::BACKUP);

/// Whether something of `owner` is the caller's: the own, and as a user that of the own tokens. A token owns nothing of
/// its user's.
#[must_use]
pub fn owns(caller: &Authid, owner: &Authid) -> bool {
    owner == caller || (caller.token.is_none() && owner.user == caller.user)
}

/// What somebody may do in a namespace.
#[must_use]
pub fn in_namespace(acl: &AclTree, caller: &Authid, store: &str, ns: &Namespace) -> Privileges {
    let path: Vec<&str> = ["datastore", store].into_iter().chain(ns.components()).collect();
    acl.privileges(caller, &path)
}

/// Whether a namespace is in somebody's lists; its parents are not, without a right of their own.
#[must_use]
pub fn lists_namespace(acl: &AclTree, caller: &Authid, store: &str, ns: &Namespace) -> bool {
    in_namespace(acl, caller, store, ns).any(NAMESPACE)
}

/// What one caller sees, under the rules of this moment.
pub struct Sight {
    acl: Arc<AclTree>,
    caller: Authid,
    /// `Datastore.Audit` on `/datastore`: all jobs.
    audits: bool,
    /// No rule below `/datastore` says anything else: all stores, without asking for each.
    all_stores: bool,
    /// `Sys.Audit` on `/system/status`: the server's inside, and what the machine measures.
    inside: bool,
}

impl Sight {
    /// Of `caller`.
    #[must_use]
    pub fn of(users: &UserStore, caller: &Authid) -> Self {
        let acl = users.acl();
        let audits = acl.privileges(caller, &["datastore"]).any(Privileges::AUDIT);
        Self {
            audits,
            all_stores: audits && acl.same_below(caller, &["datastore"]),
            inside: acl
                .privileges(caller, &["system", "status"])
                .any(Privileges::SYS_AUDIT),
            acl,
            caller: caller.clone(),
        }
    }

    /// Whether it is the whole fleet with all jobs, and the server's inside.
    #[must_use]
    pub fn everything(&self) -> bool {
        self.all_stores && self.inside
    }

    /// The server's health as it is in it.
    #[must_use]
    pub fn health(&self, health: Health) -> Health {
        if self.inside {
            health
        } else {
            without_reasons(health)
        }
    }

    /// A store's row as it is in it: whole, without figures, or not at all.
    #[must_use]
    pub fn store<'r>(&self, row: &'r StoreRow) -> Option<Cow<'r, StoreRow>> {
        let path = ["datastore", &row.name];
        if self.all_stores {
            return Some(Cow::Borrowed(row));
        }
        if !self.acl.any_below(&self.caller, &path, SEE) {
            return None;
        }
        Some(if self.acl.privileges(&self.caller, &path).any(FIGURES) {
            Cow::Borrowed(row)
        } else {
            Cow::Owned(without_figures(row))
        })
    }

    /// Whether a namespace is in its lists.
    #[must_use]
    pub fn namespace(&self, store: &str, ns: &Namespace) -> bool {
        lists_namespace(&self.acl, &self.caller, store, ns)
    }

    /// Whether a restore is in it: one's own, or with `Sys.Audit` on `/system/tasks` all, as on the PBS face.
    #[must_use]
    pub fn job(&self, job: &Job) -> bool {
        self.owns(&job.user)
            || self.audits
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
            Event::Store { stores } => {
                *stores = stores
                    .iter()
                    .filter_map(|row| self.store(row).map(Cow::into_owned))
                    .collect();
            }
            Event::Job { jobs, samples } => {
                jobs.retain(|job| self.job(job));
                samples.retain(|(id, _)| jobs.iter().any(|job| job.id == *id));
            }
            Event::Bench { runs, samples } => {
                if !self.inside {
                    runs.clear();
                    samples.clear();
                }
            }
            // All of it or nothing, below.
            Event::Alert { .. } => {}
            Event::Server(server) => {
                server.summary = views.summary_for(self);
                server.health = self.health(server.health.clone());
            }
            Event::Snapshot(snapshot) => {
                snapshot.summary = views.summary_for(self);
                snapshot.health = self.health(snapshot.health.clone());
                snapshot.jobs.retain(|job| self.job(job));
                if !self.inside {
                    snapshot.bench.clear();
                    snapshot.standing_alerts = 0;
                }
            }
        }
        let is_empty = match &event {
            Event::Store { stores } => stores.is_empty(),
            Event::Job { jobs, .. } => jobs.is_empty(),
            Event::Bench { runs, samples } => runs.is_empty() && samples.is_empty(),
            Event::Alert { .. } => !self.inside,
            Event::Server(_) | Event::Snapshot(_) => false,
        };
        (!is_empty).then_some(event)
    }
}

/// That the store is there and whether it can be reached; how it is, and where it lies, is for others.
fn without_figures(row: &StoreRow) -> StoreRow {
    StoreRow {
        name: row.name.clone(),
        path: String::new(),
        comment: row.comment.clone(),
        state: match row.state {
            state @ (StoreState::Maintenance | StoreState::Offline) => state,
            _ => StoreState::Unknown,
        },
        // The reason may name paths; that of a maintenance mode is the administrator's own text.
        reason: row
            .reason
            .clone()
            .filter(|_| row.state == StoreState::Maintenance),
        maintenance: row.maintenance.clone(),
        usage: None,
        namespaces: None,
        groups: None,
        snapshots: None,
        verify_failed: None,
        last_backup: None,
        observed_at: None,
    }
}
