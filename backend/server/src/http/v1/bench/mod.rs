//! The benchmark lab.

pub mod runs;
pub mod workloads;

use crate::http::methods::{Methods, at};

/// Its resources.
pub(super) fn resources() -> Vec<Methods> {
    vec![
        at("/bench/workloads").get(workloads::list),
        at("/bench/runs").get(runs::list).post(runs::create),
        at("/bench/runs/{id}").get(runs::get),
        at("/bench/runs/{id}/cancel").post(runs::cancel),
    ]
}
