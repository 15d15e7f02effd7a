//! Counts what is fetched: for statistics, and for tests that assert how often.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fleethold_format::digest::ChunkDigest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::source::{ChunkSource, SourceError};

/// Distinct chunks remembered, unless told otherwise: 40 MiB at most.
const DEFAULT_CAPACITY: usize = 1 << 20;

/// Counts every fetch that passes through, and how often each chunk was asked for.
pub struct RecordingSource {
    inner: Arc<dyn ChunkSource>,
    capacity: usize,
    per_chunk: Mutex<HashMap<ChunkDigest, u64>>,
    fetches: AtomicU64,
    failures: AtomicU64,
    bytes: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
    forgotten: AtomicU64,
}

/// What was counted.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq)]
pub struct RecordedStats {
    /// Fetches begun.
    pub fetches: u64,
    /// Fetches that ended with an error.
    pub failures: u64,
    /// Encoded bytes delivered.
    pub encoded_bytes: u64,
    /// Fetches running at this moment; those given up do not count.
    pub in_flight: u64,
    /// Most fetches that ran at once.
    pub max_in_flight: u64,
    /// Fetches of chunks that were not remembered one by one, for lack of room.
    pub forgotten: u64,
}

impl RecordingSource {
    /// Records fetches from `inner`.
    pub fn new(inner: Arc<dyn ChunkSource>) -> Self {
        Self::with_capacity(inner, DEFAULT_CAPACITY)
    }

    /// Remembers at most `capacity` distinct chunks one by one; the totals count all.
    pub fn with_capacity(inner: Arc<dyn ChunkSource>, capacity: usize) -> Self {
        Self {
            inner,
            capacity,
            per_chunk: Mutex::default(),
            fetches: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            max_in_flight: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
        }
    }

    /// The totals.
    pub fn stats(&self) -> RecordedStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RecordedStats {
            fetches: read(&self.fetches),
            failures: read(&self.failures),
            encoded_bytes: read(&self.bytes),
            in_flight: read(&self.in_flight),
            max_in_flight: read(&self.max_in_flight),
            forgotten: read(&self.forgotten),
        }
    }

    /// How often `digest` was asked for.
    pub fn fetches_of(&self, digest: &ChunkDigest) -> u64 {
        self.per_chunk.lock().get(digest).copied().unwrap_or(0)
    }

    /// Distinct chunks asked for, as far as they were remembered.
    pub fn distinct(&self) -> usize {
        self.per_chunk.lock().len()
    }

    /// The largest number of times that any one chunk was asked for.
    pub fn most_fetches_of_one(&self) -> u64 {
        self.per_chunk.lock().values().copied().max().unwrap_or(0)
    }

    fn begin(&self, digest: ChunkDigest) -> InFlight<'_> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let now = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.max_in_flight.fetch_max(now, Ordering::Relaxed);
        let mut per_chunk = self.per_chunk.lock();
        let room = per_chunk.len() < self.capacity;
        match per_chunk.get_mut(&digest) {
            Some(count) => *count += 1,
            None if room => drop(per_chunk.insert(digest, 1)),
            None => drop(self.forgotten.fetch_add(1, Ordering::Relaxed)),
        }
        InFlight(&self.in_flight)
    }
}

/// Counts a running fetch, also when it is given up.
struct InFlight<'s>(&'s AtomicU64);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ChunkSource for RecordingSource {
    fn fetch(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> BoxFuture<'_, Result<Vec<u8>, SourceError>> {
        async move {
            let _running = self.begin(digest);
            let outcome = self.inner.fetch(digest, max_encoded, buf).await;
            match &outcome {
                Ok(encoded) => self.bytes.fetch_add(encoded.len() as u64, Ordering::Relaxed),
                Err(_) => self.failures.fetch_add(1, Ordering::Relaxed),
            };
            outcome
        }
        .boxed()
    }

    fn describe(&self) -> String {
        format!("recorded {}", self.inner.describe())
    }
}

impl std::fmt::Debug for RecordingSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingSource")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
