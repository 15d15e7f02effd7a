//! One run: while it measures, progress and samples as they come; afterwards what it found.

use std::rc::Rc;

use fleethold_api_types::bench::{BenchRun, BenchRunDetail, BenchState, CreateBenchRun, Workload};
use uuid::Uuid;
use yew::prelude::*;
use yew_router::prelude::Link;

use super::{
    attachments::Attachments,
    comparison::ComparisonView,
    export::{ExportMenu, Permalink},
    facts::{Floors, Parameters},
    live::LivePanel,
    run_dialog::RunDialog,
    words::RunBadge,
};
use crate::{
    api::bench::{self, Exported},
    app::use_app,
    live::{Conn, topic, use_topics},
    pages::history::DatabaseBanner,
    route::Route,
    t,
    ui::{
        Empty, ProblemAlert, Skeleton, glyph,
        hooks::{use_load, use_title},
        small_glyph,
    },
};

/// Props of [`RunPage`].
#[derive(Properties, PartialEq)]
pub struct RunProps {
    /// Run.
    pub id: Uuid,
}

/// The page.
#[component(RunPage)]
pub fn run_page(props: &RunProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::BENCH | topic::CONN);
    let id = props.id;
    let live_run = app.live.read().bench.get(id).and_then(|l| l.run.clone());
    // fetched again when it ends, and when the feed was lost in between
    let state = live_run.as_ref().map(|r| r.state);
    let connected = matches!(app.live.read().conn, Conn::Live);
    let detail = use_load((id, state, connected), |(id, ..)| async move {
        bench::bench_run(id).await
    });
    let again = use_state(|| false);
    let found = detail.result.value().cloned();
    // an answer may be older than the newest event, and an event older than an answer after a reconnect
    let run: Option<Rc<BenchRun>> = match (&found, live_run) {
        (Some(d), Some(live)) if d.run.state.is_final() && !live.state.is_final() => {
            Some(Rc::new(d.run.clone()))
        }
        (_, Some(live)) => Some(live),
        (Some(d), None) => Some(Rc::new(d.run.clone())),
        (None, None) => None,
    };
    let name = run
        .as_ref()
        .map_or_else(|| t!(bench.run_word).to_owned(), |r| r.workload.clone());
    use_title(&name);
    let Some(run) = run else {
        return html! {
            <>
                <h1 class="vh">{ name }</h1>
                <DatabaseBanner />
                if let Some(problem) = detail.result.error.clone() {
                    { yew::props!(ProblemAlert { title: t!(bench.run_not_read), problem, on_retry: detail.reload.clone() }).view() }
                    <p><Link<Route> to={Route::Bench}>{ t!(bench.runs_tab) }</Link<Route>></p>
                } else {
                    <section class="panel">{ yew::props!(Skeleton { label: t!(bench.reading_run), lines: 4 }).view() }</section>
                }
            </>
        };
    };
    let open = {
        let again = again.clone();
        move |_: MouseEvent| again.set(true)
    };
    let close = {
        let again = again.clone();
        Callback::from(move |()| again.set(false))
    };
    let what = Exported::Run(id);
    let detail_reload = detail.reload.clone();
    let measured = found.as_ref().and_then(|d| d.comparison.clone()).map(Rc::new);
    let own = run.source == "run";
    html! {
        <>
            <div class="page-head">
                <div><h1>{ title(&run, found.as_deref()) }</h1><p>{ subtitle(&run) }</p></div>
                { yew::props!(RunBadge { state: run.state }).view() }
                <div class="cluster">
                    if own && run.state.is_final() {
                        <button type="button" class="btn" onclick={open} data-testid="run-again">{ small_glyph("retry") }{ t!(bench.run_again) }</button>
                    }
                    if run.state.is_final() && measured.is_some() {
                        <Permalink {what} workload={run.workload.clone()} />
                        <ExportMenu {what} workload={run.workload.clone()} />
                    }
                </div>
            </div>
            <DatabaseBanner />
            if let Some(problem) = detail.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.run_not_read), problem, on_retry: detail.reload.clone() }).view() }
            }
            { outcome(&run) }
            if run.state.is_final() && run.state != BenchState::Failed && !run.stored {
                <div class="alert" data-state="info" role="status" data-testid="not-stored">{ glyph("info") }<p class="alert-h">{ t!(bench.not_stored) }</p><p>{ t!(bench.not_stored_text) }</p></div>
            }
            if !run.state.is_final() {
                <LivePanel run={run.clone()} />
            } else if let (Some(comparison), Some(detail)) = (measured, found.clone()) {
                <ComparisonView {comparison} {what} run={detail.clone()} aside={yew::props!(Attachments { detail: detail.clone(), on_change: detail_reload.clone() }).view()}>
                    { yew::props!(Floors { floors: detail.floors.clone() }).view() }
                    { yew::props!(Parameters { detail }).view() }
                </ComparisonView>
            } else if let Some(detail) = found.clone() {
                if run.state != BenchState::Failed {
                    <section class="panel">{ yew::props!(Empty { icon: "bench", title: t!(bench.nothing_measured), text: t!(bench.nothing_measured_text) }).view() }</section>
                }
                <div class="detail">
                    { yew::props!(Parameters { detail: detail.clone() }).view() }
                    { yew::props!(Attachments { detail, on_change: detail_reload.clone() }).view() }
                </div>
            } else if detail.result.error.is_none() {
                <section class="panel">{ yew::props!(Skeleton { label: t!(bench.reading_run), lines: 4 }).view() }</section>
            }
            if *again {
                <RunDialog workload={Rc::new(like(&run))} on_close={close} like={request(&run)} />
            }
        </>
    }
}

