//! Progress of a job: the bar is bytes, the ruler below it is time. The end is a band, never a bare time.

use fleethold_api_types::{Job, JobState};
use time::Duration;
use yew::prelude::*;

use crate::{
    clock,
    model::{
        eta::{self, Eta},
        format::{self, MIB},
        track::Track,
    },
    t,
    ui::Bar,
};

/// Props of [`Progress`].
#[derive(Properties, PartialEq)]
pub(super) struct ProgressProps {
    /// The job.
    pub job: std::rc::Rc<Job>,
    /// Its rates.
    pub track: Track,
    /// Name for screen readers.
    pub label: String,
}

/// Bar, figures, ruler.
#[component(Progress)]
pub(super) fn progress(props: &ProgressProps) -> Html {
    let p = &props.job.progress;
    let running = props.job.state == JobState::Running;
    let ratio = if props.job.state == JobState::Ok {
        1.0
    } else {
        format::ratio(p.bytes_done, p.bytes_total)
    };
    let elapsed_s = p.elapsed_ns as f64 / 1e9;
    let left = p.bytes_total.saturating_sub(p.bytes_done) as f64 / MIB;
    let eta = running
        .then(|| eta::estimate(&props.track.restored, p.bytes_done as f64 / MIB, elapsed_s, left))
        .flatten();
    let rate = if props.track.restored.is_empty() {
        p.rate_bytes_per_s as f64
    } else {
        props.track.rate() * MIB
    };
    let done = t!(
        done_of,
        done = format::bytes(p.bytes_done),
        total = format::bytes(p.bytes_total)
    );
    let zeros = (p.zero_bytes > 0).then(|| t!(of_it_zeros, zeros = format::bytes(p.zero_bytes)));
    let level = match props.job.state {
        JobState::Running => Some("live"),
        JobState::Failed => Some("error"),
        JobState::Interrupted => Some("warning"),
        JobState::Queued | JobState::Ok | JobState::Cancelled => None,
    };
    html! {
        <div class="progress">
            <div class="progress-line">
                <span class="pct">{ format::percent(ratio) }</span>
                <span class="soft">{ done }{ zeros }</span>
                if running {
                    <span class="soft" data-testid="job-rate">{ format::rate(rate) }</span>
                }
                if running {
                    <span class="eta">{ eta_words(eta, p.eta_ns) }</span>
                }
            </div>
            { yew::props!(Bar { ratio, level, progress: props.label.clone(), value_text: format!("{}, {}", format::percent(ratio), eta_text(eta)) }).view() }
            if let Some(eta) = eta {
                { ruler(&props.job, elapsed_s, eta) }
            }
        </div>
    }
}

fn at(seconds: f64) -> String {
    let then = clock::now() + Duration::seconds_f64(seconds.clamp(0.0, 3.2e8));
    // seconds matter to someone who waits for them
    if seconds < 600.0 {
        clock::time(then)
    } else {
        clock::time_short(then)
    }
}

fn eta_text(eta: Option<Eta>) -> String {
    eta.map_or_else(
        || t!(eta_unknown).to_owned(),
        |eta| t!(eta_about, at = at(eta.middle_s)),
    )
}

fn eta_words(eta: Option<Eta>, server_ns: Option<u64>) -> Html {
    match (eta, server_ns) {
        (Some(eta), _) => {
            let (early, late) = (at(eta.early_s), at(eta.late_s));
            let middle = at(eta.middle_s);
            html! { <>{ t!(eta_done) }{ " " }<b>{ middle }</b><span class="only-wide">{ t!(eta_between, early = early, late = late) }</span></> }
        }
        (None, Some(ns)) => html! { { t!(eta_about, at = at(ns as f64 / 1e9)) } },
        (None, None) => html! { <span class="soft">{ t!(eta_unknown) }</span> },
    }
}

fn ruler(job: &Job, elapsed_s: f64, eta: Eta) -> Html {
    let whole = (elapsed_s + eta.late_s).max(1.0) * 1.02;
    let share = |s: f64| (s / whole * 100.0).clamp(0.0, 100.0);
    let pos = |s: f64| format!("{:.2}%", share(s));
    let (now, early, middle, late) = (
        elapsed_s,
        elapsed_s + eta.early_s,
        elapsed_s + eta.middle_s,
        elapsed_s + eta.late_s,
    );
    let started = job.started_at.map(clock::time_short).unwrap_or_default();
    let width = format!("{:.2}%", (share(late) - share(early)).max(0.5));
    let label = t!(ruler_label, start = started, end = at(eta.middle_s));
    // labels that would touch are left out: the text above says the same
    let show_now = share(now) > 12.0 && share(middle) - share(now) > 12.0;
    html! {
        <svg class="ruler" role="img" aria-label={label}>
            <line class="past" x1="0" x2={pos(now)} y1="7" y2="7" />
            <line class="next" x1={pos(now)} x2="100%" y1="7" y2="7" />
            <circle cx={pos(now)} cy="7" r="3" fill="var(--ink-2)" />
            <rect class="band" x={pos(early)} {width} y="2" height="10" rx="3" />
            <line class="mid" x1={pos(middle)} x2={pos(middle)} y1="1" y2="13" />
            <text x="0" y="25">{ started }</text>
            if show_now {
                <text x={pos(now)} y="25" text-anchor="middle">{ t!(now_lower) }</text>
            }
            if share(middle) > 12.0 {
                <text class="eta-t" x={pos(middle)} y="25" text-anchor={if share(middle) > 92.0 { "end" } else { "middle" }}>{ at(eta.middle_s) }</text>
            }
        </svg>
    }
}
