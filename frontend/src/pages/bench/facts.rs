//! Facts of a run: its floors, its parameters, its machine.

use std::rc::Rc;

use fleethold_api_types::bench::{BenchRunDetail, FloorReport, FloorState};
use yew::prelude::*;
use yew_router::prelude::*;

use super::words::revision;
use crate::{
    model::{format, unit},
    route::Route,
    t,
    ui::{CopyButton, When, Word, small_glyph, state::Look},
};

/// What is shown; drawn by [`Floors::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct Floors {
    /// Floors.
    pub floors: Vec<FloorReport>,
}

fn look(state: FloorState) -> Look {
    let (state, icon, word) = match state {
        FloorState::Met => ("ok", "ok", t!(bench.floor_met)),
        FloorState::Missed => ("error", "error", t!(bench.floor_missed)),
        FloorState::Skipped => ("warning", "warn", t!(bench.floor_skipped)),
        FloorState::NotMeasured => ("offline", "off", t!(bench.floor_not_measured)),
    };
    Look { state, icon, word }
}

impl Floors {
    /// The floors of the workload and how the run stands to them.
    pub(super) fn view(&self) -> Html {
        if self.floors.is_empty() {
            return html! {};
        }
        html! {
            <section class="panel" aria-labelledby="floors-h" data-testid="floors">
                <div class="panel-head"><h2 id="floors-h">{ t!(bench.floors) }<small>{ t!(bench.floors_note) }</small></h2></div>
                <ul class="floors">
                    { for self.floors.iter().map(|f| html! {
                        <li>
                            { yew::props!(Word { look: look(f.state) }).view() }
                            <span><code>{ &f.text }</code><small>{ &f.why }</small></span>
                            <span class="num">
                                { f.value.map_or_else(|| "–".to_owned(), unit::figure) }
                                if let Some(margin) = f.margin { <small>{ unit::share(margin) }</small> }
                            </span>
                        </li>
                    }) }
                </ul>
            </section>
        }
    }
}

/// What is shown; drawn by [`Parameters::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct Parameters {
    /// Run.
    pub detail: Rc<BenchRunDetail>,
}

impl Parameters {
    /// Parameters, machine, and the command that measures the same again.
    pub(super) fn view(&self) -> Html {
        let (d, run) = (&self.detail, &self.detail.run);
        let fixed = d
            .comparison
            .as_ref()
            .map(|c| c.parameters.clone())
            .unwrap_or_default();
        let fact = |word: &str, value: Html| html! { <><dt>{ word.to_owned() }</dt><dd class="wrap">{ value }</dd></> };
        html! {
            <section class="panel" aria-labelledby="params-h" data-testid="parameters">
                <div class="panel-head"><h2 id="params-h">{ t!(bench.how) }</h2>
                    if !run.machine.is_empty() { <Link<Route> to={Route::BenchMachines} classes="link">{ t!(bench.machines) }</Link<Route>> }
                </div>
                <div class="panel-body stack">
                    <dl class="facts left">
                        if let Some(at) = run.started_at { { fact(t!(started), yew::props!(When { at }).view()) } }
                        if let Some(at) = run.finished_at { { fact(t!(ended), yew::props!(When { at }).view()) } }
                        if !run.revision.is_empty() { { fact(t!(bench.commit), html! { <code>{ revision(run) }</code> }) } }
                        { fact(t!(bench.samples_a_side), html! { { run.samples } }) }
                        { fact(t!(bench.seed), html! { { run.seed } }) }
                        { for fixed.iter().filter(|(name, _)| *name != "seed").map(|(name, value)| fact(name, html! { { value } })) }
                        { for d.facts.iter().filter(|(name, _)| *name != "command" && !fixed.contains_key(*name)).map(|(name, value)| fact(name, html! { <span class={(value.len() > 24).then_some("mono")}>{ value }</span> })) }
                        if let Some(load) = d.load {
                            { fact(t!(bench.load_word), html! { <>
                                { load.others.map_or_else(|| t!(bench.not_known).to_owned(), format::percent) }
                                if let Some(steal) = load.steal { { ", " }{ t!(bench.steal, share = format::percent(steal)) } }
                            </> }) }
                        }
                    </dl>
                    if let Some(machine) = &d.machine {
                        <h3>{ t!(machine) }{ " " }<code class="faint">{ &machine.class }</code></h3>
                        <dl class="facts left">{ for machine.facts.iter().map(|(name, value)| fact(name, html! { { value } })) }</dl>
                    }
                    if !d.command.is_empty() {
                        <h3>{ t!(bench.measure_again) }</h3>
                        <pre class="well wrap" tabindex="0">{ &d.command }</pre>
                        <div class="cluster"><CopyButton text={d.command.clone()} /></div>
                    }
                    if run.pinned {
                        <p class="note cluster">{ small_glyph("pin") }{ t!(bench.pinned_note) }</p>
                    }
                </div>
            </section>
        }
    }
}
