//! One job alone: everything that is known of it, and its log.

use std::rc::Rc;

use fleethold_api_types::{Job, JobState};
use uuid::Uuid;
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;
use yew_router::prelude::*;

use super::{JobCard, log::LogTail};
use crate::{
    api,
    app::use_app,
    live::{topic, use_topics},
    model::{format, load::Problem},
    route::Route,
    t,
    ui::{CopyButton, ProblemAlert, Skeleton, hooks::use_title},
};

/// Props of [`JobPage`].
#[derive(Properties, PartialEq)]
pub struct JobPageProps {
    /// Its id.
    pub id: Uuid,
}

/// The page.
#[component(JobPage)]
pub fn job_page(props: &JobPageProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::JOBS);
    let problem = use_state(|| None::<Rc<Problem>>);
    let attempt = use_state(|| 0u32);
    use_effect_with((props.id, *attempt), {
        let (live, problem) = (app.live.clone(), problem.clone());
        move |(id, _): &(Uuid, u32)| {
            let id = *id;
            spawn_local(async move {
                match api::restore(id).await {
                    Ok(job) => {
                        problem.set(None);
                        live.put_job(job);
                    }
                    Err(found) => problem.set(Some(Rc::new(found))),
                }
            });
        }
    });
    let followed = app.live.read().jobs.get(&props.id).cloned();
    let title = followed
        .as_ref()
        .map_or_else(|| t!(nav_jobs).to_owned(), |f| super::title(&f.job));
    use_title(&title);
    let retry = Callback::from(move |()| attempt.set(attempt.wrapping_add(1)));
    match (followed, &*problem) {
        (Some(followed), _) => {
            let job = followed.job.clone();
            html! {
                <>
                    <div class="page-head">
                        <div><h1>{ t!(restore) }</h1><p>{ t!(close_the_tab) }</p></div>
                    </div>
                    <JobCard {followed} full=true>
                        { yew::props!(Facts { job: job.clone() }).view() }
                        <LogTail id={job.id} ended={job.state.is_final()} />
                    </JobCard>
                </>
            }
        }
        (None, Some(problem)) => html! {
            <>
                <h1 class="vh">{ t!(restore) }</h1>
                { yew::props!(ProblemAlert { title: t!(job_not_read), problem: problem.clone(), on_retry: retry }).view() }
                <p><Link<Route> to={Route::HistoryItem { id: props.id }}>{ t!(look_in_history) }</Link<Route>></p>
            </>
        },
        (None, None) => {
            html! { <section class="panel"><h1 class="vh">{ t!(restore) }</h1>{ yew::props!(Skeleton { label: t!(loading), lines: 4 }).view() }</section> }
        }
    }
}

#[derive(Properties, PartialEq)]
struct Facts {
    job: Rc<Job>,
}

impl Facts {
    /// Counters in words.
    fn view(&self) -> Html {
        let job = &self.job;
        let p = &job.progress;
        let running = job.state == JobState::Running;
        let fact =
            |word: &'static str, value: String| html! { <div><dt>{ word }</dt><dd>{ value }</dd></div> };
        let of = |part: u64, whole: u64| t!(n_of, n = format::integer(part), of = format::integer(whole));
        html! {
            <dl class="facts-row" aria-label={t!(figures)}>
                { fact(t!(fact_chunks), of(p.chunks_done, p.chunks_total)) }
                { fact(t!(fact_fetched), of(p.chunks_fetched, p.chunks_distinct)) }
                { fact(t!(fact_read), format::bytes(p.encoded_bytes_read)) }
                { fact(super::written_word(job), format::bytes(p.bytes_written)) }
                { fact(t!(fact_zero), format::bytes(p.zero_bytes)) }
                { fact(t!(fact_reused), format::integer(p.chunks_duplicate)) }
                if p.chunks_refetched > 0 {
                    { fact(t!(fact_refetched), format::integer(p.chunks_refetched)) }
                }
                if running {
                    { fact(t!(fact_in_flight), of(u64::from(p.in_flight), u64::from(job.parallel))) }
                    { fact(t!(fact_memory), format::bytes(p.memory_bytes)) }
                } else {
                    { fact(t!(parallel_fetches), job.parallel.to_string()) }
                }
                if job.simulate_latency_ms > 0 {
                    { fact(t!(simulate_latency), format!("{} ms", job.simulate_latency_ms)) }
                }
            </dl>
        }
    }
}

/// What is shown; drawn by [`Outcome::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct Outcome {
    /// An ended job.
    pub job: Rc<Job>,
}

impl Outcome {
    /// How a job ended: time, rate, digests.
    pub fn view(&self) -> Html {
        let Some(totals) = &self.job.totals else {
            return html! {};
        };
        html! {
            <div class="outcome">
                <p class="soft">
                    { t!(took, time = format::duration_ns(totals.duration_ns), rate = format::rate(totals.rate_bytes_per_s as f64)) }
                    if totals.cpu_ns > 0 {
                        { t!(took_cpu, time = format::duration_ns(totals.cpu_ns)) }
                    }
                </p>
                if let Some(sha256) = &totals.sha256 {
                    <div class="digest">
                        <span class="note">{ "SHA-256" }</span>
                        <code data-testid="job-sha256">{ sha256.clone() }</code>
                        <CopyButton text={sha256.clone()} />
                    </div>
                }
                if let Some(csum) = &totals.index_csum {
                    <div class="digest"><span class="note">{ t!(index_csum) }</span><code>{ csum.clone() }</code></div>
                }
            </div>
        }
    }
}
