//! Headers and entries of index files, without reading files (FORMAT.md §5, §6).

mod dynamic;
mod fixed;

pub use dynamic::{DYNAMIC_ENTRY_LEN, DynamicEntry, DynamicHeader};
pub use fixed::{FIXED_ENTRY_LEN, FixedHeader};

use std::sync::OnceLock;

use crate::hash::Sha256;

use crate::MAX_CHUNK_PLAIN;
use crate::crypt::CryptKey;
use crate::digest::ChunkDigest;

/// Header of both kinds; entries follow.
pub const INDEX_HEADER_LEN: usize = 4096;

/// Chunk size of every image that a server writes: 4 MiB.
pub const IMAGE_CHUNK_SIZE: u64 = 4 << 20;

/// Why an index cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The file ends before its header does.
    #[error("index too short: expected at least {INDEX_HEADER_LEN} bytes, found {actual}")]
    TooShort {
        /// Bytes that are there.
        actual: u64,
    },
    /// Not an index of this kind.
    #[error("index with unknown magic at byte 0: expected {expected:016x}, found {found:016x}")]
    Magic {
        /// The kind's magic, first byte highest.
        expected: u64,
        /// The 8 bytes found.
        found: u64,
    },
    /// A chunk size that is no power of two, or larger than a chunk may be.
    #[error("index chunk size at byte 72: expected a power of two up to {MAX_CHUNK_PLAIN}, found {found}")]
    ChunkSize {
        /// The size found.
        found: u64,
    },
    /// An image without a single chunk.
    #[error("index image size at byte 64: expected at least 1, found 0")]
    Empty,
    /// Another length than the header says.
    #[error("index file of {actual} bytes, expected {expected} by its header")]
    FileLength {
        /// Length by the header.
        expected: u64,
        /// Length of the file.
        actual: u64,
    },
    /// A header whose sizes overflow.
    #[error("index image size at byte 64: {found} bytes cannot be indexed")]
    ImageSize {
        /// The size found.
        found: u64,
    },
    /// The entries do not fill the file.
    #[error("index entries of {actual} bytes, expected a multiple of {DYNAMIC_ENTRY_LEN}")]
    EntryArea {
        /// Bytes after the header.
        actual: u64,
    },
    /// A chunk which is empty, runs backwards or is longer than a chunk may be.
    #[error(
        "index entry {entry} ends at offset {end}: expected 1 to {MAX_CHUNK_PLAIN} bytes after the previous end {previous}"
    )]
    EntryEnd {
        /// Number of the entry, from 0.
        entry: u64,
        /// End of the previous entry, 0 for the first.
        previous: u64,
        /// End found.
        end: u64,
    },
}

/// Fields which both headers have in the same places.
struct CommonHeader {
    uuid: uuid::Uuid,
    ctime: i64,
    csum: [u8; 32],
}

impl CommonHeader {
    fn parse(header: &[u8], file_len: u64, magic: [u8; 8]) -> Result<Self, IndexError> {
        let present = file_len.min(header.len() as u64);
        let short = IndexError::TooShort { actual: present };
        if present < INDEX_HEADER_LEN as u64 {
            return Err(short);
        }
        let (Some(found), Some(uuid), Some(ctime), Some(csum)) = (
            field(header, 0),
            field(header, 8),
            field(header, 24),
            field(header, 32),
        ) else {
            return Err(short);
        };
        if found != magic {
            return Err(IndexError::Magic {
                expected: u64::from_be_bytes(magic),
                found: u64::from_be_bytes(found),
            });
        }
        Ok(Self {
            uuid: uuid::Uuid::from_bytes(uuid),
            ctime: i64::from_le_bytes(ctime),
            csum,
        })
    }

    fn encode(&self, magic: [u8; 8]) -> [u8; INDEX_HEADER_LEN] {
        let mut header = [0; INDEX_HEADER_LEN];
        put(&mut header, 0, &magic);
        put(&mut header, 8, self.uuid.as_bytes());
        put(&mut header, 24, &self.ctime.to_le_bytes());
        put(&mut header, 32, &self.csum);
        header
    }
}

fn field<const N: usize>(header: &[u8], at: usize) -> Option<[u8; N]> {
    header.get(at..at + N)?.try_into().ok()
}

fn put(header: &mut [u8; INDEX_HEADER_LEN], at: usize, bytes: &[u8]) {
    if let Some(place) = header.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Digest of `chunk_size` zero bytes, under `key` if there is one: the holes of an image.
///
/// The usual one, 4 MiB without a key, is computed once.
pub fn zero_digest(chunk_size: u64, key: Option<&CryptKey>) -> ChunkDigest {
    static IMAGE_ZERO: OnceLock<ChunkDigest> = OnceLock::new();
    if chunk_size == IMAGE_CHUNK_SIZE && key.is_none() {
        return *IMAGE_ZERO.get_or_init(|| hash_zeros(chunk_size, None));
    }
    hash_zeros(chunk_size, key)
}

fn hash_zeros(mut remaining: u64, key: Option<&CryptKey>) -> ChunkDigest {
    const ZEROS: &[u8] = &[0; 64 << 10];
    let mut hasher = Sha256::new();
    while remaining > 0 {
        let take = usize::try_from(remaining).unwrap_or(usize::MAX).min(ZEROS.len());
        hasher.update(ZEROS.get(..take).unwrap_or(ZEROS));
        remaining -= take as u64;
    }
    if let Some(key) = key {
        hasher.update(key.id_key());
    }
    ChunkDigest(hasher.finalize())
}
