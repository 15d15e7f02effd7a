//! Machines that measured; those of one class are expected to measure the same.

use fleethold_api_types::bench::Machine;
use yew::prelude::*;

use super::words::Tabs;
use crate::{
    api::bench,
    pages::history::DatabaseBanner,
    route::Route,
    t, tn,
    ui::{
        Empty, ProblemAlert, Skeleton, When, glyph,
        hooks::{use_load, use_title},
    },
};

/// The page.
#[component(MachinesPage)]
pub fn machines_page() -> Html {
    use_title(t!(bench.machines));
    let machines = use_load((), |()| bench::machines());
    html! {
        <>
            <div class="page-head"><div><h1>{ t!(bench.machines) }</h1><p>{ t!(bench.machines_text) }</p></div></div>
            <Tabs here={Route::BenchMachines} />
            <DatabaseBanner />
            if let Some(problem) = machines.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.machines_not_read), problem, on_retry: machines.reload.clone() }).view() }
            }
            { match machines.result.value() {
                Some(list) if list.is_empty() => html! { <section class="panel">{ yew::props!(Empty { icon: "server", title: t!(bench.no_machines), text: t!(bench.no_machines_text) }).view() }</section> },
                Some(list) => html! { <div class="cards machines">{ for list.iter().map(|m| html! { <Card key={m.fingerprint.clone()} machine={m.clone()} /> }) }</div> },
                None if machines.result.error.is_some() => html! {},
                None => html! { <section class="panel">{ yew::props!(Skeleton { label: t!(bench.reading_machines), lines: 3 }).view() }</section> },
            } }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct CardProps {
    machine: Machine,
}

#[component(Card)]
fn card(props: &CardProps) -> Html {
    let m = &props.machine;
    let name = m.facts.get("cpu").cloned().unwrap_or_else(|| m.class.clone());
    html! {
        <article class="panel card" data-testid="machine">
            <header class="card-head">
                <h2>{ name }</h2>
                if m.this { <span class="badge" data-state="ok">{ glyph("server") }{ t!(bench.this_machine) }</span> }
            </header>
            <dl class="facts left">
                <dt>{ t!(bench.class) }</dt><dd class="mono wrap">{ &m.class }</dd>
                { for m.facts.iter().filter(|(name, _)| *name != "cpu").map(|(name, value)| html! { <><dt>{ name }</dt><dd class="wrap">{ value }</dd></> }) }
                <dt>{ t!(bench.fingerprint) }</dt><dd class="mono" title={m.fingerprint.clone()}>{ crate::model::format::short_digest(&m.fingerprint) }</dd>
                <dt>{ t!(bench.first_seen) }</dt><dd>{ yew::props!(When { at: m.first_seen }).view() }</dd>
                if let Some(at) = m.last_run_at { <dt>{ t!(bench.last_run) }</dt><dd>{ yew::props!(When { at }).view() }</dd> }
            </dl>
            <p class="note">{ tn!(m.runs, bench.n_runs_one, bench.n_runs) }</p>
        </article>
    }
}
