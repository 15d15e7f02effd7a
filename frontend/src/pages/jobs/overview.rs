//! All jobs: failed lately, running, queued; what ended stands at the side.

use fleethold_api_types::JobState;
use yew::prelude::*;
use yew_router::prelude::*;

use super::JobCard;
use crate::{
    api,
    app::use_app,
    chart::{Chart, Line},
    clock,
    live::{Followed, topic, use_topics},
    model::format::{self, MIB},
    route::Route,
    t,
    ui::{
        Bar, Empty, Icon, Skeleton, Word,
        hooks::{use_load, use_title},
        state::job_look,
    },
};

/// A failure stays in front for so long.
const FRESH_S: i64 = 3_600;

/// The page.
#[component(JobsPage)]
pub fn jobs_page() -> Html {
    let app = use_app();
    use_title(t!(nav_jobs));
    use_topics(&app.live, topic::JOBS | topic::SERVER);
    let about = use_load((), |()| api::about());
    let state = app.live.read();
    let (known, total) = (state.jobs_known, state.total.clone());
    let all: Vec<Followed> = state.jobs.values().rev().cloned().collect();
    drop(state);
    let of = |wanted: JobState| all.iter().filter(move |f| f.job.state == wanted);
    let fresh = |f: &&Followed| {
        f.job
            .finished_at
            .is_none_or(|at| clock::seconds_since(at) < FRESH_S)
    };
    let failed: Vec<_> = of(JobState::Failed)
        .chain(of(JobState::Interrupted))
        .filter(fresh)
        .take(3)
        .cloned()
        .collect();
    let running: Vec<_> = of(JobState::Running).cloned().collect();
    let queued: Vec<_> = of(JobState::Queued).cloned().collect();
    let mut ended: Vec<_> = all.iter().filter(|f| f.job.state.is_final()).cloned().collect();
    ended.sort_by_key(|f| std::cmp::Reverse(f.job.finished_at));
    ended.truncate(12);
    // nothing runs: what ended last is what one came to see
    let idle = failed.is_empty() && running.is_empty() && queued.is_empty();
    let newest: Vec<_> = ended.first().filter(|_| idle).cloned().into_iter().collect();
    let rate: f64 = running.iter().map(|f| f.track.rate()).sum();
    let memory: u64 = running.iter().map(|f| f.job.progress.memory_bytes).sum();
    let budget = about.result.value().map(|a| a.memory_bytes);
    let quiet = idle && newest.is_empty();
    html! {
        <>
            <div class="page-head">
                <div><h1>{ t!(nav_jobs) }</h1><p>{ t!(close_the_tab) }</p></div>
            </div>
            <div role="group" class="strip s5" aria-label={t!(job_summary)}>
                <div class="stat"><span class="k">{ t!(restoring_now) }</span><span class="v">{ format::mib_figure(rate * MIB) }{ " " }<small>{ "MiB/s" }</small></span><span class="d">{ t!(all_jobs_together) }</span></div>
                <div class="stat">
                    <span class="k">{ t!(memory_budget) }</span>
                    <span class="v">{ format::bytes(memory) }{ " " }<small>{ budget.map(|b| t!(of_total, total = format::bytes(b))) }</small></span>
                    <Bar ratio={budget.map_or(0.0, |b| format::ratio(memory, b))} />
                </div>
                <div class="stat"><span class="k" data-state="running"><Icon name="run" />{ t!(job_running) }</span><span class="v" data-testid="jobs-running">{ running.len() }</span></div>
                <div class="stat"><span class="k"><Icon name="queue" />{ t!(job_queued) }</span><span class="v">{ queued.len() }</span></div>
                <div class="stat"><span class="k" data-state={(!failed.is_empty()).then_some("error")}><Icon name="error" />{ t!(job_failed) }</span><span class="v">{ failed.len() }</span><span class="d">{ t!(last_hour) }</span></div>
            </div>
            <div class="jobs-cols">
                <div class="stack">
                    { for failed.iter().map(card) }
                    if running.len() > 1 {
                        <section class="panel"><div class="panel-body chart-panel-body">
                            <Chart lines={total_lines(&total)} label={t!(total_label)} title={t!(all_jobs)} heading="h2" size="mid" testid="jobs-total-chart" />
                        </div></section>
                    }
                    { for running.iter().map(card) }
                    { for queued.iter().map(card) }
                    { for newest.iter().map(card) }
                    if quiet && known {
                        <section class="panel"><Empty icon="jobs" title={t!(no_jobs)} text={t!(no_jobs_text)}>
                            <Link<Route> to={Route::Fleet} classes="btn btn-primary">{ t!(choose_store) }</Link<Route>>
                        </Empty></section>
                    }
                    if !known {
                        <section class="panel"><Skeleton label={t!(loading)} lines=4 /></section>
                    }
                </div>
                <aside class="stack" aria-label={t!(finished)}>
                    <section class="panel">
                        <div class="panel-head"><h2>{ t!(finished) }{ " " }<small>{ t!(lately) }</small></h2><Link<Route> to={Route::History}>{ t!(all_history) }</Link<Route>></div>
                        <div class="panel-body">
                            <ol class="queue">{ for ended.iter().map(finished) }</ol>
                            if ended.is_empty() {
                                <p class="note">{ t!(none_yet) }</p>
                            }
                        </div>
                    </section>
                </aside>
            </div>
        </>
    }
}

fn card(followed: &Followed) -> Html {
    html! { <JobCard key={followed.job.id.to_string()} followed={followed.clone()} /> }
}

fn total_lines(total: &std::rc::Rc<crate::model::series::Series>) -> Vec<Line> {
    let mut line = Line::new(t!(line_restored), total.clone(), 0);
    line.filled = true;
    vec![line]
}

fn finished(followed: &Followed) -> Html {
    let job = &followed.job;
    let look = job_look(job.state);
    let note = match (&job.error, &job.totals) {
        (Some(error), _) => error.message.clone(),
        (None, Some(totals)) if job.state == JobState::Ok => {
            t!(
                took,
                time = format::duration_ns(totals.duration_ns),
                rate = format::rate(totals.rate_bytes_per_s as f64)
            )
        }
        _ => look.word.to_owned(),
    };
    html! {
        <li key={job.id.to_string()}>
            <Word {look} text="" title={look.word} />
            <span class="t"><span class="vh">{ look.word }{ ": " }</span><Link<Route> to={Route::Job { id: job.id }} classes="plain">{ super::title(job) }</Link<Route>></span>
            <span class="n">{ format::bytes(job.progress.bytes_total) }</span>
            <small>{ note }</small>
        </li>
    }
}
