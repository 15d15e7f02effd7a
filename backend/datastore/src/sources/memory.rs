//! Chunks in memory, for tests and for measuring without a disk.

use std::collections::HashMap;

use bytes::Bytes;
use fleethold_format::digest::ChunkDigest;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use parking_lot::RwLock;

use crate::source::{ChunkSource, SourceError, SourceErrorKind};

/// Stored chunks by their names. Grows by what the owner inserts, by nothing else.
#[derive(Debug, Default)]
pub struct MemorySource {
    chunks: RwLock<HashMap<ChunkDigest, Bytes>>,
}

impl MemorySource {
    /// No chunks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts the stored form of a chunk; nothing is checked. Gives back what it replaces.
    pub fn insert(&self, digest: ChunkDigest, encoded: impl Into<Bytes>) -> Option<Bytes> {
        self.chunks.write().insert(digest, encoded.into())
    }

    /// Takes a chunk away.
    pub fn remove(&self, digest: &ChunkDigest) -> Option<Bytes> {
        self.chunks.write().remove(digest)
    }

    /// Number of chunks.
    pub fn len(&self) -> usize {
        self.chunks.read().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chunks.read().is_empty()
    }

    fn copy(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        mut buf: Vec<u8>,
    ) -> Result<Vec<u8>, SourceError> {
        let error = |kind| SourceError::new(kind, digest);
        let chunk = self.chunks.read().get(&digest).cloned();
        let chunk = chunk.ok_or_else(|| error(SourceErrorKind::NotFound))?;
        if chunk.is_empty() {
            return Err(error(SourceErrorKind::Empty));
        }
        if chunk.len() > max_encoded {
            return Err(error(SourceErrorKind::TooLarge {
                encoded_bytes: chunk.len() as u64,
                max_bytes: max_encoded as u64,
            }));
        }
        buf.clear();
        buf.reserve_exact(chunk.len());
        buf.extend_from_slice(&chunk);
        Ok(buf)
    }
}

impl ChunkSource for MemorySource {
    fn fetch(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> BoxFuture<'_, Result<Vec<u8>, SourceError>> {
        ready(self.copy(digest, max_encoded, buf)).boxed()
    }

    fn describe(&self) -> String {
        format!("memory, {} chunks", self.len())
    }
}
