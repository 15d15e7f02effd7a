//! Failed log-ins are slow and few: each one is answered late, and who fails too often waits.
//!
//! Counted by user *and* address together, so that a stranger cannot lock an administrator out, and by address alone
//! with a larger allowance, so that one address cannot try every user.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::sync::Cache;
use std::sync::Arc;

/// Failures of one user from one address inside [`WINDOW`] before further attempts are refused unread.
const USER_FAILURES: u64 = 10;
/// Failures of one address inside [`WINDOW`], whatever the user.
const ADDRESS_FAILURES: u64 = 50;
/// How long failures count after the first one.
pub const WINDOW: Duration = Duration::from_secs(60);
/// How many users and addresses are remembered; the oldest are forgotten.
const REMEMBERED: u64 = 10_000;
/// How late a failed log-in is answered (API.md §1: about three seconds).
pub const FAILURE_DELAY: Duration = Duration::from_secs(3);

/// Counts failed log-ins.
pub struct LoginLimiter {
    failures: Cache<String, Arc<AtomicU64>>,
}

impl Default for LoginLimiter {
    fn default() -> Self {
        Self {
            failures: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(WINDOW)
                .build(),
        }
    }
}

impl LoginLimiter {
    /// Whether another attempt may be looked at now.
    #[must_use]
    pub fn allows(&self, user: &str, address: Option<IpAddr>) -> bool {
        self.count(&user_key(user, address)) < USER_FAILURES
            && self.count(&address_key(address)) < ADDRESS_FAILURES
    }

    /// Notes a failed attempt.
    pub fn failed(&self, user: &str, address: Option<IpAddr>) {
        for key in [user_key(user, address), address_key(address)] {
            self.failures
                .get_with(key, Arc::default)
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Forgets the failures of `user` from `address` after the right password.
    pub fn succeeded(&self, user: &str, address: Option<IpAddr>) {
        self.failures.invalidate(&user_key(user, address));
    }

    fn count(&self, key: &str) -> u64 {
        self.failures
            .get(key)
            .map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

fn user_key(user: &str, address: Option<IpAddr>) -> String {
    // A user id has at most 64 characters; a longer one would only waste memory here.
    let user: String = user.chars().take(64).collect();
    format!("{user} {}", address_key(address))
}

fn address_key(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "unknown".into(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_stopped_at_one_address_only() {
        let limiter = LoginLimiter::default();
        let (here, there) = ("10.0.0.1".parse().ok(), "10.0.0.2".parse().ok());
        for _ in 0..USER_FAILURES {
            assert!(limiter.allows("admin@pbs", here));
            limiter.failed("admin@pbs", here);
        }
        assert!(!limiter.allows("admin@pbs", here));
        assert!(limiter.allows("admin@pbs", there));
        assert!(limiter.allows("guest@pbs", here));
        limiter.succeeded("admin@pbs", here);
        assert!(limiter.allows("admin@pbs", here));
    }

    #[test]
    fn an_address_cannot_try_every_user() {
        let limiter = LoginLimiter::default();
        let here = "10.0.0.1".parse().ok();
        for n in 0..ADDRESS_FAILURES {
            limiter.failed(&format!("user{n}@pbs"), here);
        }
        assert!(!limiter.allows("someone@pbs", here));
    }
}
