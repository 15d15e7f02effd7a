//! One past restore: its chart from the kept samples, its parameters, the machine.

use std::rc::Rc;

use uuid::Uuid;
use yew::prelude::*;
use yew_router::prelude::*;

use super::DatabaseBanner;
use crate::{
    api,
    chart::Chart,
    model::{format, track::Track},
    pages::jobs::{Failure, Outcome, POINTS, job_lines, target, title, written_word},
    route::Route,
    t,
    ui::{
        JobBadge, ProblemAlert, Skeleton, When,
        hooks::{use_load, use_title},
    },
};

/// Props of [`HistoryItemPage`].
#[derive(Properties, PartialEq)]
pub struct ItemProps {
    /// Job.
    pub id: Uuid,
}

/// The page.
#[component(HistoryItemPage)]
pub fn history_item_page(props: &ItemProps) -> Html {
    let item = use_load(props.id, |id| async move { api::history_item(id).await });
    let samples = use_load(props.id, |id| async move { api::history_samples(id).await });
    let track = use_memo(samples.result.value().cloned(), |kept| {
        kept.as_ref()
            .map(|k| Track::from_samples(&k.samples))
            .unwrap_or_default()
    });
    let name = item
        .result
        .value()
        .map_or_else(|| t!(nav_history).to_owned(), |i| title(&i.job));
    use_title(&name);
    let Some(found) = item.result.value().cloned() else {
        return html! {
            <>
                <h1 class="vh">{ name }</h1>
                <DatabaseBanner />
                if let Some(problem) = item.result.error.clone() {
                    { yew::props!(ProblemAlert { title: t!(history_not_read), problem, on_retry: item.reload.clone() }).view() }
                } else {
                    <section class="panel">{ yew::props!(Skeleton { label: t!(reading_history), lines: 4 }).view() }</section>
                }
            </>
        };
    };
    let job = Rc::new(found.job.clone());
    let fact = |word: &'static str, value: Html| html! { <><dt>{ word }</dt><dd>{ value }</dd></> };
    html! {
        <>
            <div class="page-head"><div><h1>{ name.clone() }</h1><p>{ job.source.snapshot.clone() }</p></div>{ yew::props!(JobBadge { state: job.state }).view() }</div>
            <DatabaseBanner />
            <section class="panel" aria-label={t!(throughput)}>
                <div class="panel-body chart-panel-body stack">
                    { yew::props!(Failure { job: job.clone() }).view() }
                    { yew::props!(Outcome { job: job.clone() }).view() }
                    if let Some(problem) = samples.result.error.clone() {
                        { yew::props!(ProblemAlert { title: t!(samples_not_read), problem, on_retry: samples.reload.clone() }).view() }
                    }
                    if track.restored.len() >= POINTS {
                        <Chart lines={job_lines(&track, job.target.kind)} label={t!(chart_label, what = name)} heading="h2" testid="history-chart" />
                    } else if samples.result.value().is_some() {
                        <p class="note" data-testid="no-chart">{ t!(no_samples_kept) }</p>
                    }
                </div>
            </section>
            <section class="panel" aria-labelledby="facts-h">
                <div class="panel-head"><h2 id="facts-h">{ t!(parameters) }</h2></div>
                <div class="panel-body">
                    <dl class="facts left">
                        { fact(t!(store), html! { <Link<Route> to={Route::Store { name: job.source.store.clone() }}>{ job.source.store.clone() }</Link<Route>> }) }
                        { fact(t!(namespace), html! { { if job.source.ns.is_empty() { t!(root_namespace).to_owned() } else { job.source.ns.clone() } } }) }
                        { fact(t!(file), html! { { job.source.archive.clone() } }) }
                        { fact(t!(to_head), html! { <span class="mono">{ target(&job) }</span> }) }
                        { fact(t!(user), html! { { job.user.clone() } }) }
                        { fact(t!(started), html! { if let Some(at) = job.started_at { { yew::props!(When { at }).view() } } }) }
                        { fact(t!(ended), html! { if let Some(at) = job.finished_at { { yew::props!(When { at }).view() } } }) }
                        { fact(t!(parallel_fetches), html! { { job.parallel } }) }
                        if job.simulate_latency_ms > 0 {
                            { fact(t!(simulate_latency), html! { { format!("{} ms", job.simulate_latency_ms) } }) }
                        }
                        { fact(t!(size), html! { { format::bytes(job.progress.bytes_total) } }) }
                        { fact(t!(fact_read), html! { { format::bytes(job.progress.encoded_bytes_read) } }) }
                        { fact(written_word(&job), html! { { format::bytes(job.progress.bytes_written) } }) }
                        { fact(t!(fact_zero), html! { { format::bytes(job.progress.zero_bytes) } }) }
                        { fact(t!(machine), html! { <>{ found.machine_text.clone() }{ " " }<span class="mono faint">{ found.machine.clone() }</span></> }) }
                        { fact(t!(samples), html! { { format::integer(found.samples) } }) }
                        { fact("UPID", html! { <span class="mono wrap">{ job.upid.clone() }</span> }) }
                    </dl>
                </div>
            </section>
        </>
    }
}
