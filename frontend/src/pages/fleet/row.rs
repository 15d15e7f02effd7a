//! One store in the grid; drawn again only when its row, place or focus changes.

use std::rc::Rc;

use fleethold_api_types::StoreRow;
use yew::prelude::*;

use crate::{
    clock,
    model::format,
    t,
    ui::{
        Bar, Word,
        bar::usage_level,
        state::{Look, store_look},
    },
};

/// Props of [`Row`].
#[derive(Properties)]
pub(super) struct RowProps {
    /// The store.
    pub row: Rc<StoreRow>,
    /// Place in the grid, from 0.
    pub index: usize,
    /// Has the grid's one tab stop.
    pub focus: bool,
    /// Rows stripe the age: it grows.
    pub minute: i64,
}

impl PartialEq for RowProps {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.row, &other.row)
            && (self.index, self.focus, self.minute) == (other.index, other.focus, other.minute)
    }
}

/// The row.
#[component(Row)]
pub(super) fn row(props: &RowProps) -> Html {
    let row = &props.row;
    let used = row.usage.map(|u| format::ratio(u.used_bytes, u.total_bytes));
    let unknown = || html! { <span class="faint">{ "–" }</span> };
    let count = |n: Option<u64>| n.map_or_else(unknown, |n| html! { { format::integer(n) } });
    let failed = row.verify_failed.filter(|n| *n > 0);
    html! {
        <div
            class="grid-row"
            role="row"
            aria-rowindex={(props.index + 2).to_string()}
            tabindex={if props.focus { "0" } else { "-1" }}
            data-index={props.index.to_string()}
            data-testid={format!("store-row-{}", row.name)}
        >
            <div class="cell c-state" role="gridcell">{ yew::props!(Word { look: store_look(row.state), title: row.reason.clone() }).view() }</div>
            <div class="cell c-name" role="rowheader">
                <span class="name">{ row.name.clone() }</span>
                if let Some(comment) = &row.comment {
                    <span class="sub">{ comment.clone() }</span>
                }
            </div>
            <div class="cell c-used usage" role="gridcell" data-level={used.and_then(usage_level)}>
                if let Some(used) = used {
                    { yew::props!(Bar { ratio: used, notch: true }).view() }<span>{ format::percent(used) }</span>
                } else {
                    { unknown() }
                }
            </div>
            <div class="cell num soft c-size" role="gridcell">{ row.usage.map_or_else(unknown, |u| html! { { format::bytes(u.total_bytes) } }) }</div>
            <div class="cell num soft c-snaps" role="gridcell">{ count(row.snapshots) }</div>
            <div class="cell num soft c-last" role="gridcell" title={row.last_backup.map(clock::both_zones)}>
                { row.last_backup.map_or_else(unknown, |at| html! { { t!(ago, age = format::age(clock::seconds_since(at))) } }) }
            </div>
            <div class="cell soft c-verify col-wide" role="gridcell">
                if let Some(n) = failed {
                    { yew::props!(Word { look: Look { state: "error", icon: "error", word: "" }, text: t!(verify_failed_n, n = format::integer(n)) }).view() }
                }
            </div>
            <div class="cell soft c-maint" role="gridcell">
                if let Some(maintenance) = &row.maintenance {
                    { yew::props!(Word { look: Look { state: "maint", icon: "maint", word: "" }, text: maintenance.mode.clone(), title: maintenance.message.clone() }).view() }
                }
            </div>
        </div>
    }
}
