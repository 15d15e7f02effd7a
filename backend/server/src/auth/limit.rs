//! Failed log-ins are slow and few.
//!
//! * By user *and* address: after [`USER_FAILURES`] the pair is refused for a minute, even with the right password. The
//!   same user at another address is not.
//! * By address alone: after [`ADDRESS_FAILURES`] each further attempt from there waits before it is looked at. Nobody
//!   is refused for what others did.
//! * [`Places`] bounds the attempts of one address that are under way, so that a flood from one address leaves room for
//!   all others. Users behind the flooding address itself (a shared proxy) may be told to try again while it lasts.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::sync::Cache;
use parking_lot::Mutex;

/// Failures of one user from one address inside [`WINDOW`] before further attempts are refused unread.
const USER_FAILURES: u64 = 10;
/// Failures of one address inside [`WINDOW`], whatever the user, before further attempts from there are slowed.
const ADDRESS_FAILURES: u64 = 50;
/// How long failures count after the first one.
pub const WINDOW: Duration = Duration::from_secs(60);
/// How many users and addresses are remembered; the oldest are forgotten.
const REMEMBERED: u64 = 10_000;
/// How late a failed log-in is answered (API.md §1: about three seconds), and how long a slowed one waits.
pub const FAILURE_DELAY: Duration = Duration::from_secs(3);

/// Who is counted together: an IPv4 address, or an IPv6 network of 64 bits, of which one host has all addresses.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub(super) struct Origin(Option<IpAddr>);

impl From<Option<IpAddr>> for Origin {
    fn from(address: Option<IpAddr>) -> Self {
        // A listener on [::] sees IPv4 clients as ::ffff:a.b.c.d: those are not one network.
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            v4 => v4,
        }))
    }
}

/// Counts failed log-ins.
pub(super) struct LoginLimiter {
    failures: Cache<(String, Origin), Arc<AtomicU64>>,
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
    /// Whether another attempt of `user` from there may be looked at now.
    pub(super) fn allows(&self, user: &str, origin: Origin) -> bool {
        self.count(&user_key(user, origin)) < USER_FAILURES
    }

    /// How long an attempt from there has to wait before it is looked at.
    pub(super) fn delay(&self, origin: Origin) -> Option<Duration> {
        (self.count(&origin_key(origin)) >= ADDRESS_FAILURES).then_some(FAILURE_DELAY)
    }

    /// Notes a failed attempt.
    pub(super) fn failed(&self, user: &str, origin: Origin) {
        for key in [user_key(user, origin), origin_key(origin)] {
            self.failures
                .get_with(key, Arc::default)
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Forgets the failures of `user` from there after the right password.
    pub(super) fn succeeded(&self, user: &str, origin: Origin) {
        self.failures.invalidate(&user_key(user, origin));
    }

    fn count(&self, key: &(String, Origin)) -> u64 {
        self.failures
            .get(key)
            .map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

fn user_key(user: &str, origin: Origin) -> (String, Origin) {
    // A user id has at most 64 characters; a longer one would only waste memory here.
    (user.chars().take(64).collect(), origin)
}

/// No user has an empty name.
fn origin_key(origin: Origin) -> (String, Origin) {
    (String::new(), origin)
}

/// So many at once, and so many from one origin.
pub(super) struct Places {
    all: usize,
    of_one: usize,
    taken: Mutex<HashMap<Origin, usize>>,
}

/// A place that is taken, until dropped.
pub(super) struct Place {
    places: Arc<Places>,
    origin: Origin,
}

impl Places {
    pub(super) fn new(all: usize, of_one: usize) -> Arc<Self> {
        Arc::new(Self {
            all,
            of_one,
            taken: Mutex::default(),
        })
    }

    /// Places that are taken.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.taken.lock().values().sum()
    }

    /// A place, when there is one left.
    pub(super) fn take(self: &Arc<Self>, origin: Origin) -> Option<Place> {
        let mut taken = self.taken.lock();
        if taken.values().sum::<usize>() >= self.all
            || taken.get(&origin).is_some_and(|own| *own >= self.of_one)
        {
            return None;
        }
        *taken.entry(origin).or_default() += 1;
        Some(Place {
            places: Arc::clone(self),
            origin,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        if let Some(own) = taken.get_mut(&self.origin) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(address: &str) -> Origin {
        Some(address.parse().unwrap()).into()
    }

    #[test]
    fn a_user_is_stopped_at_one_address_only() {
        let limiter = LoginLimiter::default();
        let (here, there) = (origin("10.0.0.1"), origin("10.0.0.2"));
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
    fn an_address_that_tries_every_user_is_slowed_and_nobody_refused() {
        let limiter = LoginLimiter::default();
        let here = origin("10.0.0.1");
        for n in 0..ADDRESS_FAILURES {
            assert_eq!(limiter.delay(here), None);
            limiter.failed(&format!("user{n}@pbs"), here);
        }
        assert_eq!(limiter.delay(here), Some(FAILURE_DELAY));
        assert!(limiter.allows("someone@pbs", here));
        assert_eq!(limiter.delay(origin("10.0.0.2")), None);
    }

    #[test]
    fn a_host_is_one_origin_whatever_its_address() {
        assert_eq!(origin("2001:db8:1:2::1"), origin("2001:db8:1:2:ffff::9"));
        assert_ne!(origin("2001:db8:1:2::1"), origin("2001:db8:1:3::1"));
        assert_eq!(origin("::ffff:10.0.0.1"), origin("10.0.0.1"));
        assert_ne!(origin("::ffff:10.0.0.1"), origin("::ffff:10.0.0.2"));
    }

    #[test]
    fn one_origin_leaves_places_for_the_others() {
        let places = Places::new(5, 3);
        let (here, there) = (origin("10.0.0.1"), origin("10.0.0.2"));
        let held: Vec<Place> = std::iter::from_fn(|| places.take(here)).collect();
        assert_eq!(held.len(), 3);
        let others: Vec<Place> = std::iter::from_fn(|| places.take(there)).collect();
        assert_eq!(others.len(), 2, "five in all");
        drop(held);
        assert!(places.take(there).is_some());
    }
}
