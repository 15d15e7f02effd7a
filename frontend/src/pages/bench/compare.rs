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
    model::{load::Problem, query::QueryMap},
    pages::history::DatabaseBanner,
    route::Route,
    t,
    ui::{
        Empty, ProblemAlert, Skeleton,
        hooks::{use_load, use_query, use_query_push, use_title},
        small_glyph,
    },
};

/// The code of the server's refusal to compare different machines.
const ACROSS: &str = "across-machines";

/// The page.
#[component(ComparePage)]
pub fn compare_page() -> Html {
    use_title(t!(bench.compare));
    let (query, set_query) = use_query();
    let push = use_query_push();
    let runs = use_load(
        (),
        |()| async move { bench::bench_runs(&RunFilter::default()).await },
    );
    // a link may name revisions; what it leads to names the runs, so that it shows the same for ever
    let named = use_load(
        (
            query.get("workload").to_owned(),
            revision(&query, "before"),
            revision(&query, "after"),
        ),
        |(workload, before, after)| async move {
            let mut found = [None, None];
            for (slot, name) in found.iter_mut().zip([before, after]) {
                if let Some(name) = name {
                    *slot = Some(bench::run_of_revision(workload.clone(), name).await?);
                }
            }
            Ok(found)
        },
    );
    let pinned = named.result.value().map_or([None, None], |found| **found);
    use_effect_with(pinned, {
        let query = query.clone();
        move |pinned| {
            let ids = ["before", "after"].into_iter().zip(pinned);
            let ids = ids.filter_map(|(key, id)| Some((key, (*id)?)));
            let next = ids
                .clone()
                .fold((*query).clone(), |q, (key, id)| q.with(key, &id.to_string()));
            if ids.count() > 0 {
                set_query.emit(next.with("workload", ""));
            }
        }
    });
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
                    { yew::props!(Choice { id: "cmp-before", word: t!(bench.before), runs: items.clone(), chosen: before, wanted: wanted.clone(), on_choose: choose("before") }).view() }
                    <button type="button" class="btn btn-icon" aria-label={t!(bench.swap)} title={t!(bench.swap)} disabled={pair.is_none()} onclick={swap}>{ small_glyph("retry") }</button>
                    { yew::props!(Choice { id: "cmp-after", word: t!(bench.after), runs: items.clone(), chosen: after, wanted, on_choose: choose("after") }).view() }
                </div>
            </section>
            if let Some(problem) = named.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.not_compared), problem, on_retry: named.reload.clone() }).view() }
            }
            if let Some(problem) = runs.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.runs_not_read), problem, on_retry: runs.reload.clone() }).view() }
            }
            { match (&comparison.result.error, &shown, pair, what) {
                (Some(problem), ..) => html! { <>
                    { yew::props!(ProblemAlert { title: t!(bench.not_compared), problem: problem.clone(), on_retry: comparison.reload.clone() }).view() }
                    if refused(problem) && !across {
                        <div class="cluster"><button type="button" class="btn" onclick={allow} data-testid="compare-across">{ small_glyph("warn") }{ t!(bench.compare_across) }</button></div>
                    }
                </> },
                (None, Some(c), _, Some(what)) => html! { <ComparisonView comparison={c.clone()} {what} /> },
                (None, _, None, _) => html! { <section class="panel">{ yew::props!(Empty { icon: "bench", title: t!(bench.choose_runs), text: if items.len() < 2 { t!(bench.need_two_runs) } else { t!(bench.choose_runs_text) } }).view() }</section> },
                (None, ..) => html! { <section class="panel">{ yew::props!(Skeleton { label: t!(bench.comparing), lines: 5 }).view() }</section> },
            } }
        </>
    }
}

/// A side that is named by its revision instead of a run.
fn revision(query: &QueryMap, key: &str) -> Option<String> {
    let text = query.get(key);
    (!text.is_empty() && text.parse::<Uuid>().is_err()).then(|| text.to_owned())
}

/// The sides are of different machines: a person may want it all the same.
fn refused(problem: &Problem) -> bool {
    problem.code.contains(ACROSS) || problem.code.contains("machine")
}

#[derive(Properties, PartialEq)]
struct Choice {
    id: &'static str,
    word: &'static str,
    runs: Vec<BenchRun>,
    chosen: Option<Uuid>,
    /// Workload of the other side: its runs come first.
    wanted: Option<String>,
    on_choose: Callback<String>,
}

impl Choice {
    /// One side.
    fn view(&self) -> Html {
        let onchange = {
            let on_choose = self.on_choose.clone();
            move |event: Event| on_choose.emit(event.target_unchecked_into::<HtmlSelectElement>().value())
        };
        let ended: Vec<&BenchRun> = self
            .runs
            .iter()
            .filter(|r| r.state.is_final() && r.error.is_none())
            .collect();
        let (fits, others): (Vec<&BenchRun>, Vec<&BenchRun>) = ended
            .into_iter()
            .partition(|r| self.wanted.as_ref().is_none_or(|w| *w == r.workload));
        let option = |r: &&BenchRun| html! { <option value={r.id.to_string()} selected={Some(r.id) == self.chosen}>{ run_line(r) }</option> };
        // a permalink may name a run that is older than the list
        let unlisted = self.chosen.filter(|id| self.runs.iter().all(|r| r.id != *id));
        html! {
            <div class="field">
                <label for={self.id}>{ self.word }</label>
                <select id={self.id} class="select" {onchange} data-testid={self.id}>
                    <option value="" selected={self.chosen.is_none()}>{ t!(bench.choose_run) }</option>
                    if let Some(id) = unlisted { <option value={id.to_string()} selected=true>{ id.to_string() }</option> }
                    { for fits.iter().map(option) }
                    if !others.is_empty() {
                        <optgroup label={t!(bench.other_workloads)}>{ for others.iter().map(option) }</optgroup>
                    }
                </select>
            </div>
        }
    }
}
