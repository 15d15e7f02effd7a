//! Past restores out of PostgreSQL, with their parameters, machine and charts.

mod item;
mod list;

pub use item::HistoryItemPage;
pub use list::HistoryPage;

use fleethold_api_types::{DatabaseState, Health};
use yew::prelude::*;

use crate::{
    app::use_app,
    clock,
    live::{topic, use_topics},
    model::format,
    t, tn,
    ui::glyph,
};

/// Says that PostgreSQL does not answer, what goes on regardless and what waits.
#[component(DatabaseBanner)]
pub fn database_banner() -> Html {
    let app = use_app();
    use_topics(&app.live, topic::SERVER);
    let state = app.live.read();
    let Some(health) = state
        .health
        .as_ref()
        .filter(|h| h.database.state != DatabaseState::Ready)
    else {
        return html! {};
    };
    html! { <div class="alert" data-state="warning" role="status" data-testid="database-away">{ glyph("warn") }<p class="alert-h">{ heading(health) }</p><p>{ detail(health) }</p></div> }
}

fn heading(health: &Health) -> &'static str {
    if health.database.state == DatabaseState::Starting {
        t!(database_starting)
    } else {
        t!(database_away)
    }
}

fn detail(health: &Health) -> String {
    let since = health
        .database
        .since
        .map(|at| t!(since, at = clock::time(at)))
        .unwrap_or_default();
    let reason = health
        .database
        .reason
        .as_ref()
        .map(|r| format!("{r}."))
        .unwrap_or_default();
    let waits = tn!(
        health.spool.rows,
        spool_waits_one,
        spool_waits,
        bytes = format::bytes(health.spool.bytes)
    );
    format!("{reason} {since} {waits}").trim().to_owned()
}
