//! All jobs: failed lately, running, queued; what ended stands at the side.

use std::{collections::BTreeSet, rc::Rc};

use fleethold_api_types::{Job, JobState};
use uuid::Uuid;
use yew::prelude::*;
use yew_router::prelude::*;

use super::{JobCard, failed::Failed, finished::Finished};
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
        Bar, Empty, Skeleton, glyph,
        hooks::{use_load, use_tick, use_title},
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
    // ages grow although nothing happens
    use_tick(30_000);
    let about = use_load((), |()| api::about());
    let dismissed = use_state(super::failed::dismissed);
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
    let running: Vec<_> = of(JobState::Running).cloned().collect();
    let queued: Vec<_> = of(JobState::Queued).cloned().collect();
    let mut ended: Vec<_> = all.iter().filter(|f| f.job.state.is_final()).cloned().collect();
    ended.sort_by_key(|f| std::cmp::Reverse(f.job.finished_at));
    // nothing runs: what ended last is what one came to see
    let idle = running.is_empty() && queued.is_empty();
    let newest: Vec<_> = ended.first().filter(|_| idle).cloned().into_iter().collect();
    let failures: Vec<Rc<Job>> = ended
        .iter()
        .filter(|f| matches!(f.job.state, JobState::Failed | JobState::Interrupted))
        .filter(fresh)
        .map(|f| f.job.clone())
        .collect();
    let failed = failures.len();
    let shown: Vec<Rc<Job>> = failures
        .into_iter()
        .filter(|job| !dismissed.contains(&job.id) && newest.iter().all(|f| f.job.id != job.id))
        .collect();
    let finished: Vec<Rc<Job>> = ended.iter().take(12).map(|f| f.job.clone()).collect();
    let on_dismiss = {
        let dismissed = dismissed.clone();
        Callback::from(move |id: Uuid| {
            let mut next: BTreeSet<Uuid> = (*dismissed).clone();
            next.insert(id);
            super::failed::keep_dismissed(&next);
            dismissed.set(next);
        })
    };
    let rate: f64 = running.iter().map(|f| f.track.rate()).sum();
    let memory = budget_used(running.iter().map(|f| &*f.job));
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
                    <span class="v" data-testid="jobs-memory">{ format::bytes(memory) }{ " " }<small>{ budget.map(|b| t!(of_total, total = format::bytes(b))) }</small></span>
                    { yew::props!(Bar { ratio: budget.map_or(0.0, |b| format::ratio(memory, b)) }).view() }
                </div>
                <div class="stat"><span class="k" data-state="running">{ glyph("run") }{ t!(job_running) }</span><span class="v" data-testid="jobs-running">{ format::integer(running.len() as u64) }</span></div>
                <div class="stat"><span class="k">{ glyph("queue") }{ t!(job_queued) }</span><span class="v">{ format::integer(queued.len() as u64) }</span></div>
                <div class="stat"><span class="k" data-state={(failed > 0).then_some("error")}>{ glyph("error") }{ t!(job_failed) }</span><span class="v">{ format::integer(failed as u64) }</span><span class="d">{ t!(last_hour) }</span></div>
            </div>
            <div class="jobs-cols">
                <div class="stack">
                    { yew::props!(Failed { jobs: shown, on_dismiss }).view() }
                    if running.len() > 1 {
                        <section class="panel"><div class="panel-body chart-panel-body">
                            <Chart lines={total_lines(&total)} label={t!(total_label)} title={t!(all_jobs)} heading="h2" size="mid" testid="jobs-total-chart" />
                        </div></section>
                    }
                    { for running.iter().map(card) }
                    { for queued.iter().map(card) }
                    { for newest.iter().map(card) }
                    if quiet && known {
                        <section class="panel">{ yew::props!(Empty { icon: "jobs", title: t!(no_jobs), text: t!(no_jobs_text), children: html! { <Link<Route> to={Route::Fleet} classes="btn btn-primary">{ t!(choose_store) }</Link<Route>> } }).view() }</section>
                    }
                    if !known {
                        <section class="panel">{ yew::props!(Skeleton { label: t!(loading), lines: 4 }).view() }</section>
                    }
                </div>
                { yew::props!(Finished { jobs: finished }).view() }
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

/// The memory in use now. All jobs share one budget and each reports the use of all: the figures are one figure.
fn budget_used<'a>(running: impl Iterator<Item = &'a Job>) -> u64 {
    running.map(|job| job.progress.memory_bytes).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleethold_api_types::{JobProgress, RestoreSource, RestoreTarget, TargetKind};

    fn job(memory_bytes: u64) -> Job {
        Job {
            id: Uuid::nil(),
            upid: String::new(),
            source: RestoreSource {
                store: "golden".into(),
                ns: String::new(),
                snapshot: "vm/100/2024-05-01T10:00:00Z".into(),
                archive: "drive-scsi0.img.fidx".into(),
            },
            target: RestoreTarget {
                kind: TargetKind::Null,
                path: None,
                overwrite: false,
                is_zero: false,
            },
            parallel: 1,
            simulate_latency_ms: 0,
            crypt_mode: None,
            user: "admin@pbs".into(),
            state: JobState::Running,
            waits_for: None,
            progress: JobProgress {
                memory_bytes,
                ..JobProgress::default()
            },
            created_at: time::OffsetDateTime::UNIX_EPOCH,
            started_at: None,
            finished_at: None,
            error: None,
            totals: None,
        }
    }

    #[test]
    fn the_shared_budget_is_counted_once() {
        let jobs = [job(300 << 20), job(310 << 20), job(0)];
        assert_eq!(budget_used(jobs.iter()), 310 << 20);
        assert_eq!(budget_used([].iter()), 0);
    }
}
