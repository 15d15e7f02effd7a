//! Makes a source as slow as some storage: to try restores from disks and networks one does not have.
//!
//! ```text
//! fetch ──▶ latency ──▶ wait for a spindle ──▶ seek ──▶ inner fetch ──▶ its transfer ──▶ share of the bandwidth ──▶ done
//!           (all at once)    └────────────────────────── held by this fetch ──────────────────────┘
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fleethold_format::digest::ChunkDigest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until};

use crate::source::{ChunkSource, SourceError, SourceErrorKind};

/// How slow. The default is not slow at all.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq)]
pub struct ThrottleProfile {
    /// Added to every fetch, whatever else runs: a network.
    pub latency: Duration,
    /// Encoded bytes per second of all fetches together; `None` for no limit.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// Fetches served at a time, like the spindles of an array; `None` for no limit.
    pub queue_depth: Option<usize>,
    /// Time for which a fetch occupies its spindle before the first byte.
    pub seek: Duration,
    /// Encoded bytes per second of one spindle, which is occupied for that long; `None` for no limit.
    pub spindle_bytes_per_s: Option<u64>,
}

/// A slower form of another source.
pub struct ThrottledSource {
    inner: Arc<dyn ChunkSource>,
    profile: ThrottleProfile,
    spindles: Option<Semaphore>,
    /// When the line is free again.
    line_free: Mutex<Option<Instant>>,
    waiting: AtomicU64,
}

impl ThrottledSource {
    /// Slows `inner` down. A queue depth of 0 counts as 1.
    pub fn new(inner: Arc<dyn ChunkSource>, profile: ThrottleProfile) -> Self {
        let spindles = profile
            .queue_depth
            .map(|depth| Semaphore::new(depth.clamp(1, Semaphore::MAX_PERMITS)));
        Self {
            inner,
            profile,
            spindles,
            line_free: Mutex::new(None),
            waiting: AtomicU64::new(0),
        }
    }

    /// Adds `latency` to every fetch of `inner`.
    pub fn with_latency(inner: Arc<dyn ChunkSource>, latency: Duration) -> Self {
        Self::new(
            inner,
            ThrottleProfile {
                latency,
                ..ThrottleProfile::default()
            },
        )
    }

    /// Fetches waiting for a spindle at this moment. Their number is the caller's: nothing is queued here.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// When `bytes` more will have passed the line.
    fn reserve_line(&self, bytes: usize) -> Option<Instant> {
        let per_second = self.profile.bandwidth_bytes_per_s?;
        let took = transfer(bytes, per_second);
        let now = Instant::now();
        let mut line_free = self.line_free.lock();
        let start = line_free.map_or(now, |free| free.max(now));
        // Beyond what the clock can hold: never.
        let free = start.checked_add(took).unwrap_or(start);
        *line_free = Some(free);
        Some(free)
    }
}

/// How long `bytes` take.
fn transfer(bytes: usize, per_second: u64) -> Duration {
    let ns = (bytes as u128 * 1_000_000_000).div_ceil(u128::from(per_second.max(1)));
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// One fetch waiting for a spindle, also counted down when it is given up.
struct Waiting<'s>(&'s AtomicU64);

impl<'s> Waiting<'s> {
    fn new(counter: &'s AtomicU64) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ChunkSource for ThrottledSource {
    fn fetch(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> BoxFuture<'_, Result<Vec<u8>, SourceError>> {
        async move {
            if !self.profile.latency.is_zero() {
                sleep(self.profile.latency).await;
            }
            let _spindle = match &self.spindles {
                None => None,
                Some(spindles) => {
                    let waiting = Waiting::new(&self.waiting);
                    let acquired = spindles.acquire().await;
                    drop(waiting);
                    Some(acquired.map_err(|_| SourceError::new(SourceErrorKind::Stopped, digest))?)
                }
            };
            if !self.profile.seek.is_zero() {
                sleep(self.profile.seek).await;
            }
            let encoded = self.inner.fetch(digest, max_encoded, buf).await?;
            if let Some(per_second) = self.profile.spindle_bytes_per_s {
                sleep(transfer(encoded.len(), per_second)).await;
            }
            if let Some(free) = self.reserve_line(encoded.len()) {
                sleep_until(free).await;
            }
            Ok(encoded)
        }
        .boxed()
    }

    fn describe(&self) -> String {
        let ThrottleProfile {
            latency,
            bandwidth_bytes_per_s,
            queue_depth,
            seek,
            spindle_bytes_per_s,
        } = self.profile;
        let mut text = self.inner.describe();
        if !latency.is_zero() {
            text.push_str(&format!(", latency {latency:?}"));
        }
        if let Some(bandwidth) = bandwidth_bytes_per_s {
            text.push_str(&format!(", {bandwidth} B/s"));
        }
        if let Some(depth) = queue_depth {
            text.push_str(&format!(", {depth} at a time"));
        }
        if !seek.is_zero() {
            text.push_str(&format!(", seek {seek:?}"));
        }
        if let Some(bandwidth) = spindle_bytes_per_s {
            text.push_str(&format!(", {bandwidth} B/s each"));
        }
        text
    }
}

impl std::fmt::Debug for ThrottledSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThrottledSource")
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}
