//! What can be measured, and what was: workloads as cards, runs below.

use std::rc::Rc;

use fleethold_api_types::bench::Workload;
use yew::prelude::*;
use yew_router::prelude::*;

use super::{import::ImportDialog, run_dialog::RunDialog, runs::Runs, words::Tabs};
use crate::{
    api::bench,
    pages::history::DatabaseBanner,
    route::Route,
    t, tn,
    ui::{
        Empty, ProblemAlert, Skeleton,
        hooks::{use_load, use_title},
        small_glyph,
    },
};

#[derive(Clone, PartialEq)]
enum Open {
    Nothing,
    Run(Rc<Workload>),
    Import,
}

/// The page.
#[component(BenchPage)]
pub fn bench_page() -> Html {
    use_title(t!(bench.title));
    let workloads = use_load((), |()| bench::bench_workloads());
    let open = use_state(|| Open::Nothing);
    let close = {
        let open = open.clone();
        Callback::from(move |()| open.set(Open::Nothing))
    };
    let import = {
        let open = open.clone();
        move |_: MouseEvent| open.set(Open::Import)
    };
    let on_run = {
        let open = open.clone();
        Callback::from(move |workload: Rc<Workload>| open.set(Open::Run(workload)))
    };
    html! {
        <>
            <div class="page-head">
                <div><h1>{ t!(bench.title) }</h1><p>{ t!(bench.text) }</p></div>
                <button type="button" class="btn" onclick={import} data-testid="bench-import">{ small_glyph("save") }{ t!(bench.import) }</button>
            </div>
            <Tabs here={Route::Bench} />
            <DatabaseBanner />
            if let Some(problem) = workloads.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.workloads_not_read), problem, on_retry: workloads.reload.clone() }).view() }
            }
            <section aria-labelledby="wl-h" class="stack">
                <h2 id="wl-h" class="vh">{ t!(bench.workloads) }</h2>
                { match workloads.result.value() {
                    Some(list) if list.is_empty() => html! {
                        <div class="panel">{ yew::props!(Empty { icon: "bench", title: t!(bench.no_workloads), text: t!(bench.no_workloads_text) }).view() }</div>
                    },
                    Some(list) => html! {
                        <div class="cards">
                            { for list.iter().map(|w| html! { <Card key={w.name.clone()} workload={Rc::new(w.clone())} on_run={on_run.clone()} /> }) }
                        </div>
                    },
                    None if workloads.result.error.is_some() => html! {},
                    None => html! { <div class="panel">{ yew::props!(Skeleton { label: t!(bench.reading_workloads), lines: 3 }).view() }</div> },
                } }
            </section>
            <Runs workloads={workloads.result.value().map(|l| l.iter().map(|w| w.name.clone()).collect::<Vec<_>>()).unwrap_or_default()} />
            { match &*open {
                Open::Nothing => html! {},
                Open::Run(workload) => html! { <RunDialog workload={workload.clone()} on_close={close} /> },
                Open::Import => html! { <ImportDialog on_close={close} /> },
            } }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct CardProps {
    workload: Rc<Workload>,
    on_run: Callback<Rc<Workload>>,
}

/// One workload: the question, both sides, how much it measures.
#[component(Card)]
fn card(props: &CardProps) -> Html {
    let w = &props.workload;
    let run = {
        let workload = w.clone();
        props.on_run.reform(move |_: MouseEvent| workload.clone())
    };
    let sweep = t!(bench.sweep_of, knob = w.knob, values = w.values.join(", "));
    let scenarios: Vec<&str> = w.scenarios.iter().map(|s| s.name.as_str()).collect();
    html! {
        <article class="panel card" data-testid="workload" data-workload={w.name.clone()}>
            <header class="card-head">
                <h3><code>{ &w.name }</code></h3>
                <button type="button" class="btn btn-primary" onclick={run} data-testid={format!("run-{}", w.name)}>{ small_glyph("play") }{ t!(bench.run) }<span class="vh">{ " " }{ &w.name }</span></button>
            </header>
            <p class="card-title">{ &w.title }</p>
            <dl class="sides">
                <dt>{ crate::chart::sign(crate::model::figure::Ink::Before) }{ t!(bench.before) }</dt><dd>{ &w.before }</dd>
                <dt>{ crate::chart::sign(crate::model::figure::Ink::After) }{ t!(bench.after) }</dt><dd>{ &w.after }</dd>
            </dl>
            <p class="note">{ sweep }{ " · " }{ scenarios.join(", ") }</p>
            <footer class="card-foot">
                <span class="note">
                    { tn!(u64::from(w.fields), bench.n_fields_one, bench.n_fields, quick = w.quick_fields) }
                    if w.floors > 0 { { " · " }{ tn!(u64::from(w.floors), bench.n_floors_one, bench.n_floors) } }
                </span>
                if let Some(id) = w.last_run {
                    <Link<Route> to={Route::BenchRun { id }} classes="link">{ t!(bench.last_run) }</Link<Route>>
                }
            </footer>
            <p class="note source" title={w.source.clone()}>{ &w.source }</p>
        </article>
    }
}
