//! What ended lately, at the side: one entry a job, short enough to be read in passing.

use std::rc::Rc;

use fleethold_api_types::{Job, JobState};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    clock,
    model::format,
    route::Route,
    t,
    ui::{Word, state::job_look},
};

/// What is shown; drawn by [`Finished::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct Finished {
    /// Ended jobs, newest first.
    pub jobs: Vec<Rc<Job>>,
}

impl Finished {
    /// The panel.
    pub(super) fn view(&self) -> Html {
        html! {
            <aside class="stack" aria-label={t!(finished)}>
                <section class="panel">
                    <div class="panel-head"><h2>{ t!(finished) }{ " " }<small>{ t!(lately) }</small></h2><Link<Route> to={Route::History}>{ t!(all_history) }</Link<Route>></div>
                    <div class="panel-body">
                        <ol class="queue" data-testid="jobs-finished">{ for self.jobs.iter().map(|job| entry(job)) }</ol>
                        if self.jobs.is_empty() {
                            <p class="note">{ t!(none_yet) }</p>
                        }
                    </div>
                </section>
            </aside>
        }
    }
}

fn entry(job: &Job) -> Html {
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
            { yew::props!(Word { look, text: "", title: look.word }).view() }
            <span class="t"><span class="vh">{ look.word }{ ": " }</span><Link<Route> to={Route::Job { id: job.id }} classes="plain">{ super::title(job) }</Link<Route>></span>
            <span class="n">{ format::bytes(job.progress.bytes_total) }</span>
            <small title={job.finished_at.map(clock::both_zones)}>{ where_and_when(job) }</small>
            <small class="clamp" title={note.clone()}>{ note }</small>
        </li>
    }
}

/// `golden, 4 min ago`: what tells a dozen restores of the same disk apart.
pub(super) fn where_and_when(job: &Job) -> String {
    let age = job.finished_at.map(clock::seconds_since).unwrap_or_default();
    t!(ended_ago, store = job.source.store, age = format::age(age))
}
