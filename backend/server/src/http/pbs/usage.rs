//! `/status/datastore-usage`: all stores at a glance, from what the last look found. One dead disk delays nobody. Who has
//! rights in a namespace only learns that the store is there.

use actix_web::web::Data;
use fleethold_api_types::StoreState;
use serde::Serialize;

use super::caller::PbsCaller;
use super::datastore::{BACKEND_TYPE, MOUNT_STATUS, VISIBLE};
use super::envelope::{PbsResult, data};
use super::params::Params;
use super::rights::Rights;
use crate::state::AppState;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Item {
    store: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    avail: Option<u64>,
    mount_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    backend_type: &'static str,
}

pub(super) async fn list(caller: PbsCaller, state: Data<AppState>, params: Params) -> PbsResult {
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    let stores = state.views.stores.load();
    let visible = stores
        .list
        .iter()
        .filter(|handle| rights.anywhere_in(handle.view.name.as_str(), VISIBLE));
    let items = visible.map(|handle| {
        let published = handle.view.published();
        let row = &published.row;
        // What cannot be read now has no figures, old ones neither; what was not looked at yet has none either.
        let (usage, error) = match row.state {
            _ if !rights.figures_of(&row.name) => (None, None),
            StoreState::Offline => (
                None,
                Some(row.reason.clone().unwrap_or_else(|| "offline".to_owned())),
            ),
            _ if row
                .maintenance
                .as_ref()
                .is_some_and(|mode| mode.mode != "read-only") =>
            {
                (None, row.reason.clone())
            }
            _ => (row.usage, None),
        };
        Item {
            store: row.name.clone(),
            total: usage.map(|usage| usage.total_bytes),
            used: usage.map(|usage| usage.used_bytes),
            avail: usage.map(|usage| usage.available_bytes),
            mount_status: MOUNT_STATUS,
            error,
            backend_type: BACKEND_TYPE,
        }
    });
    data(&items.collect::<Vec<_>>())
}
