//! What a restore has to do, computed in one pass over the index before a byte moves.
//!
//! For every position of the index the plan knows whether it is zeros (never fetched), the first use of a chunk
//! (fetched) or a repeat, and where the same chunk is used next. It takes 5 bytes per position, 7 while it is built:
//!
//! ```text
//! build:  heads[n/2] u32 ─▶ first uses of one hash bucket, linked by links[n] u32; a repeat links to its first use
//!         tags[n] u8: zero? first? + 6 bits of the hash, so that few digests are read back to be compared
//! done:   heads dropped; links rewritten: each use ─▶ the next use of the same chunk, in index order
//! ```
//!
//! The hash is seeded per plan: digests come from whoever made the backup.
//!
//! Nothing is allocated on the word of a header alone: a plan that is larger than its [`PlanLimit`] is refused, and the
//! index must pass the manifest's checksum first. A file of 4 KiB, all holes, can claim 2^28 chunks.

pub(crate) mod gate;
mod table;

use fleethold_datastore::{IndexEntry, IndexFile};
use fleethold_format::MAX_CHUNK_PLAIN;
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;
use fleethold_format::hash::Sha256;
use fleethold_format::index::zero_digest;
use fleethold_format::names::ArchiveKind;
use serde::Serialize;

use crate::error::PlanError;
use table::Table;

/// The most chunks one index may have: positions fit into 31 bits. With chunks of 4 MiB that is 8 PiB.
pub const MAX_CHUNKS: u64 = 1 << 31;

/// Entries read at once.
pub(crate) const WINDOW: u64 = 4096;

/// Zero chunks of a dynamic index are recognised by length: powers of two from here on (the chunker's maximum, which
/// is what a long run of zeros is cut to).
const MIN_DYNAMIC_ZERO_BYTES: u64 = 64 << 10;

/// Bytes per position while a plan is built.
const BUILD_BYTES: u64 = 7;

/// The most memory a plan may take while it is built, in bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PlanLimit {
    /// The limit.
    pub bytes: u64,
}

/// What a position of the index asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// Nothing but zeros; not fetched.
    Zero,
    /// The first use of its chunk.
    First,
    /// A chunk that an earlier position already used.
    Repeat,
}

/// The counts of a plan.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlanCounts {
    /// Logical size of the archive in bytes.
    pub bytes_total: u64,
    /// Positions in the index.
    pub chunks_total: u64,
    /// Different chunks to fetch; zero chunks do not count.
    pub chunks_distinct: u64,
    /// Positions whose chunk an earlier position used, zero chunks not counted.
    pub duplicate_chunks: u64,
    /// Positions that are zeros.
    pub zero_chunks: u64,
    /// Runs of neighbouring zero positions.
    pub zero_runs: u64,
    /// Bytes of all zero positions.
    pub zero_bytes: u64,
}

/// The plan of one archive. See the module's description.
#[derive(Debug)]
pub struct RestorePlan {
    table: Table,
    counts: PlanCounts,
    largest_chunk_bytes: u64,
    index_csum: [u8; 32],
}

impl RestorePlan {
    /// Reads the whole index (blocking) and hashes it on the way. An index that comes with its manifest's checksum is
    /// first read once more and compared with it.
    ///
    /// [`RestoreEngine::plan`](crate::RestoreEngine::plan) does it within the engine's budget.
    ///
    /// `key` is used to recognise the zero chunk of an encrypted archive; without it none is recognised.
    ///
    /// # Errors
    /// [`PlanError`]: the plan would pass `limit`, the index is not the manifest's, cannot be read, has too many or too
    /// long chunks, gives one chunk two lengths, or the system refuses the memory.
    pub fn build(
        index: &IndexFile,
        crypt_mode: CryptMode,
        key: Option<&CryptKey>,
        limit: PlanLimit,
    ) -> Result<Self, PlanError> {
        Self::needed_bytes(index, limit)?;
        let total = index.chunk_count();
        if total > MAX_CHUNKS {
            return Err(PlanError::TooManyChunks {
                found: total,
                limit: MAX_CHUNKS,
            });
        }
        if index.expected().is_some() {
            index.verify_csum()?;
        }
        let mut table = Table::new(total)?;
        let mut zeros = ZeroDigests::new(index, crypt_mode, key);
        let mut csum = IndexHasher::new(index);
        let mut counts = PlanCounts {
            bytes_total: index.size(),
            chunks_total: total,
            ..PlanCounts::default()
        };
        let mut largest = 0;
        let mut previous_zero = false;
        let mut window = Vec::new();
        let mut start = 0;
        while start < total {
            let end = total.min(start + WINDOW);
            read_window(index, start..end, &mut window)?;
            for (position, entry) in (start..end).zip(&window) {
                csum.update(entry);
                if entry.len == 0 || entry.len > MAX_CHUNK_PLAIN {
                    return Err(PlanError::ChunkLength {
                        position,
                        found: entry.len,
                        limit: MAX_CHUNK_PLAIN,
                    });
                }
                let zero = zeros.is_zero(entry);
                if zero {
                    table.insert_zero(position);
                    counts.zero_chunks += 1;
                    counts.zero_bytes += entry.len;
                    counts.zero_runs += u64::from(!previous_zero);
                } else {
                    largest = largest.max(entry.len);
                    let first = table.insert(position, &entry.digest, |other| {
                        same_chunk(index, &window, start, other, position, entry)
                    })?;
                    counts.chunks_distinct += u64::from(first);
                    counts.duplicate_chunks += u64::from(!first);
                }
                previous_zero = zero;
            }
            start = end;
        }
        table.finish();
        Ok(Self {
            table,
            counts,
            largest_chunk_bytes: largest,
            index_csum: csum.finish(),
        })
    }

