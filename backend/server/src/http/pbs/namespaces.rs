//! `/admin/datastore/{store}/namespace`.

use actix_web::web::{Data, Path};
use fleethold_format::names::{MAX_NAMESPACE_DEPTH, Namespace};
use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
use super::locate::on_store;
use super::params::Params;
use crate::state::AppState;

#[derive(Serialize)]
struct Item {
    ns: Namespace,
}

/// `parent` and what lies below it.
pub(super) async fn list(
    _: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    mut params: Params,
) -> PbsResult {
    let parent = params.or("parent", Namespace::root())?;
    let depth: Option<u64> = params.optional("max-depth")?;
    params.finish()?;
    let depth = depth
        .and_then(|depth| usize::try_from(depth).ok())
        .unwrap_or(MAX_NAMESPACE_DEPTH);
    let found = on_store(&state, &store, move |store| Ok(store.namespaces(&parent, depth)?)).await?;
    data(&found.into_iter().map(|ns| Item { ns }).collect::<Vec<_>>())
}
