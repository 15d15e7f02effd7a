//! The log of a job, followed while it runs.

use std::rc::Rc;

use fleethold_api_types::LogLine;
use gloo::timers::future::TimeoutFuture;
use uuid::Uuid;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, HtmlInputElement};
use yew::prelude::*;

use crate::{
    api, clock,
    model::{format, load::Problem},
    t,
    ui::{ProblemAlert, download, small_glyph, toast::use_toast},
};

/// Props of [`LogTail`].
#[derive(Properties, PartialEq)]
pub(super) struct LogProps {
    /// The job.
    pub id: Uuid,
    /// No more lines will come.
    pub ended: bool,
}

enum Step {
    Lines(Vec<LogLine>),
    Failed(Problem),
}

#[derive(Default, PartialEq)]
struct Log {
    lines: Vec<LogLine>,
    problem: Option<Rc<Problem>>,
}

/// Lines kept in the page; the download has all of them.
const KEEP: usize = 5_000;
const EVERY_MS: u32 = 1_000;

impl Reducible for Log {
    type Action = Step;

    fn reduce(self: Rc<Self>, step: Step) -> Rc<Self> {
        let mut lines = self.lines.clone();
        match step {
            Step::Lines(more) => {
                let last = lines.last().map_or(0, |l| l.n);
                lines.extend(more.into_iter().filter(|l| l.n > last));
                lines.drain(..lines.len().saturating_sub(KEEP));
                Rc::new(Self { lines, problem: None })
            }
            Step::Failed(problem) => Rc::new(Self {
                lines,
                problem: Some(Rc::new(problem)),
            }),
        }
    }
}

/// The well with its tools.
#[component(LogTail)]
pub(super) fn log_tail(props: &LogProps) -> Html {
    let log = use_reducer(Log::default);
    let follow = use_state(|| true);
    let well = use_node_ref();
    let toast = use_toast();
    // the last fetch behind the end of the job still has to come: `ended` starts the loop anew
    use_effect_with((props.id, props.ended), {
        let dispatch = log.dispatcher();
        let after = log.lines.last().map_or(0, |l| l.n);
        move |(id, ended): &(Uuid, bool)| {
            let alive = Rc::new(std::cell::Cell::new(true));
            spawn_local(poll(*id, *ended, after, alive.clone(), dispatch));
            move || alive.set(false)
        }
    });
    use_effect_with((log.lines.len(), *follow), {
        let well = well.clone();
        move |(_, follow): &(usize, bool)| {
            if let Some(well) = well.cast::<Element>().filter(|_| *follow) {
                well.set_scroll_top(well.scroll_height());
            }
        }
    });
    let on_follow = {
        let follow = follow.clone();
        move |event: Event| follow.set(event.target_unchecked_into::<HtmlInputElement>().checked())
    };
    let save = {
        let (log, id) = (log.clone(), props.id);
        move |_: MouseEvent| {
            let text: String = log.lines.iter().flat_map(|l| [l.text.as_str(), "\n"]).collect();
            if let Err(problem) = download::save(&format!("{id}.log"), "text/plain", text.as_bytes()) {
                toast.error(problem.detail);
            }
        }
    };
    html! {
        <section aria-label={t!(log)}>
            <div class="split">
                <h3 title={t!(zone_rule)}>{ t!(log) }</h3>
                <div class="cluster">
                    <label class="check"><input type="checkbox" checked={*follow} onchange={on_follow} /><span>{ t!(follow) }</span></label>
                    <button type="button" class="btn btn-quiet" onclick={save} disabled={log.lines.is_empty()}>{ small_glyph("save") }{ t!(download) }</button>
                </div>
            </div>
            if let Some(problem) = &log.problem {
                { yew::props!(ProblemAlert { title: t!(log_not_read), problem: problem.clone() }).view() }
            }
            <pre class="well log" tabindex="0" ref={well} aria-label={t!(log)} data-testid="job-log">
                { for log.lines.iter().map(|line| html! { <span key={line.n} class={class(&line.text)}>{ shown(&line.text) }</span> }) }
                if log.lines.is_empty() && log.problem.is_none() {
                    <span class="lt">{ t!(no_lines) }</span>
                }
            </pre>
        </section>
    }
}

/// The line with its time on the viewer's clock, like every other time of the job.
fn shown(text: &str) -> String {
    match format::log_stamp(text) {
        Some((at, rest)) => format!("{}: {rest}\n", clock::date_time(at)),
        None => format!("{text}\n"),
    }
}

fn class(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if lower.contains("error") || lower.contains("failed") {
        Some("e")
    } else if lower.contains("warn") || lower.contains("not locked") {
        Some("w")
    } else {
        None
    }
}

async fn poll(
    id: Uuid,
    ended: bool,
    mut after: u64,
    alive: Rc<std::cell::Cell<bool>>,
    dispatch: UseReducerDispatcher<Log>,
) {
    while alive.get() {
        let outcome = api::restore_log(id, after).await;
        if !alive.get() {
            return;
        }
        match outcome {
            Ok(log) => {
                after = log.lines.last().map_or(after, |l| l.n);
                let behind = after < log.total && !log.lines.is_empty();
                dispatch.dispatch(Step::Lines(log.lines));
                if behind {
                    continue;
                }
                if ended {
                    return;
                }
            }
            Err(problem) => {
                dispatch.dispatch(Step::Failed(problem));
                if ended {
                    return;
                }
            }
        }
        TimeoutFuture::new(EVERY_MS).await;
    }
}
