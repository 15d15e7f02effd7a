//! Jobs: what failed, what runs, what waits, what ended lately; and one job alone.

mod card;
mod confirm;
mod failed;
mod failure;
mod finished;
mod log;
mod overview;
mod progress;
mod single;

pub use card::{JobCard, POINTS, job_lines};
pub use failure::Failure;
pub use overview::JobsPage;
pub use single::{JobPage, Outcome};

use fleethold_api_types::{Job, TargetKind};

use crate::t;

/// `vm/100 drive-scsi0.img`: what a person calls a job.
pub fn title(job: &Job) -> String {
    let group = crate::model::tree::group_of(&job.source.snapshot).unwrap_or(&job.source.snapshot);
    let archive = &job.source.archive;
    let stem = archive
        .strip_suffix(".fidx")
        .or_else(|| archive.strip_suffix(".didx"))
        .unwrap_or(archive);
    format!("{group} {stem}")
}

/// What became of the bytes: those for nowhere were checked, not written.
pub fn written_word(job: &Job) -> &'static str {
    match job.target.kind {
        TargetKind::Null => t!(fact_checked),
        TargetKind::File | TargetKind::Device => t!(fact_written),
    }
}

/// Where the bytes go, in words.
pub fn target(job: &Job) -> String {
    match (job.target.kind, &job.target.path) {
        (TargetKind::Null, _) => t!(target_null).to_owned(),
        (_, Some(path)) => path.clone(),
        (_, None) => String::new(),
    }
}
