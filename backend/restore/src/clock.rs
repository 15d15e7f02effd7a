//! The clocks of this crate: monotonic time, and the CPU time of the calling thread.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The monotonic time now.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the crate's one place that reads the clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Whole nanoseconds since `start`.
pub(crate) fn elapsed_ns(start: Instant) -> u64 {
    duration_ns(now().saturating_duration_since(start))
}

/// A duration as nanoseconds; 584 years and more stay at the largest number.
pub(crate) fn duration_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time this thread has used so far, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
