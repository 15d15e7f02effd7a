//! After a restart: restores that ran in the process before are interrupted, with what they had done; their
//! unfinished files go.

use fleethold_api_types::{Job, JobError, JobState, JobTotals};

use super::rate::per_second;
use super::record::{JobRecord, JobRecords};
use super::table::{ENDED_KEPT, JobTable};
use crate::clock;
use crate::services::targets::Targets;

/// Loads the records into the table and settles those left running. Returns the interrupted ones. Blocks.
///
/// # Errors
/// When the records cannot be read or brought up to date.
pub fn recover(records: &JobRecords, targets: &Targets, table: &JobTable) -> std::io::Result<Vec<Job>> {
    let mut interrupted = Vec::new();
    let loaded = records.load()?;
    let shown = loaded.len().saturating_sub(ENDED_KEPT);
    for (at, mut record) in loaded.into_iter().enumerate() {
        if !record.job.state.is_final() {
            settle(&mut record, targets);
            records.write(&record, true)?;
            interrupted.push(record.job.clone());
        }
        if at >= shown || record.job.state == JobState::Interrupted && interrupted.last() == Some(&record.job)
        {
            table.insert(record.job);
        }
    }
    Ok(interrupted)
}

fn settle(record: &mut JobRecord, targets: &Targets) {
    let job = &mut record.job;
    let done = job.progress;
    let mut message = format!(
        "interrupted: the server stopped while the restore ran; {} of {} bytes were done",
        done.bytes_done, done.bytes_total
    );
    if let Some(path) = record.unfinished.take() {
        match targets.remove_unfinished(&path) {
            Ok(()) => {
                message.push_str("; nothing stands under the final name, the unfinished file was removed")
            }
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
    job.waits_for = None;
    job.finished_at = Some(clock::now());
    job.progress.in_flight = 0;
    job.progress.eta_ns = None;
    job.error = Some(JobError {
        code: "interrupted".into(),
        message,
        file: None,
        chunk: None,
        position: None,
    });
    job.totals = Some(JobTotals {
        duration_ns: done.elapsed_ns,
        rate_bytes_per_s: per_second(done.bytes_done, done.elapsed_ns),
        ..JobTotals::default()
    });
}
