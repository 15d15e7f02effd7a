//! One job in a panel: who, where to, how far, how fast.

use std::rc::Rc;

use fleethold_api_types::{Job, JobState, TargetKind};
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;
use yew_router::prelude::*;

use super::{Failure, confirm::CancelButton, progress::Progress, single::Outcome};
use crate::{
    api,
    app::use_app,
    chart::{Chart, Line},
    clock,
    live::Followed,
    model::track::Track,
    route::Route,
    t,
    ui::JobBadge,
};

/// Points below which a chart is no line.
pub const POINTS: usize = 2;
/// An ended job that ran for less may have left no two points.
const TOO_SHORT_NS: u64 = 1_500_000_000;

/// The lines of a job's chart. What is restored to nowhere is checked, not written.
pub fn job_lines(track: &Track, kind: TargetKind) -> Vec<Line> {
    let written = match kind {
        TargetKind::Null => t!(line_checked),
        TargetKind::File | TargetKind::Device => t!(line_written),
    };
    let mut restored = Line::new(t!(line_restored), track.restored.clone(), 0);
    restored.filled = true;
    let mut lines = vec![
        restored,
        Line::new(t!(line_read), track.read.clone(), 1),
        Line::new(written, track.written.clone(), 2),
    ];
    for line in &mut lines {
        line.gap_s = track.gap_s;
    }
    lines
}

/// Props of [`JobCard`].
#[derive(Properties, PartialEq)]
pub struct CardProps {
    /// The job and its rates.
    pub followed: Followed,
    /// With everything: on its own page.
    #[prop_or_default]
    pub full: bool,
    /// Below the head, on its own page.
    #[prop_or_default]
    pub children: Html,
}

/// The panel.
#[component(JobCard)]
pub fn job_card(props: &CardProps) -> Html {
    let job = &props.followed.job;
    let name = super::title(job);
    let heading = format!("job-{}", job.id);
    use_backfill(job);
    let points = props.followed.track.restored.len();
    let chart = job.state == JobState::Running || points >= POINTS;
    // of a longer job the samples are only not here yet
    let too_short = job.state.is_final() && !chart && job.progress.elapsed_ns < TOO_SHORT_NS;
    html! {
        <article class="panel" aria-labelledby={heading.clone()} data-testid="job-card" data-job={job.id.to_string()}>
            <header class="job-head">
                <div>
                    <h2 id={heading}>
                        if props.full {
                            { name.clone() }
                        } else {
                            <Link<Route> to={Route::Job { id: job.id }} classes="plain">{ name.clone() }</Link<Route>>
                        }
                        { yew::props!(JobBadge { state: job.state }).view() }
                    </h2>
                    <p>{ from_to(job) }</p>
                </div>
                if !job.state.is_final() {
                    <div class="cluster"><CancelButton job={job.clone()} /></div>
                }
            </header>
            <div class="job-body">
                { yew::props!(Failure { job: job.clone() }).view() }
                if let Some(why) = job.waits_for.as_ref().filter(|_| job.state == JobState::Queued) {
                    <p class="soft">{ t!(waits, why = why) }</p>
                }
                if job.state != JobState::Queued {
                    <Progress job={job.clone()} track={props.followed.track.clone()} label={t!(restore_of, what = name)} />
                }
                if job.state.is_final() {
                    { yew::props!(Outcome { job: job.clone() }).view() }
                }
                if chart {
                    <Chart lines={job_lines(&props.followed.track, job.target.kind)} label={t!(chart_label, what = name)} size={if props.full { "tall" } else { "low" }} full={props.full} testid="job-chart" />
                } else if too_short {
                    <p class="note" data-testid="no-chart">{ t!(no_samples_kept) }</p>
                }
                { props.children.clone() }
            </div>
        </article>
    }
}

fn from_to(job: &Job) -> Html {
    let snapshot = &job.source.snapshot;
    let when = job.started_at.unwrap_or(job.created_at);
    html! {
        <>
            <Link<Route> to={Route::Store { name: job.source.store.clone() }}>{ job.source.store.clone() }</Link<Route>>
            { ", " }{ t!(snapshot_of, snapshot = snapshot) }{ ", " }{ t!(to) }{ " " }<span class="mono">{ super::target(job) }</span>
            { ", " }<span title={clock::both_zones(when)} data-testid="job-started">{ t!(started_at, at = clock::date_time(when), user = job.user) }</span>
        </>
    }
}

/// Fetches, once, what the chart missed before the page was opened.
#[hook]
fn use_backfill(job: &Rc<Job>) {
    let app = use_app();
    use_effect_with((job.id, job.state == JobState::Queued), {
        // a job that has just begun is in the feed from its first sample
        let begun = job.state == JobState::Running && job.progress.elapsed_ns < 1_500_000_000;
        move |(id, queued): &(uuid::Uuid, bool)| {
            let (id, live) = (*id, app.live);
            let known = live
                .read()
                .jobs
                .get(&id)
                .is_some_and(|f| !f.track.restored.is_empty());
            if *queued || known || begun {
                return;
            }
            spawn_local(async move {
                match api::restore_samples(id).await {
                    Ok(kept) => live.backfill(id, &kept.samples),
                    Err(problem) => gloo::console::warn!(format!("samples of {id}: {}", problem.detail)),
                }
            });
        }
    });
}
