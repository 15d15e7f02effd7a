//! Rate and remaining time of a job from its counters.

use std::collections::VecDeque;

/// The rate is taken over this span: long enough not to flicker, short enough to follow a slower disk.
const WINDOW_NS: u64 = 5_000_000_000;
/// Samples remembered; at four a second more than the window needs.
const MAX_SAMPLES: usize = 64;

/// Settled bytes over the last seconds.
#[derive(Debug, Default)]
pub struct RateMeter {
    points: VecDeque<(u64, u64)>,
}

impl RateMeter {
    /// Notes `bytes_done` at `t_ns` since the start and returns bytes a second.
    pub fn push(&mut self, t_ns: u64, bytes_done: u64) -> u64 {
        self.points.push_back((t_ns, bytes_done));
        while self.points.len() > 2
            && self
                .points
                .get(1)
                .is_some_and(|(t, _)| t_ns.saturating_sub(*t) >= WINDOW_NS)
            || self.points.len() > MAX_SAMPLES
        {
            self.points.pop_front();
        }
        let Some(&(t0, b0)) = self.points.front() else {
            return 0;
        };
        per_second(bytes_done.saturating_sub(b0), t_ns.saturating_sub(t0))
    }
}

/// `bytes` in `ns`, as bytes a second; 0 for no time.
#[must_use]
pub fn per_second(bytes: u64, ns: u64) -> u64 {
    if ns == 0 {
        return 0;
    }
    u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(ns)).unwrap_or(u64::MAX)
}

/// Time that `bytes` take at `rate`; `None` without a rate.
#[must_use]
pub fn eta_ns(bytes: u64, rate: u64) -> Option<u64> {
    (rate > 0)
        .then(|| u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_the_last_seconds() {
        let mut meter = RateMeter::default();
        let (mut t, mut bytes, mut rate) = (0, 0, 0);
        for _ in 0..40 {
            rate = meter.push(t, bytes);
            t += 250_000_000;
            bytes += 250;
        }
        assert_eq!(rate, 1000);
        for _ in 0..40 {
            rate = meter.push(t, bytes);
            t += 250_000_000;
            bytes += 25;
        }
        assert_eq!(rate, 100);
        assert_eq!(eta_ns(1000, 100), Some(10_000_000_000));
        assert_eq!(eta_ns(1000, 0), None);
        assert_eq!(per_second(u64::MAX, 1), u64::MAX);
    }
}
