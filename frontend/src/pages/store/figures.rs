//! The figures of one store.

use std::rc::Rc;

use fleethold_api_types::StoreRow;
use yew::prelude::*;

use crate::{
    clock,
    model::format,
    t, tn,
    ui::{Bar, When, bar::usage_level, glyph},
};

/// Props of [`Figures`].
#[derive(Properties, PartialEq)]
pub(super) struct FiguresProps {
    /// The store.
    pub row: Rc<StoreRow>,
    /// Goes to the next snapshot whose last verification failed.
    pub on_failed: Callback<()>,
    /// Is on the way there.
    pub looking: bool,
}

/// Usage, counts, ages.
#[component(Figures)]
pub(super) fn figures(props: &FiguresProps) -> Html {
    let row = &props.row;
    let count = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), format::integer);
    let failed = row.verify_failed.unwrap_or(0);
    html! {
        <>
            if let Some(maintenance) = &row.maintenance {
                <div class="alert" data-state="info">
                    { glyph("maint") }
                    <p class="alert-h">{ t!(in_maintenance, mode = maintenance.mode) }</p>
                    if let Some(message) = &maintenance.message {
                        <p>{ message.clone() }</p>
                    }
                </div>
            }
            <dl class="strip s5" aria-label={t!(figures)}>
                { usage(row) }
                <div class="stat"><dt>{ t!(groups) }</dt><dd class="v">{ count(row.groups) }</dd><dd class="d">{ row.namespaces.map(|n| tn!(n, in_namespaces_one, in_namespaces)) }</dd></div>
                <div class="stat"><dt>{ t!(snapshots) }</dt><dd class="v">{ count(row.snapshots) }</dd></div>
                <div class="stat">
                    <dt>{ t!(last_backup) }</dt>
                    <dd class="v nowrap">{ row.last_backup.map_or_else(|| "–".to_owned(), |at| t!(ago, age = format::age(clock::seconds_since(at)))) }</dd>
                    <dd class="d">if let Some(at) = row.last_backup { { yew::props!(When { at, snapshot: true }).view() } }</dd>
                </div>
                <div class="stat">
                    <dt class="k" data-state={(failed > 0).then_some("error")}>
                        if failed > 0 {
                            { glyph("error") }
                        }
                        { t!(verify_failed) }
                    </dt>
                    <dd class="v">{ count(row.verify_failed) }</dd>
                    if failed > 0 {
                        <dd><button type="button" class="link" disabled={props.looking} onclick={props.on_failed.reform(|_: MouseEvent| ())} data-testid="show-failed">{ if props.looking { t!(looking).to_owned() } else { tn!(failed, show_failed_one, show_failed) } }</button></dd>
                    }
                    <dd class="d">{ row.observed_at.map(|at| t!(observed, age = format::age(clock::seconds_since(at)))) }</dd>
                </div>
            </dl>
        </>
    }
}

fn usage(row: &StoreRow) -> Html {
    let Some(usage) = row.usage else {
        return html! { <div class="stat"><dt>{ t!(used) }</dt><dd class="v">{ "–" }</dd><dd class="d">{ t!(usage_unknown) }</dd></div> };
    };
    let used = format::ratio(usage.used_bytes, usage.total_bytes);
    let (figure, unit) = format::bytes_parts(usage.used_bytes);
    html! {
        <div class="stat" data-level={usage_level(used)}>
            <dt>{ t!(used) }</dt>
            <dd class="v">{ figure }{ " " }<small>{ t!(capacity_of, unit = unit, total = format::bytes(usage.total_bytes), share = format::percent(used)) }</small></dd>
            <dd>{ yew::props!(Bar { ratio: used, notch: true }).view() }</dd>
        </div>
    }
}
