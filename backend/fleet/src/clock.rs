//! The one place of this crate that reads a clock.

use std::time::Instant;

/// Now, on the monotonic clock.
#[expect(clippy::disallowed_methods, reason = "this is the crate's clock module")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