    /// Memory that building a plan of this index takes, in bytes; refused when it is more than `limit`.
    pub(crate) fn needed_bytes(index: &IndexFile, limit: PlanLimit) -> Result<u64, PlanError> {
        let chunks = index.chunk_count();
        let needed_bytes = chunks.saturating_mul(BUILD_BYTES);
        if needed_bytes <= limit.bytes {
            return Ok(needed_bytes);
        }
        Err(PlanError::Budget {
            path: index.path().to_owned(),
            chunks,
            needed_bytes,
            budget_bytes: limit.bytes,
        })
    }

    /// The counts.
    pub fn counts(&self) -> PlanCounts {
        self.counts
    }

    /// SHA-256 over the index entries, as the manifest lists it (FORMAT.md §5, §6).
    pub fn index_csum(&self) -> [u8; 32] {
        self.index_csum
    }

    /// Length of the longest chunk to fetch, in bytes; 0 when there is none.
    pub fn largest_chunk_bytes(&self) -> u64 {
        self.largest_chunk_bytes
    }

    /// What `position` asks for; zeros beyond the end.
    pub fn use_at(&self, position: u64) -> Use {
        self.table.use_at(position)
    }

    /// The next position that uses the same chunk.
    pub fn next_use(&self, position: u64) -> Option<u64> {
        self.table.next_use(position)
    }

    /// Memory the plan holds, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }
}

/// Reads entries and insists on getting all of them.
pub(crate) fn read_window(
    index: &IndexFile,
    range: std::ops::Range<u64>,
    window: &mut Vec<IndexEntry>,
) -> Result<(), PlanError> {
    let expected = range.end.saturating_sub(range.start);
    window.clear();
    index.entries(range, window)?;
    if window.len() as u64 == expected {
        Ok(())
    } else {
        Err(PlanError::EntriesMissing {
            expected,
            actual: window.len() as u64,
        })
    }
}

/// Whether `other`, an earlier position with a similar hash, is the same chunk as `entry`.
fn same_chunk(
    index: &IndexFile,
    window: &[IndexEntry],
    window_start: u64,
    other: u64,
    position: u64,
    entry: &IndexEntry,
) -> Result<bool, PlanError> {
    let in_window = other
        .checked_sub(window_start)
        .and_then(|at| window.get(usize::try_from(at).ok()?));
    let digest = match in_window {
        Some(earlier) => earlier.digest,
        None => index.digest_at(other)?,
    };
    if digest != entry.digest {
        return Ok(false);
    }
    let earlier_len = index.chunk_len(other)?;
    if earlier_len == entry.len {
        Ok(true)
    } else {
        Err(PlanError::TwoLengths {
            digest,
            first_position: other,
            first: earlier_len,
            position,
            second: entry.len,
        })
    }
}

/// SHA-256 over the entries as they are stored.
pub(crate) struct IndexHasher {
    hasher: Sha256,
    with_ends: bool,
}

impl IndexHasher {
    pub(crate) fn new(index: &IndexFile) -> Self {
        Self {
            hasher: Sha256::new(),
            with_ends: index.kind() == ArchiveKind::Dynamic,
        }
    }

    pub(crate) fn update(&mut self, entry: &IndexEntry) {
        if self.with_ends {
            self.hasher.update((entry.offset + entry.len).to_le_bytes());
        }
        self.hasher.update(entry.digest.0);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.hasher.finalize()
    }
}

/// Digests of zeros for the lengths seen so far.
struct ZeroDigests<'a> {
    key: Option<&'a CryptKey>,
    dynamic: bool,
    /// An encrypted archive without its key: no chunk is known to be zeros.
    blind: bool,
    known: Vec<(u64, ChunkDigest)>,
}

impl<'a> ZeroDigests<'a> {
    fn new(index: &IndexFile, crypt_mode: CryptMode, key: Option<&'a CryptKey>) -> Self {
        let encrypted = crypt_mode.is_encrypted();
        Self {
            key: key.filter(|_key| encrypted),
            dynamic: index.kind() == ArchiveKind::Dynamic,
            blind: encrypted && key.is_none(),
            known: Vec::new(),
        }
    }

    fn is_zero(&mut self, entry: &IndexEntry) -> bool {
        if self.blind {
            return false;
        }
        if self.dynamic && !(entry.len.is_power_of_two() && entry.len >= MIN_DYNAMIC_ZERO_BYTES) {
            return false;
        }
        // A fixed index has two lengths, a dynamic one at most nine that come here.
        if let Some((_len, digest)) = self.known.iter().find(|(len, _digest)| *len == entry.len) {
            return *digest == entry.digest;
        }
        let digest = zero_digest(entry.len, self.key);
        self.known.push((entry.len, digest));
        digest == entry.digest
    }
}

#[cfg(test)]
mod tests;
