//! Two runs against each other: chosen from the list, then the same view as for one run.

use std::rc::Rc;

use fleethold_api_types::bench::BenchRun;
use uuid::Uuid;
use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::{
    comparison::ComparisonView,
    export::{ExportMenu, Permalink},
    words::{Tabs, run_line},
};
use crate::{
    api::bench::{self, Exported, RunFilter},
    model::load::Problem,
    pages::history::DatabaseBanner,
    route::Route,
    t,
    ui::{
        Empty, Icon, ProblemAlert, Skeleton,
        hooks::{use_load, use_query, use_query_push, use_title},
    },
};

/// The code of the server's refusal to compare different machines.
const ACROSS: &str = "across-machines";

/// The page.
#[component(ComparePage)]
pub fn compare_page() -> Html {
    use_title(t!(bench.compare));
    let (query, _) = use_query();
    let push = use_query_push();
    let runs = use_load(
        (),
        |()| async move { bench::bench_runs(&RunFilter::default()).await },
    );
    let id = |key: &str| query.get(key).parse::<Uuid>().ok();
    let (before, after) = (id("before"), id("after"));
    let across = query.get("across") == "true";
    let pair = before.zip(after);
    let comparison = use_load((pair, across), |(pair, across)| async move {
        match pair {
            Some((before, after)) => bench::bench_compare(before, after, across)
                .await
                .map(|c| Some(Rc::new(c))),
            None => Ok(None),
        }
    });
    let choose = |key: &'static str| {
        let (query, push) = (query.clone(), push.clone());
        Callback::from(move |id: String| push.emit(query.with(key, &id).with("cell", "").with("metric", "")))
    };
    let swap = {
        let (query, push) = (query.clone(), push.clone());
        move |_: MouseEvent| {
            push.emit(
                query
                    .with("before", query.get("after"))
                    .with("after", query.get("before")),
            )
        }
    };
    let allow = {
        let (query, push) = (query.clone(), push.clone());
        move |_: MouseEvent| push.emit(query.with("across", "true"))
    };
    let items = runs.result.value().map(|p| p.items.clone()).unwrap_or_default();
    let workload = |id: Option<Uuid>| {
        items
            .iter()
            .find(|r| Some(r.id) == id)
            .map(|r| r.workload.clone())
    };
    let wanted = workload(before).or_else(|| workload(after));
    let shown = pair.and(comparison.result.value().and_then(|c| (**c).clone()));
    let what = pair.map(|(before, after)| Exported::Pair {
        before,
        after,
        across,
    });
    html! {
        <>
            <div class="page-head">
                <div><h1>{ shown.as_ref().map_or_else(|| t!(bench.compare_two).to_owned(), |c| t!(bench.compare_title, workload = c.workload, before = c.before.label, after = c.after.label)) }</h1><p>{ t!(bench.compare_text) }</p></div>
                if let (Some(what), Some(c)) = (what, &shown) {
                    <div class="cluster"><Permalink {what} workload={c.workload.clone()} /><ExportMenu {what} workload={c.workload.clone()} /></div>
                }
            </div>
            <Tabs here={Route::BenchCompare} />
            <DatabaseBanner />
            <section class="panel" aria-label={t!(bench.choose_runs)}>
                <div class="pair">
                    <Choice id="cmp-before" word={t!(bench.before)} runs={items.clone()} chosen={before} wanted={wanted.clone()} on_choose={choose("before")} />
                    <button type="button" class="btn btn-icon" aria-label={t!(bench.swap)} title={t!(bench.swap)} disabled={pair.is_none()} onclick={swap}><Icon name="retry" small=true /></button>
                    <Choice id="cmp-after" word={t!(bench.after)} runs={items.clone()} chosen={after} {wanted} on_choose={choose("after")} />
                </div>
            </section>
            if let Some(problem) = runs.result.error.clone() {
                <ProblemAlert title={t!(bench.runs_not_read)} {problem} on_retry={runs.reload.clone()} />
            }
            { match (&comparison.result.error, &shown, pair, what) {
                (Some(problem), ..) => html! { <>
                    <ProblemAlert title={t!(bench.not_compared)} problem={problem.clone()} on_retry={comparison.reload.clone()} />
                    if refused(problem) && !across {
                        <div class="cluster"><button type="button" class="btn" onclick={allow} data-testid="compare-across"><Icon name="warn" small=true />{ t!(bench.compare_across) }</button></div>
                    }
                </> },
                (None, Some(c), _, Some(what)) => html! { <ComparisonView comparison={c.clone()} {what} /> },
                (None, _, None, _) => html! { <section class="panel"><Empty icon="bench" title={t!(bench.choose_runs)} text={if items.len() < 2 { t!(bench.need_two_runs) } else { t!(bench.choose_runs_text) }} /></section> },
                (None, ..) => html! { <section class="panel"><Skeleton label={t!(bench.comparing)} lines=5 /></section> },
            } }
        </>
    }
}

/// The sides are of different machines: a person may want it all the same.
fn refused(problem: &Problem) -> bool {
    problem.code.contains(ACROSS) || problem.code.contains("machine")
}

#[derive(Properties, PartialEq)]
struct ChoiceProps {
    id: &'static str,
    word: &'static str,
    runs: Vec<BenchRun>,
    chosen: Option<Uuid>,
    /// Workload of the other side: its runs come first.
    wanted: Option<String>,
    on_choose: Callback<String>,
}

/// One side.
#[component(Choice)]
fn choice(props: &ChoiceProps) -> Html {
    let onchange = {
        let on_choose = props.on_choose.clone();
        move |event: Event| on_choose.emit(event.target_unchecked_into::<HtmlSelectElement>().value())
    };
    let ended: Vec<&BenchRun> = props
        .runs
        .iter()
        .filter(|r| r.state.is_final() && r.error.is_none())
        .collect();
    let (fits, others): (Vec<&BenchRun>, Vec<&BenchRun>) = ended
        .into_iter()
        .partition(|r| props.wanted.as_ref().is_none_or(|w| *w == r.workload));
    let option = |r: &&BenchRun| html! { <option value={r.id.to_string()} selected={Some(r.id) == props.chosen}>{ run_line(r) }</option> };
    // a permalink may name a run that is older than the list
    let unlisted = props.chosen.filter(|id| props.runs.iter().all(|r| r.id != *id));
    html! {
        <div class="field">
            <label for={props.id}>{ props.word }</label>
            <select id={props.id} class="select" {onchange} data-testid={props.id}>
                <option value="" selected={props.chosen.is_none()}>{ t!(bench.choose_run) }</option>
                if let Some(id) = unlisted { <option value={id.to_string()} selected=true>{ id.to_string() }</option> }
                { for fits.iter().map(option) }
                if !others.is_empty() {
                    <optgroup label={t!(bench.other_workloads)}>{ for others.iter().map(option) }</optgroup>
                }
            </select>
        </div>
    }
}
