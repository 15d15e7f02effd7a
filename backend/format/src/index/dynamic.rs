//! `.didx`: a stream in chunks cut by content (FORMAT.md §6).

use uuid::Uuid;

use super::{CommonHeader, INDEX_HEADER_LEN, IndexError, field};
use crate::MAX_CHUNK_PLAIN;
use crate::digest::ChunkDigest;

/// One entry is an end offset and a digest.
pub const DYNAMIC_ENTRY_LEN: usize = 40;

const MAGIC: [u8; 8] = [0x1c, 0x91, 0x4e, 0xa5, 0x19, 0xba, 0xb3, 0xcd];

/// Header of a dynamic index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicHeader {
    /// Random id of the file.
    pub uuid: Uuid,
    /// When it was made, seconds since 1970.
    pub ctime: i64,
    /// SHA-256 over all entries as stored. Not checked by parsing the header.
    pub csum: [u8; 32],
    /// Number of entries, from the file's length; 0 for an empty stream.
    pub entry_count: u64,
}

impl DynamicHeader {
    /// Reads the first [`INDEX_HEADER_LEN`] bytes of a file of `file_len` bytes.
    ///
    /// # Errors
    /// [`IndexError`] when the header is short or foreign, or the entries do not fill the file.
    pub fn parse(header: &[u8], file_len: u64) -> Result<Self, IndexError> {
        let common = CommonHeader::parse(header, file_len, MAGIC)?;
        let area = file_len.saturating_sub(INDEX_HEADER_LEN as u64);
        if !area.is_multiple_of(DYNAMIC_ENTRY_LEN as u64) {
            return Err(IndexError::EntryArea { actual: area });
        }
        Ok(Self {
            uuid: common.uuid,
            ctime: common.ctime,
            csum: common.csum,
            entry_count: area / DYNAMIC_ENTRY_LEN as u64,
        })
    }

    /// The header's bytes; the number of entries is not among them.
    pub fn encode(&self) -> [u8; INDEX_HEADER_LEN] {
        CommonHeader {
            uuid: self.uuid,
            ctime: self.ctime,
            csum: self.csum,
        }
        .encode(MAGIC)
    }
}

/// Entry of a dynamic index: where its chunk ends, and which it is.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct DynamicEntry {
    /// Exclusive end of the chunk in the stream.
    pub end: u64,
    /// The chunk.
    pub digest: ChunkDigest,
}

impl DynamicEntry {
    /// Reads entry number `entry`; `previous_end` is where the chunk begins.
    ///
    /// # Errors
    /// [`IndexError::EntryEnd`] unless the chunk has 1 to 16 MiB.
    pub fn parse(bytes: &[u8; DYNAMIC_ENTRY_LEN], entry: u64, previous_end: u64) -> Result<Self, IndexError> {
        let (Some(end), Some(digest)) = (field(bytes, 0), field(bytes, 8)) else {
            return Err(IndexError::EntryArea {
                actual: bytes.len() as u64,
            });
        };
        let end = u64::from_le_bytes(end);
        match end.checked_sub(previous_end) {
            Some(len) if (1..=MAX_CHUNK_PLAIN).contains(&len) => Ok(Self {
                end,
                digest: ChunkDigest(digest),
            }),
            _ => Err(IndexError::EntryEnd {
                entry,
                previous: previous_end,
                end,
            }),
        }
    }

    /// The entry's bytes.
    pub fn encode(&self) -> [u8; DYNAMIC_ENTRY_LEN] {
        let mut bytes = [0; DYNAMIC_ENTRY_LEN];
        let (end, digest) = bytes.split_at_mut(8);
        end.copy_from_slice(&self.end.to_le_bytes());
        digest.copy_from_slice(&self.digest.0);
        bytes
    }
}
