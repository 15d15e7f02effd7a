//! Health of the server from what is in memory.

use fleethold_api_types::{AccessProblem, DatabaseHealth, DatabaseState, Health, SpoolHealth};
use fleethold_fleet::Fleet;
use fleethold_history::{Database, DbState, Recorder};

use crate::auth::users::UserStore;

/// The broken edit of datastore.cfg, when there is one.
#[must_use]
pub fn config_problem(fleet: &Fleet) -> Option<String> {
    fleet.current().error.as_ref().map(ToString::to_string)
}

/// Health now; touches no file.
#[must_use]
pub fn health(fleet: &Fleet, users: &UserStore, database: &Database, recorder: &Recorder) -> Health {
    let (state, since, reason) = match &*database.state().borrow() {
        DbState::Starting => (DatabaseState::Starting, None, None),
        DbState::Ready => (DatabaseState::Ready, None, None),
        DbState::Away { since, reason } => (DatabaseState::Away, Some(*since), Some(reason.clone())),
    };
    let spool = recorder.stats();
    Health {
        database: DatabaseHealth { state, since, reason },
        spool: SpoolHealth {
            rows: spool.waiting_jobs + spool.waiting_samples,
            bytes: spool.bytes,
            dropped: spool.dropped_jobs + spool.dropped_samples + spool.rejected,
        },
        config_problem: config_problem(fleet),
        access_problems: users
            .problems()
            .into_iter()
            .filter_map(|(file, reason)| {
                Some(AccessProblem {
                    file: file.to_owned(),
                    reason: Some(reason?.to_string()),
                })
            })
            .collect(),
    }
}

/// Health for somebody who may not see the server's inside: what a broken line of a file of users or rights holds is not
/// for everybody.
#[must_use]
pub fn without_reasons(mut health: Health) -> Health {
    for problem in &mut health.access_problems {
        problem.reason = None;
    }
    health
}
