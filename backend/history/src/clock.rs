//! The one place of this crate that reads a clock.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the clock module the lint points to"
)]

use std::time::Instant;

use time::OffsetDateTime;

/// The time of day, UTC.
pub(crate) fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// A point on the monotonic clock, for deadlines.
pub(crate) fn instant() -> Instant {
    Instant::now()
}
