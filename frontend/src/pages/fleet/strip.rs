//! The figures of the fleet; each jumps into a pre-filled search.

use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    app::use_app,
    live::{topic, use_topics},
    model::format,
    route::Route,
    t, tn,
    ui::{Bar, bar::usage_level, glyph},
};

/// Props of [`Strip`].
#[derive(Properties, PartialEq)]
pub(super) struct StripProps {
    /// The search in force.
    pub text: String,
    /// Puts a search into the address.
    pub on_search: Callback<String>,
}

/// The strip.
#[component(Strip)]
pub(super) fn strip(props: &StripProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::SERVER | topic::JOBS);
    let state = app.live.read();
    let summary = state.summary.clone().unwrap_or_default();
    let rate: f64 = state.running().map(|f| f.track.rate()).sum();
    let running = state.running().count();
    drop(state);
    let used = format::ratio(summary.used_bytes, summary.total_bytes);
    let (used_figure, used_unit) = format::bytes_parts(summary.used_bytes);
    let health = [
        (
            "error",
            "error",
            t!(state_error),
            summary.error,
            "state:error",
            t!(strip_error),
        ),
        (
            "warning",
            "warn",
            t!(state_warning),
            summary.warning,
            "state:warning",
            t!(strip_warning),
        ),
        (
            "offline",
            "off",
            t!(state_offline),
            summary.offline,
            "state:offline",
            t!(strip_offline),
        ),
        (
            "maint",
            "maint",
            t!(state_maintenance),
            summary.maintenance,
            "maintenance:any",
            t!(strip_maintenance),
        ),
    ];
    // the figure of the search in force takes it back
    let search = |query: &'static str| {
        let next = if props.text == query { "" } else { query };
        props.on_search.reform(move |_: MouseEvent| next.to_owned())
    };
    html! {
        <div role="group" class="strip" aria-label={t!(fleet_summary)}>
            <button type="button" class="stat" onclick={search("")} data-testid="strip-stores">
                <span class="k">{ t!(stores) }</span>
                <span class="v">{ format::integer(summary.stores) }</span>
                <span class="d">{ tn!(summary.snapshots, strip_snapshots_one, strip_snapshots) }</span>
            </button>
            <div class="stat" data-level={usage_level(used)}>
                <span class="k">{ t!(capacity_used) }</span>
                <span class="v">
                    { used_figure }{ " " }
                    <small>{ t!(capacity_of, unit = used_unit, total = format::bytes(summary.total_bytes), share = format::percent(used)) }</small>
                </span>
                { yew::props!(Bar { ratio: used, notch: true }).view() }
            </div>
            { for health.into_iter().map(|(state, icon, word, n, query, note)| html! {
                <button type="button" class="stat" key={state} aria-pressed={(props.text == query).to_string()} onclick={search(query)} data-testid={format!("strip-{state}")}>
                    <span class="k" data-state={state}>{ glyph(icon) }{ word }</span>
                    <span class="v">{ format::integer(n) }</span>
                    <span class="d">{ note }</span>
                </button>
            }) }
            <Link<Route> to={Route::Jobs} classes="stat">
                <span class="k" data-state="running">{ glyph("run") }{ t!(restoring_now) }</span>
                <span class="v">{ format::mib_figure(rate * format::MIB) }{ " " }<small>{ "MiB/s" }</small></span>
                <span class="d">{ tn!(running as u64, strip_jobs_one, strip_jobs, queued = format::integer(summary.queued_jobs)) }</span>
            </Link<Route>>
        </div>
    }
}
