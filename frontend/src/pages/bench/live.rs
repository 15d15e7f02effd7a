//! A run while it measures: how far, how long still, and each sample as it is taken.

use std::rc::Rc;

use fleethold_api_types::bench::{BenchRun, BenchState};
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;

use super::detail::{CellFigure, Shape};
use crate::{
    api::bench,
    app::use_app,
    clock,
    live::{topic, use_topics},
    model::{bench::live::Field, format},
    t, tn,
    ui::{Bar, Dialog, hooks::use_tick, small_glyph, toast::use_toast},
};

/// Props of [`LivePanel`].
#[derive(Properties, PartialEq)]
pub(super) struct LiveProps {
    /// The run.
    pub run: Rc<BenchRun>,
}

/// The panel.
#[component(LivePanel)]
pub(super) fn live_panel(props: &LiveProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::BENCH);
    use_tick(1000);
    let run = &props.run;
    let chosen = use_state(|| None::<Field>);
    let shape = use_state(|| Shape::Order);
    let state = app.live.read();
    let live = state.bench.get(run.id);
    let fields = live.map(|l| l.fields()).unwrap_or_default();
    let newest = live.and_then(|l| l.newest());
    let shown = (*chosen)
        .clone()
        .filter(|f| fields.contains(f))
        .or(newest.clone());
    let figure = live.zip(shown.clone()).map(|(live, field)| live.cell(&field));
    let count = live.map_or(0, |l| l.len());
    drop(state);
    let on_field = {
        let (chosen, fields) = (chosen.clone(), fields.clone());
        move |event: Event| {
            let at = event
                .target_unchecked_into::<web_sys::HtmlSelectElement>()
                .value();
            chosen.set(at.parse::<usize>().ok().and_then(|i| fields.get(i).cloned()));
        }
    };
    let on_shape = {
        let shape = shape.clone();
        Callback::from(move |key: &'static str| shape.set(Shape::of(key)))
    };
    let word = |f: &Field| format!("{} {} {}", f.scenario, f.value, f.metric);
    html! {
        <section class="panel" aria-labelledby="live-h" data-testid="bench-live">
            <div class="panel-head">
                <h2 id="live-h">{ if run.state == BenchState::Queued { t!(bench.waiting) } else { t!(bench.measuring_now) } }</h2>
                <CancelRun run={run.clone()} />
            </div>
            <div class="panel-body stack">
                <Progress run={run.clone()} />
                if run.state == BenchState::Queued {
                    <p class="note" data-testid="waits-for">{ run.waits_for.clone().unwrap_or_else(|| t!(bench.queued_text).to_owned()) }</p>
                }
                if let Some((cell, metric)) = figure {
                    <div class="split wrap-split">
                        <h3>{ t!(bench.live_samples) }{ " " }<small class="note" role="status" data-testid="live-count" data-count={count.to_string()}>{ tn!(count as u64, bench.n_samples_one, bench.n_samples) }</small></h3>
                        <select class="select auto" aria-label={t!(bench.field)} onchange={on_field}>
                            <option value="" selected={chosen.is_none()}>{ t!(bench.newest_field) }</option>
                            { for fields.iter().enumerate().map(|(i, f)| html! { <option value={i.to_string()} selected={chosen.as_ref() == Some(f)}>{ word(f) }</option> }) }
                        </select>
                    </div>
                    <CellFigure {cell} {metric} place={shown.as_ref().map(|f| format!("{} {}", f.scenario, f.value)).unwrap_or_default()} shape={*shape} {on_shape} />
                    <p class="note">{ t!(bench.no_verdict_yet) }</p>
                }
                <p class="note">{ t!(bench.close_tab) }</p>
            </div>
        </section>
    }
}

#[derive(Properties, PartialEq)]
struct RunProps {
    run: Rc<BenchRun>,
}

/// Bar, steps and the estimate of the rest.
#[component(Progress)]
fn progress(props: &RunProps) -> Html {
    let Some(p) = &props.run.progress else {
        return html! {};
    };
    let share = format::ratio(p.done, p.total);
    let elapsed = props.run.started_at.map_or(p.elapsed_ns, |at| {
        (clock::seconds_since(at) as u64)
            .saturating_mul(1_000_000_000)
            .max(p.elapsed_ns)
    });
    let eta = p.eta_ns.map(|ns| {
        let at = clock::now() + std::time::Duration::from_nanos(ns);
        t!(
            bench.eta,
            left = format::duration_ns(ns),
            at = clock::time_short(at)
        )
    });
    let phase = match p.phase.as_str() {
        "data" => t!(bench.phase_data),
        _ => t!(bench.phase_measure),
    };
    html! {
        <div class="progress" data-testid="bench-progress">
            <div class="progress-line">
                <span class="pct">{ format::percent(share) }</span>
                <span>{ phase }{ ", " }{ t!(bench.steps, done = format::integer(p.done), total = format::integer(p.total)) }</span>
                <span class="soft mono">{ &p.next }</span>
                <span class="eta">{ eta.unwrap_or_else(|| t!(eta_unknown).to_owned()) }</span>
            </div>
            { yew::props!(Bar { ratio: share, level: Some("live"), progress: Some(AttrValue::Static(t!(bench.progress))), value_text: Some(AttrValue::from(t!(bench.steps, done = p.done, total = p.total))) }).view() }
            <span class="note">{ t!(bench.running_for, time = format::duration_ns(elapsed)) }</span>
        </div>
    }
}

/// Cancelling asks first; what was measured is kept.
#[component(CancelRun)]
fn cancel_run(props: &RunProps) -> Html {
    let app = use_app();
    let toast = use_toast();
    let asking = use_state(|| false);
    let busy = use_state(|| false);
    let ask = {
        let asking = asking.clone();
        move |_: MouseEvent| asking.set(true)
    };
    let keep = {
        let asking = asking.clone();
        Callback::from(move |()| asking.set(false))
    };
    let cancel = {
        let (asking, busy, id) = (asking.clone(), busy.clone(), props.run.id);
        move |_: MouseEvent| {
            let (asking, busy, toast, live) = (asking.clone(), busy.clone(), toast.clone(), app.live.clone());
            busy.set(true);
            spawn_local(async move {
                match bench::cancel_bench(id).await {
                    Ok(run) => {
                        toast.ok(t!(bench.cancel_sent));
                        live.put_bench(run);
                    }
                    Err(problem) => toast.error(t!(not_cancelled, why = problem.detail)),
                }
                busy.set(false);
                asking.set(false);
            });
        }
    };
    let footer = html! {
        <>
            <span class="grow" />
            <button type="button" class="btn" onclick={keep.reform(|_: MouseEvent| ())}>{ t!(keep_running) }</button>
            <button type="button" class="btn btn-danger-fill" disabled={*busy} onclick={cancel} data-testid="bench-cancel-confirm">{ t!(bench.cancel_run) }</button>
        </>
    };
    html! {
        <>
            <button type="button" class="btn btn-danger" onclick={ask} disabled={*busy} data-testid="bench-cancel">{ small_glyph("x") }{ t!(cancel) }</button>
            if *asking {
                <Dialog title={t!(bench.cancel_question, name = props.run.workload)} role="alertdialog" on_close={keep} {footer} class="narrow">
                    <div class="dialog-pad"><p>{ t!(bench.cancel_text) }</p></div>
                </Dialog>
            }
        </>
    }
}
