//! Fails on purpose: every nth fetch, or whenever a certain chunk is asked for.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fleethold_format::digest::ChunkDigest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::sync::watch;

use crate::source::{ChunkSource, SourceError, SourceErrorKind};

/// One way to fail.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An I/O error (`EIO`).
    Error,
    /// As if the chunk had been removed.
    Missing,
    /// No answer until [`FaultySource::release`].
    Stall,
    /// Only the first half of the stored bytes.
    Short,
    /// One bit of the stored bytes turned over.
    BitFlip,
    /// The stored bytes of another chunk.
    OtherChunk(ChunkDigest),
}

/// When to fail, and how.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct FaultRule {
    /// What happens.
    pub fault: Fault,
    /// Every nth of the fetches this rule looks at; 0 never, 1 always.
    pub every: u64,
    /// Look only at fetches of this chunk.
    pub only: Option<ChunkDigest>,
}

impl FaultRule {
    /// `fault` at every nth fetch of any chunk.
    pub fn every(every: u64, fault: Fault) -> Self {
        Self {
            fault,
            every,
            only: None,
        }
    }

    /// `fault` whenever `digest` is asked for.
    pub fn on(digest: ChunkDigest, fault: Fault) -> Self {
        Self {
            fault,
            every: 1,
            only: Some(digest),
        }
    }
}

/// A source with faults. The seed decides at which fetch each rule starts to count and which bits flip, so that
/// the same order of fetches meets the same faults.
pub struct FaultySource {
    inner: Arc<dyn ChunkSource>,
    rules: Vec<(FaultRule, AtomicU64)>,
    seed: u64,
    faults: AtomicU64,
    released: watch::Sender<bool>,
}

impl FaultySource {
    /// Adds faults to `inner`; the first rule that strikes wins.
    pub fn new(inner: Arc<dyn ChunkSource>, seed: u64, rules: impl IntoIterator<Item = FaultRule>) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rules = rules
            .into_iter()
            .map(|rule| (rule, AtomicU64::new(rng.random_range(0..rule.every.max(1)))))
            .collect();
        let (released, _) = watch::channel(false);
        Self {
            inner,
            rules,
            seed,
            faults: AtomicU64::new(0),
            released,
        }
    }

    /// Faults so far.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// Lets all stalled fetches go on, and later ones not stall.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    fn strike(&self, digest: ChunkDigest) -> Option<Fault> {
        let (rule, _) = self.rules.iter().find(|(rule, seen)| {
            rule.every > 0
                && rule.only.is_none_or(|only| only == digest)
                && (seen.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(rule.every)
        })?;
        self.faults.fetch_add(1, Ordering::Relaxed);
        Some(rule.fault)
    }

    /// Turns over one bit; which one depends on seed and chunk only.
    fn flip(&self, digest: ChunkDigest, encoded: &mut [u8]) {
        if encoded.is_empty() {
            return;
        }
        let salt = digest
            .0
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ salt);
        let at = rng.random_range(0..encoded.len());
        if let Some(byte) = encoded.get_mut(at) {
            *byte ^= 1 << rng.random_range(0..8);
        }
    }
}

impl ChunkSource for FaultySource {
    fn fetch(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> BoxFuture<'_, Result<Vec<u8>, SourceError>> {
        async move {
            match self.strike(digest) {
                None => self.inner.fetch(digest, max_encoded, buf).await,
                Some(Fault::Error) => {
                    // EIO.
                    Err(SourceError::new(SourceErrorKind::Io, digest)
                        .because(io::Error::from_raw_os_error(5)))
                }
                Some(Fault::Missing) => Err(SourceError::new(SourceErrorKind::NotFound, digest)),
                Some(Fault::Stall) => {
                    let mut released = self.released.subscribe();
                    if released.wait_for(|released| *released).await.is_err() {
                        return Err(SourceError::new(SourceErrorKind::Stopped, digest));
                    }
                    self.inner.fetch(digest, max_encoded, buf).await
                }
                Some(Fault::Short) => {
                    let mut encoded = self.inner.fetch(digest, max_encoded, buf).await?;
                    encoded.truncate(encoded.len().div_ceil(2));
                    Ok(encoded)
                }
                Some(Fault::BitFlip) => {
                    let mut encoded = self.inner.fetch(digest, max_encoded, buf).await?;
                    self.flip(digest, &mut encoded);
                    Ok(encoded)
                }
                Some(Fault::OtherChunk(other)) => self.inner.fetch(other, max_encoded, buf).await,
            }
        }
        .boxed()
    }

    fn describe(&self) -> String {
        format!("faulty {}", self.inner.describe())
    }
}

impl std::fmt::Debug for FaultySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultySource")
            .field("faults", &self.faults())
            .finish_non_exhaustive()
    }
}