/// Heading: the workload and what it sweeps.
fn title(run: &BenchRun, detail: Option<&BenchRunDetail>) -> String {
    match detail.and_then(|d| d.comparison.as_ref()) {
        Some(c) if !c.knob.is_empty() => t!(bench.sweep_title, workload = run.workload, knob = c.knob),
        _ => run.workload.clone(),
    }
}

fn subtitle(run: &BenchRun) -> String {
    let at = crate::clock::date_time(run.started_at.unwrap_or(run.created_at));
    let mut text = if run.source == "run" {
        t!(bench.measured_by, at = at, user = run.operator)
    } else {
        t!(
            bench.imported_by,
            at = at,
            user = run.operator,
            format = run.source
        )
    };
    if !run.reason.is_empty() {
        text = format!("{text}, “{}”", run.reason);
    }
    text
}

/// What a person has to know of a run that did not end well.
fn outcome(run: &BenchRun) -> Html {
    match run.state {
        BenchState::Failed => html! {
            <div class="alert" role="alert" data-testid="bench-failed">{ glyph("error") }<p class="alert-h">{ t!(bench.failed_title) }</p>
                <p>{ run.error.clone().unwrap_or_default() }</p><p class="soft">{ t!(bench.failed_text) }</p>
            </div>
        },
        BenchState::Partial => html! {
            <div class="alert" data-state="warning" role="status">{ glyph("warn") }<p class="alert-h">{ t!(bench.partial_title) }</p>
                <p>{ run.error.clone().unwrap_or_else(|| t!(bench.partial_text).to_owned()) }</p>
            </div>
        },
        BenchState::Ok if run.rolled_up => html! {
            <div class="alert" data-state="info" role="status">{ glyph("info") }<p class="alert-h">{ t!(bench.rolled_up) }</p><p>{ t!(bench.rolled_up_text) }</p></div>
        },
        BenchState::Queued | BenchState::Running | BenchState::Ok => html! {},
    }
}

/// What asks for the same again.
fn request(run: &BenchRun) -> CreateBenchRun {
    CreateBenchRun {
        workload: run.workload.clone(),
        quick: run.quick,
        samples: u16::try_from(run.samples).ok().filter(|n| *n > 0),
        seed: None,
        cold: run.cold,
        flamegraph: false,
        reason: run.reason.clone(),
    }
}

/// Enough of a workload for the dialog.
fn like(run: &BenchRun) -> Workload {
    Workload {
        name: run.workload.clone(),
        title: t!(bench.again_text).to_owned(),
        source: String::new(),
        before: String::new(),
        after: String::new(),
        knob: String::new(),
        values: Vec::new(),
        scenarios: Vec::new(),
        fields: 0,
        quick_fields: 0,
        floors: 0,
        last_run: Some(run.id),
    }
}
