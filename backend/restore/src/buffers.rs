//! Pooled chunk buffers, each of which carries its share of the memory budget.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::budget::Shared;

/// The two uses of a buffer; they are pooled apart because a plain buffer stays initialised over its whole length.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum BufferKind {
    Encoded,
    Plain,
}

/// Rounded buffer sizes of one chunk, in bytes; 0 for a buffer that is not needed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkNeed {
    pub encoded: usize,
    pub plain: usize,
}

impl ChunkNeed {
    /// Buffers for a stored chunk of at most `encoded` bytes that decodes to `plain` bytes.
    pub(crate) fn new(encoded: usize, plain: usize) -> Self {
        Self {
            encoded: size_class(encoded),
            plain: size_class(plain),
        }
    }

    pub(crate) fn bytes(self) -> u64 {
        (self.encoded as u64).saturating_add(self.plain as u64)
    }
}

/// Rounds up so that chunks of similar size share buffers: at most an eighth more than asked for, in whole pages.
fn size_class(len: usize) -> usize {
    if len == 0 {
        return 0;
    }
    let step = (len.next_power_of_two() / 16).max(4096);
    len.div_ceil(step).saturating_mul(step)
}

/// The memory of one chunk from before its fetch until it is written.
pub(crate) struct ChunkMemory {
    pub encoded: PooledBuf,
    pub plain: PooledBuf,
}

/// A buffer whose bytes count against the budget until it is dropped.
///
/// The memory behind it is taken at its first use: a thread that decodes one chunk after the other then goes on in
/// the buffer it has just left, whose pages are mapped and warm, however many chunks are on their way.
pub(crate) struct PooledBuf {
    kind: BufferKind,
    bytes: usize,
    /// `None` until the first use.
    buffer: Option<Vec<u8>>,
    job: u64,
    home: Arc<Shared>,
}

impl PooledBuf {
    pub(crate) fn new(kind: BufferKind, bytes: usize, job: u64, home: &Arc<Shared>) -> Self {
        Self {
            kind,
            bytes,
            buffer: None,
            job,
            home: Arc::clone(home),
        }
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        let (home, kind, bytes) = (&self.home, self.kind, self.bytes);
        self.buffer.get_or_insert_with(|| home.fill(kind, bytes))
    }

    /// Lends the vector out (to a chunk source); its bytes stay accounted for.
    pub(crate) fn lend(&mut self) -> Vec<u8> {
        std::mem::take(self.buffer())
    }

    /// Takes a lent vector back.
    pub(crate) fn restore(&mut self, buffer: Vec<u8>) {
        self.buffer = Some(buffer);
    }

    /// The first `len` bytes; fewer when the buffer is shorter.
    pub(crate) fn prefix(&self, len: usize) -> &[u8] {
        let content = self.buffer.as_deref().unwrap_or_default();
        content.get(..len).unwrap_or(content)
    }

    /// The first `len` bytes to write to; `None` when the buffer is shorter.
    pub(crate) fn prefix_mut(&mut self, len: usize) -> Option<&mut [u8]> {
        self.buffer().get_mut(..len)
    }

    /// The whole content to work on; empty before the first use.
    pub(crate) fn content_mut(&mut self) -> &mut [u8] {
        self.buffer.as_deref_mut().unwrap_or_default()
    }
}

impl Drop for PooledBuf {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // A buffer that came back exchanged for another is not worth keeping.
            let keep = |buffer: Vec<u8>| {
                if buffer.capacity() == self.bytes {
                    buffer
                } else {
                    Vec::new()
                }
            };
            let buffer = self.buffer.take().map(keep);
            self.home.release(self.job, self.bytes as u64, self.kind, buffer);
        }
    }
}

/// Buffers between two chunks.
#[derive(Default)]
pub(crate) struct IdleBuffers {
    encoded: VecDeque<Vec<u8>>,
    plain: VecDeque<Vec<u8>>,
    bytes: u64,
}

impl IdleBuffers {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps the buffer when it fits into `room` bytes, else hands it back to be freed.
    pub(crate) fn put(&mut self, kind: BufferKind, mut buffer: Vec<u8>, room: u64) -> Option<Vec<u8>> {
        let capacity = buffer.capacity() as u64;
        if capacity == 0 || capacity > room {
            return Some(buffer);
        }
        self.bytes += capacity;
        match kind {
            BufferKind::Encoded => {
                buffer.clear();
                self.encoded.push_back(buffer);
            }
            BufferKind::Plain => self.plain.push_back(buffer),
        }
        None
    }

    /// A buffer of exactly this size class, the most recently used first (its pages are warm).
    pub(crate) fn take(&mut self, kind: BufferKind, bytes: usize) -> Option<Vec<u8>> {
        let queue = match kind {
            BufferKind::Encoded => &mut self.encoded,
            BufferKind::Plain => &mut self.plain,
        };
        let index = queue.iter().rposition(|buffer| buffer.capacity() == bytes)?;
        let buffer = queue.remove(index)?;
        self.bytes = self.bytes.saturating_sub(buffer.capacity() as u64);
        Some(buffer)
    }

    /// Takes out buffers, the least recently used first, until `excess` bytes are free.
    pub(crate) fn evict(&mut self, excess: u64) -> Vec<Vec<u8>> {
        let mut evicted = Vec::new();
        let mut freed = 0;
        while freed < excess {
            let Some(buffer) = self.plain.pop_front().or_else(|| self.encoded.pop_front()) else {
                break;
            };
            freed += buffer.capacity() as u64;
            self.bytes = self.bytes.saturating_sub(buffer.capacity() as u64);
            evicted.push(buffer);
        }
        evicted
    }
}
