//! `/nodes`: this host, under its short name or `localhost`.

use actix_web::web::Data;
use serde_json::json;

use super::caller::PbsCaller;
use super::envelope::{PbsError, PbsResult, data};
use super::params::Params;
use crate::state::AppState;

pub(super) async fn list(_: PbsCaller, state: Data<AppState>, params: Params) -> PbsResult {
    params.finish()?;
    data(&[json!({ "node": state.node })])
}

/// Refuses every other host.
pub(super) fn check(state: &AppState, node: &str) -> Result<(), PbsError> {
    if node == "localhost" || node == state.node {
        Ok(())
    } else {
        Err(PbsError::bad_request(format!(
            "no such node '{node}', this is '{}'",
            state.node
        )))
    }
}
