//! The one place where this crate reads a clock.

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

/// Since `start`.
pub(crate) fn since(start: Instant) -> Duration {
    now().saturating_duration_since(start)
}

/// CPU time this process has used so far, user and system, of all its threads.
pub(crate) fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
