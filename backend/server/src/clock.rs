//! The one place where the server reads a clock.
#![expect(clippy::disallowed_methods, reason = "this module is where clocks are read")]

use std::time::Instant;
use time::OffsetDateTime;

/// Wall clock, UTC.
#[must_use]
pub fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// Wall clock in whole seconds since 1970, as PBS writes times.
#[must_use]
pub fn epoch() -> i64 {
    now().unix_timestamp()
}

/// Monotonic clock, for durations.
#[must_use]
pub fn monotonic() -> Instant {
    Instant::now()
}
