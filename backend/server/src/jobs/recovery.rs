//! After a restart: restores that ran in the process before are interrupted, with what they had done, and their
//! unfinished files go. One whose complete file got its name just before the process ended is done.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;

use fleethold_api_types::{Job, JobError, JobState, JobTotals};

use super::rate::per_second;
use super::record::{JobRecord, JobRecords};
use super::table::{ENDED_KEPT, JobTable};
use crate::clock;
use crate::services::targets::Targets;

/// Loads the records into the table and settles those left running. Returns the settled ones. Blocks.
///
/// # Errors
/// When the records cannot be read. One that cannot be written (a full disk) is settled again at the next start.
pub fn recover(records: &JobRecords, targets: &Targets, table: &JobTable) -> std::io::Result<Vec<Job>> {
    if let Err(error) = records.prune() {
        tracing::warn!(%error, "old records of restores stay");
    }
    let mut settled = Vec::new();
    let loaded = records.load()?;
    let shown = loaded.len().saturating_sub(ENDED_KEPT);
    for (at, mut record) in loaded.into_iter().enumerate() {
        let left = !record.job.state.is_final();
        if left {
            settle(&mut record, targets);
            if let Err(error) = records.write(&record, true) {
                tracing::error!(id = %record.job.id, %error, "what became of a restore could not be written down");
            }
            settled.push(record.job.clone());
        }
        if left || at >= shown {
            table.insert(record.job);
        }
    }
    Ok(settled)
}

fn settle(record: &mut JobRecord, targets: &Targets) {
    let complete = has_its_name(record);
    let unfinished = record.unfinished.take();
    let job = &mut record.job;
    job.waits_for = None;
    job.finished_at = Some(clock::now());
    job.progress.in_flight = 0;
    job.progress.eta_ns = None;
    if complete {
        tracing::warn!(id = %job.id, "the restore was complete when the server stopped");
        job.state = JobState::Ok;
        job.progress.bytes_done = job.progress.bytes_total;
        job.totals = Some(totals(job));
        return;
    }
    let done = job.progress;
    let mut message = format!(
        "interrupted: the server stopped while the restore ran; {} of {} bytes were done",
        done.bytes_done, done.bytes_total
    );
    if let Some(path) = unfinished {
        match targets.remove_unfinished(&path) {
            Ok(()) => message
                .push_str("; the unfinished file is removed, nothing of it stands under the final name"),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "an unfinished file stays");
                message.push_str(&format!(
                    "; the unfinished file {} could not be removed",
                    path.display()
                ));
            }
        }
    }
    tracing::warn!(id = %job.id, "{message}");
    job.state = JobState::Interrupted;
    job.error = Some(JobError {
        code: "interrupted".into(),
        message,
        file: None,
        chunk: None,
        position: None,
    });
    job.totals = Some(totals(job));
}

fn totals(job: &Job) -> JobTotals {
    JobTotals {
        duration_ns: job.progress.elapsed_ns,
        rate_bytes_per_s: per_second(job.progress.bytes_done, job.progress.elapsed_ns),
        ..JobTotals::default()
    }
}

/// The tasks of restores that were complete but for their last record.
///
/// # Errors
/// When the records cannot be read.
pub fn complete(records: &JobRecords) -> std::io::Result<HashSet<String>> {
    let left = |record: &JobRecord| !record.job.state.is_final() && has_its_name(record);
    Ok(records
        .load()?
        .into_iter()
        .filter(left)
        .map(|record| record.job.upid)
        .collect())
}

/// Whether the file that the job wrote stands under its final name, which it gets last of all.
fn has_its_name(record: &JobRecord) -> bool {
    let Some((inode, path)) = record.inode.zip(record.job.target.path.as_deref()) else {
        return false;
    };
    std::fs::symlink_metadata(path).is_ok_and(|found| inode == (found.dev(), found.ino()))
}
