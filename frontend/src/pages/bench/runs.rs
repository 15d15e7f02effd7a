//! Runs, newest first: filtered on the server, the filter in the address, states live.

use fleethold_api_types::bench::{BenchRun, BenchState};
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlSelectElement;
use yew::prelude::*;
use yew_router::prelude::*;

use super::words::{counts, revision, run_look};
use crate::{
    api::bench::{self, RunFilter, word},
    app::use_app,
    live::{topic, use_topics},
    model::{format, query::QueryMap},
    route::Route,
    t,
    ui::{
        Empty, ProblemAlert, Skeleton, StaleNote, When, Word, glyph,
        hooks::{use_load, use_query},
        toast::use_toast,
    },
};

const STATES: [BenchState; 5] = [
    BenchState::Queued,
    BenchState::Running,
    BenchState::Ok,
    BenchState::Partial,
    BenchState::Failed,
];

/// Props of [`Runs`].
#[derive(Properties, PartialEq)]
pub(super) struct RunsProps {
    /// Names to choose from.
    pub workloads: Vec<String>,
}

/// The list.
#[component(Runs)]
pub(super) fn runs(props: &RunsProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::BENCH);
    let (query, set_query) = use_query();
    let filter = RunFilter {
        workload: query.get("workload").to_owned(),
        state: STATES.into_iter().find(|s| word(s) == query.get("state")),
        cursor: None,
    };
    // a run that appears or ends belongs in the list: fetched anew, not guessed
    let known = app
        .live
        .read()
        .bench
        .iter()
        .map(|r| (r.id, r.state))
        .collect::<Vec<_>>();
    let page = use_load((filter.clone(), known), |(filter, _)| async move {
        bench::bench_runs(&filter).await
    });
    let more = use_state(|| (Vec::<BenchRun>::new(), None::<String>));
    use_effect_with(page.result.data.as_ref().map(|(_, at)| *at), {
        let (more, first) = (more.clone(), page.result.value().cloned());
        move |_| more.set((Vec::new(), first.and_then(|p| p.next_cursor.clone())))
    });
    let toast = use_toast();
    let on_more = {
        let (more, filter) = (more.clone(), filter.clone());
        move |_: MouseEvent| {
            let (more, toast) = (more.clone(), toast.clone());
            let filter = RunFilter {
                cursor: more.1.clone(),
                ..filter.clone()
            };
            spawn_local(async move {
                match bench::bench_runs(&filter).await {
                    Ok(next) => {
                        let mut items = more.0.clone();
                        items.extend(next.items);
                        more.set((items, next.next_cursor));
                    }
                    Err(problem) => toast.error(problem.detail),
                }
            });
        }
    };
    let choose = |key: &'static str| {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |event: Event| {
            set_query.emit(query.with(key, &event.target_unchecked_into::<HtmlSelectElement>().value()))
        }
    };
    let clear = {
        let set_query = set_query.clone();
        move |_: MouseEvent| set_query.emit(QueryMap::default())
    };
    let filtered = filter != RunFilter::default();
    let stale = page.result.error.is_some();
    let live = app.live.read();
    let newest = |run: &BenchRun| {
        live.bench
            .get(run.id)
            .and_then(|l| l.run.as_ref())
            .map_or_else(|| run.clone(), |r| (**r).clone())
    };
    html! {
        <section class="panel" aria-labelledby="runs-h">
            <div class="panel-head">
                <h2 id="runs-h">{ t!(bench.recent_runs) }</h2>
                if let Some((_, at)) = page.result.data.as_ref().filter(|_| stale) {
                    { yew::props!(StaleNote { since_ms: *at }).view() }
                }
                <select class="select auto" aria-label={t!(bench.workload)} onchange={choose("workload")} data-testid="runs-workload">
                    <option value="" selected={filter.workload.is_empty()}>{ t!(bench.any_workload) }</option>
                    { for props.workloads.iter().map(|w| html! { <option value={w.clone()} selected={*w == filter.workload}>{ w }</option> }) }
                </select>
                <select class="select auto" aria-label={t!(state)} onchange={choose("state")} data-testid="runs-state">
                    <option value="" selected={filter.state.is_none()}>{ t!(any_state) }</option>
                    { for STATES.into_iter().map(|s| html! { <option value={word(&s)} selected={filter.state == Some(s)}>{ run_look(s).word }</option> }) }
                </select>
            </div>
            if let Some(problem) = page.result.error.clone() {
                <div class="panel-body">{ yew::props!(ProblemAlert { title: t!(bench.runs_not_read), problem, on_retry: page.reload.clone() }).view() }</div>
            }
            { match page.result.value() {
                Some(first) if first.items.is_empty() && filtered => yew::props!(Empty { icon: "filter", title: t!(bench.no_run_matches), children: html! { <button type="button" class="btn" onclick={clear}>{ t!(clear_search) }</button> } }).view(),
                Some(first) if first.items.is_empty() => yew::props!(Empty { icon: "bench", title: t!(bench.no_runs), text: t!(bench.no_runs_text) }).view(),
                Some(first) => html! {
                    <div class="scroll-x" tabindex="0" role="region" aria-label={t!(bench.runs_table)}>
                        <table class={classes!("table", "history", "runs", stale.then_some("stale"))}>
                            <thead><tr>
                                <th scope="col">{ t!(requested) }</th><th scope="col">{ t!(bench.workload) }</th><th scope="col">{ t!(state) }</th><th scope="col">{ t!(bench.verdicts) }</th>
                                <th scope="col">{ t!(bench.commit) }</th><th scope="col" class="num">{ t!(bench.samples_a_side) }</th><th scope="col">{ t!(bench.reason) }</th><th scope="col">{ t!(user) }</th>
                            </tr></thead>
                            <tbody>{ for first.items.iter().chain(&more.0).map(|run| html! { <Row key={run.id.to_string()} run={newest(run)} /> }) }</tbody>
                        </table>
                    </div>
                },
                None if stale => html! {},
                None => yew::props!(Skeleton { label: t!(bench.reading_runs), lines: 5 }).view(),
            } }
            if more.1.is_some() {
                <div class="grid-foot"><button type="button" class="btn" onclick={on_more}>{ t!(older) }</button></div>
            }
        </section>
    }
}

