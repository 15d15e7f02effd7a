//! Handing bytes to the reader of a stream: as long as it reads, or is in nobody's way.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::{Instant, sleep};

use crate::budget::{BETWEEN_EVICTIONS, JobShare, READER_PATIENCE};
use crate::error::Failure;
use crate::sink::{StreamSink, TargetError};

/// Runs the job of a stream until it is done, or its idle reader has to make room for others (see
/// [`crate::budget`]). `stuck` says that the job can do nothing before the reader gives memory back.
pub(crate) async fn while_read<T>(
    work: impl Future<Output = Result<T, Failure>>,
    stream: &StreamSink,
    share: &JobShare,
    stuck: &AtomicBool,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = work => done,
        () = outwaited(stream, share, stuck) => Err(TargetError::ReaderIdle {
            seconds: READER_PATIENCE.as_secs(),
        }
        .into()),
    }
}

/// Resolves when the reader, who could have taken something, has taken nothing for too long while others waited.
async fn outwaited(stream: &StreamSink, share: &JobShare, stuck: &AtomicBool) {
    let mut taken = stream.taken();
    let mut idle_since = Instant::now();
    loop {
        sleep(BETWEEN_EVICTIONS).await;
        let now_taken = stream.taken();
        let its_turn = stream.queued() || (stuck.load(Ordering::Acquire) && share.waits_for_its_reader());
        if now_taken != taken || !its_turn {
            taken = now_taken;
            idle_since = Instant::now();
        } else if share.must_go(idle_since) {
            return;
        }
    }
}
