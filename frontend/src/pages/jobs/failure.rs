//! A failed job: the cause, what is safe, what to do.

use fleethold_api_types::{Job, JobState};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    model::format,
    route::Route,
    t,
    ui::{CopyButton, glyph},
};

/// What is shown; drawn by [`Failure::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct Failure {
    /// The job.
    pub job: std::rc::Rc<Job>,
}

impl Failure {
    /// The message; nothing for a job that did not fail.
    pub fn view(&self) -> Html {
        let job = &self.job;
        if job.state == JobState::Interrupted {
            return html! {
                <div class="alert" data-state="warning" role="alert">
                    { glyph("warn") }
                    <p class="alert-h">{ t!(job_interrupted) }</p>
                    <p>{ t!(interrupted_text, done = format::bytes(job.progress.bytes_done)) }</p>
                </div>
            };
        }
        let Some(error) = &job.error else { return html! {} };
        html! {
            <div class="alert" role="alert" data-testid="job-error" data-code={error.code.clone()}>
                { glyph("error") }
                <p class="alert-h">{ cause(&error.code) }</p>
                <p>{ error.message.clone() }</p>
                if error.chunk.is_some() || error.position.is_some() {
                    <p>
                        if let Some(chunk) = &error.chunk {
                            { t!(chunk) }{ " " }<span class="mono" title={chunk.clone()}>{ format::short_digest(chunk) }</span>
                        }
                        if let Some(position) = error.position {
                            { t!(chunk_number, n = format::integer(position), file = error.file.as_deref().unwrap_or(&job.source.archive)) }
                        }
                    </p>
                }
                <p>{ t!(nothing_wrong_written) }</p>
                <div class="cluster">
                    <Link<Route> to={Route::Store { name: job.source.store.clone() }}>{ t!(other_snapshot) }</Link<Route>>
                    <CopyButton text={details(job)} label={t!(copy_details)} />
                </div>
            </div>
        }
    }
}

/// A heading for the codes a person meets; the sentence below says the rest.
pub(super) fn cause(code: &str) -> &'static str {
    match code {
        c if c.contains("digest") => t!(cause_digest),
        c if c.contains("not-found") || c.contains("missing") => t!(cause_missing),
        c if c.contains("crc") => t!(cause_crc),
        c if c.contains("key") || c.contains("crypt") || c.contains("signature") => t!(cause_key),
        c if c.contains("space") || c.contains("full") => t!(cause_full),
        c if c.contains("exists") => t!(cause_exists),
        _ => t!(cause_other),
    }
}

fn details(job: &Job) -> String {
    let source = &job.source;
    let error = job.error.as_ref();
    format!(
        "job {}\nupid {}\nstore {}\nns {}\nsnapshot {}\narchive {}\ncode {}\nmessage {}\nchunk {}\nposition {}\n",
        job.id,
        job.upid,
        source.store,
        source.ns,
        source.snapshot,
        source.archive,
        error.map_or("", |e| &e.code),
        error.map_or("", |e| &e.message),
        error.and_then(|e| e.chunk.as_deref()).unwrap_or(""),
        error
            .and_then(|e| e.position)
            .map(|p| p.to_string())
            .unwrap_or_default(),
    )
}
