//! `/admin/datastore` and `/admin/datastore/{store}/status`.

use actix_web::web::{Data, Path};
use fleethold_datastore::{Counts, TypeCounts};
use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
use super::locate::on_store;
use super::params::Params;
use crate::state::AppState;

/// Stores lie on file systems that are always there.
pub(super) const MOUNT_STATUS: &str = "nonremovable";
pub(super) const BACKEND_TYPE: &str = "filesystem";

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Item {
    store: String,
    comment: Option<String>,
    mount_status: &'static str,
    /// As it stands in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    maintenance: Option<String>,
    backend_type: &'static str,
}

/// All stores, from memory.
pub(super) async fn list(_: PbsCaller, state: Data<AppState>, params: Params) -> PbsResult {
    params.finish()?;
    let stores = state.views.stores.load();
    let items = stores.list.iter().map(|handle| {
        let entry = handle.view.entry();
        Item {
            store: entry.name.to_string(),
            comment: entry.comment.clone(),
            mount_status: MOUNT_STATUS,
            maintenance: entry
                .props
                .iter()
                .find(|(key, _)| key == "maintenance-mode")
                .map(|(_, value)| value.clone()),
            backend_type: BACKEND_TYPE,
        }
    });
    data(&items.collect::<Vec<_>>())
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Status {
    total: u64,
    used: u64,
    avail: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<TypedCounts>,
    backend_type: &'static str,
}

/// `null` for a type without groups.
#[derive(Serialize)]
struct TypedCounts {
    ct: Option<TypeCounts>,
    host: Option<TypeCounts>,
    vm: Option<TypeCounts>,
}

impl From<Counts> for TypedCounts {
    fn from(counts: Counts) -> Self {
        let some = |counts: TypeCounts| (counts.groups > 0).then_some(counts);
        Self {
            ct: some(counts.ct),
            host: some(counts.host),
            vm: some(counts.vm),
        }
    }
}

/// Space of one store; with `verbose` its counts, which walk the whole tree.
pub(super) async fn status(
    _: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    mut params: Params,
) -> PbsResult {
    let verbose = params.or("verbose", false)?;
    params.finish()?;
    let status = on_store(&state, &store, move |store| {
        let usage = store.usage()?;
        let counts = if verbose {
            Some(store.counts()?.into())
        } else {
            None
        };
        Ok(Status {
            total: usage.total_bytes,
            used: usage.used_bytes,
            avail: usage.avail_bytes,
            counts,
            backend_type: BACKEND_TYPE,
        })
    })
    .await?;
    data(&status)
}
