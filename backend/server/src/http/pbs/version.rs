//! `/version` and `/ping`.

use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
use super::params::Params;

/// The release line whose behaviour this face has.
const VERSION: &str = "4.1";
const RELEASE: &str = "0";
/// Where the reference names its commit we name ourselves.
const REPOID: &str = concat!("fleethold-", env!("CARGO_PKG_VERSION"));

#[derive(Serialize)]
struct Version {
    version: &'static str,
    release: &'static str,
    repoid: &'static str,
}

pub(super) async fn version(_: PbsCaller, params: Params) -> PbsResult {
    params.finish()?;
    data(&Version {
        version: VERSION,
        release: RELEASE,
        repoid: REPOID,
    })
}

pub(super) async fn ping(params: Params) -> PbsResult {
    params.finish()?;
    data(&serde_json::json!({ "pong": true }))
}