#[derive(Properties, PartialEq)]
struct RowProps {
    run: BenchRun,
}

#[component(Row)]
fn row(props: &RowProps) -> Html {
    let run = &props.run;
    let navigator = use_navigator();
    // the link in the row is the way for keyboards; a click may land anywhere in it
    let onclick = {
        let id = run.id;
        move |event: MouseEvent| {
            if let Some(navigator) = navigator.as_ref().filter(|_| !event.default_prevented()) {
                navigator.push(&Route::BenchRun { id });
            }
        }
    };
    let progress = run
        .progress
        .as_ref()
        .filter(|p| p.total > 0 && run.state == BenchState::Running);
    let state = progress.map(|p| {
        AttrValue::from(format!(
            "{} {}",
            run_look(run.state).word,
            format::percent(format::ratio(p.done, p.total))
        ))
    });
    html! {
        <tr class="row-link" {onclick} data-testid="bench-row" data-run={run.id.to_string()}>
            <td class="soft c-when">{ yew::props!(When { at: run.created_at }).view() }</td>
            <th scope="row" class="c-what">
                <Link<Route> to={Route::BenchRun { id: run.id }}>{ &run.workload }</Link<Route>>
                if run.quick { { " " }<span class="badge">{ t!(bench.quick_badge) }</span> }
                if run.cold { { " " }<span class="badge">{ t!(bench.cold) }</span> }
                if run.source != "run" { { " " }<span class="badge">{ &run.source }</span> }
                if run.pinned { { " " }<span class="badge" title={t!(bench.pinned_note)}>{ glyph("pin") }{ t!(bench.pinned) }</span> }
            </th>
            <td class="c-state">{ yew::props!(Word { look: run_look(run.state), text: state, title: run.error.clone().map(AttrValue::from) }).view() }</td>
            <td class="c-store">{ run.verdicts.map(counts).unwrap_or_default() }</td>
            <td class="mono">{ revision(run) }</td>
            <td class="num">{ run.samples }</td>
            <td class="soft reason">{ &run.reason }</td>
            <td class="soft">{ &run.operator }</td>
        </tr>
    }
}
