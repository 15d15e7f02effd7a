//! `/admin/datastore` and `/admin/datastore/{store}/status`.

use actix_web::web::{Data, Path};
use fleethold_datastore::{Counts, TypeCounts};
use fleethold_format::names::Namespace;
use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
use super::locate::on_store;
use super::params::Params;
use super::rights::Rights;
use crate::auth::acl::Privileges;
use crate::services::rights::FIGURES;
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

/// Rights that make a store appear in lists.
pub(super) const VISIBLE: Privileges = FIGURES;

/// All stores that the caller has to do with, from memory.
pub(super) async fn list(caller: PbsCaller, state: Data<AppState>, params: Params) -> PbsResult {
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    let stores = state.views.stores.load();
    let visible = stores
        .list
        .iter()
        .filter(|handle| rights.anywhere_in(handle.view.name.as_str(), VISIBLE));
    let items = visible.map(|handle| {
        let entry = handle.view.entry();
        Item {
            store: entry.name.to_string(),
            comment: entry.comment.clone(),
            mount_status: MOUNT_STATUS,
            maintenance: entry
                .props()
                .find(|(key, _)| *key == "maintenance-mode")
                .map(|(_, value)| value.to_owned()),
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

/// Space of one store; with `verbose` its counts, which walk the whole tree. Who has rights in a namespace only, or may
/// only read, learns no sizes.
pub(super) async fn status(
    caller: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    mut params: Params,
) -> PbsResult {
    let verbose = params.or("verbose", false)?;
    params.finish()?;
    let (rights, root) = (Rights::of(&state, &caller), Namespace::root());
    let sizes = rights.figures_of(&store);
    if !sizes && !rights.anywhere_in(&store, VISIBLE.or(Privileges::READ)) {
        return Err(rights.refuse(&store, &root).await);
    }
    // Counts cover what the caller may see everywhere.
    let verbose = verbose && sizes;
    let status = on_store(&state, &store, move |store| {
        let usage = if sizes { Some(store.usage()?) } else { None };
        let counts = if verbose {
            Some(store.counts()?.into())
        } else {
            None
        };
        Ok(Status {
            total: usage.map_or(0, |usage| usage.total_bytes),
            used: usage.map_or(0, |usage| usage.used_bytes),
            avail: usage.map_or(0, |usage| usage.avail_bytes),
            counts,
            backend_type: BACKEND_TYPE,
        })
    })
    .await?;
    data(&status)
}
