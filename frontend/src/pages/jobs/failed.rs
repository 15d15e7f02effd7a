//! Failures of the last hour, a line each: they must not push what runs off the screen. Each can be put away.

use std::{collections::BTreeSet, rc::Rc};

use fleethold_api_types::Job;
use gloo::storage::{SessionStorage, Storage};
use uuid::Uuid;
use yew::prelude::*;
use yew_router::prelude::*;

use super::finished::where_and_when;
use crate::{
    clock,
    route::Route,
    t,
    ui::{Word, small_glyph, state::job_look},
};

const DISMISSED: &str = "fleethold.dismissed";

/// Failures that were put away in this tab.
pub(super) fn dismissed() -> BTreeSet<Uuid> {
    SessionStorage::get(DISMISSED).unwrap_or_default()
}

/// Remembers them as long as the tab is open.
pub(super) fn keep_dismissed(ids: &BTreeSet<Uuid>) {
    if SessionStorage::set(DISMISSED, ids).is_err() {
        gloo::console::warn!("the browser keeps nothing: dismissed failures come back with a reload");
    }
}

/// What is shown; drawn by [`Failed::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct Failed {
    /// Failed or interrupted jobs, newest first.
    pub jobs: Vec<Rc<Job>>,
    /// Puts one away.
    pub on_dismiss: Callback<Uuid>,
}

impl Failed {
    /// The panel; nothing when there is none.
    pub(super) fn view(&self) -> Html {
        if self.jobs.is_empty() {
            return html! {};
        }
        html! {
            <section class="panel" aria-labelledby="failed-h" data-testid="jobs-failed">
                <div class="panel-head"><h2 id="failed-h">{ t!(failed_lately) }</h2></div>
                <ul class="failed-list">{ for self.jobs.iter().map(|job| line(job, &self.on_dismiss)) }</ul>
            </section>
        }
    }
}

fn line(job: &Job, on_dismiss: &Callback<Uuid>) -> Html {
    let name = super::title(job);
    let look = job_look(job.state);
    let (cause, detail) = match &job.error {
        Some(error) => (super::failure::cause(&error.code), error.message.clone()),
        None => (look.word, String::new()),
    };
    let dismiss = on_dismiss.reform({
        let id = job.id;
        move |_: MouseEvent| id
    });
    html! {
        <li key={job.id.to_string()} data-job={job.id.to_string()}>
            { yew::props!(Word { look, text: "", title: look.word }).view() }
            <span class="t"><span class="vh">{ look.word }{ ": " }</span><Link<Route> to={Route::Job { id: job.id }} classes="plain">{ name.clone() }</Link<Route>></span>
            <span class="why" title={detail}>{ cause }</span>
            <span class="n" title={job.finished_at.map(clock::both_zones)}>{ where_and_when(job) }</span>
            <button type="button" class="btn btn-quiet btn-icon" aria-label={t!(dismiss_named, what = name)} title={t!(dismiss)} onclick={dismiss} data-testid="job-dismiss">{ small_glyph("x") }</button>
        </li>
    }
}
