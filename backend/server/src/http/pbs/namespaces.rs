//! `/admin/datastore/{store}/namespace`.

use actix_web::web::{Data, Path};
use fleethold_format::names::{MAX_NAMESPACE_DEPTH, Namespace};
use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
use super::locate::on_store;
use super::params::Params;
use super::rights::Rights;
use crate::services::rights::NAMESPACE;
use crate::state::AppState;

#[derive(Serialize)]
struct Item {
    ns: Namespace,
}

/// `parent` and what lies below it, as far as the caller may see.
pub(super) async fn list(
    caller: PbsCaller,
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
    let rights = Rights::of(&state, &caller);
    let root_of_list = parent.clone();
    // Before the disk is asked: whether a namespace exists is not for everybody.
    if !rights.anywhere_in(&store, NAMESPACE) {
        return Err(rights.refuse(&store, &parent).await);
    }
    let found = on_store(&state, &store, move |store| Ok(store.namespaces(&parent, depth)?)).await?;
    let visible: Vec<Item> = found
        .into_iter()
        .filter(|ns| rights.lists(&store, ns))
        .map(|ns| Item { ns })
        .collect();
    if visible.is_empty() {
        return Err(rights.refuse(&store, &root_of_list).await);
    }
    data(&visible)
}
