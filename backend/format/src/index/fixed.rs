//! `.fidx`: an image in chunks of one size (FORMAT.md §5).

use uuid::Uuid;

use super::{CommonHeader, INDEX_HEADER_LEN, IndexError, field, put};
use crate::MAX_CHUNK_PLAIN;

/// One entry is a digest.
pub const FIXED_ENTRY_LEN: usize = 32;

const MAGIC: [u8; 8] = [0x2f, 0x7f, 0x41, 0xed, 0x91, 0xfd, 0x0f, 0xcd];

/// Header of a fixed index. A value from [`FixedHeader::parse`] has consistent sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedHeader {
    /// Random id of the file.
    pub uuid: Uuid,
    /// When it was made, seconds since 1970.
    pub ctime: i64,
    /// SHA-256 over all digests as stored. Not checked by parsing the header.
    pub csum: [u8; 32],
    /// Length of the image in bytes.
    pub size: u64,
    /// Length of every chunk but the last, a power of two.
    pub chunk_size: u64,
}

impl FixedHeader {
    /// Reads the first [`INDEX_HEADER_LEN`] bytes of a file of `file_len` bytes.
    ///
    /// # Errors
    /// [`IndexError`] when the header is short or foreign, or the file's length is not what it says.
    pub fn parse(header: &[u8], file_len: u64) -> Result<Self, IndexError> {
        let common = CommonHeader::parse(header, file_len, MAGIC)?;
        let (Some(size), Some(chunk_size)) = (field(header, 64), field(header, 72)) else {
            return Err(IndexError::TooShort {
                actual: header.len() as u64,
            });
        };
        let (size, chunk_size) = (u64::from_le_bytes(size), u64::from_le_bytes(chunk_size));
        if !chunk_size.is_power_of_two() || chunk_size > MAX_CHUNK_PLAIN {
            return Err(IndexError::ChunkSize { found: chunk_size });
        }
        if size == 0 {
            return Err(IndexError::Empty);
        }
        let parsed = Self {
            uuid: common.uuid,
            ctime: common.ctime,
            csum: common.csum,
            size,
            chunk_size,
        };
        let expected = parsed
            .chunk_count()
            .checked_mul(FIXED_ENTRY_LEN as u64)
            .and_then(|entries| entries.checked_add(INDEX_HEADER_LEN as u64))
            .ok_or(IndexError::ImageSize { found: size })?;
        if expected != file_len {
            return Err(IndexError::FileLength {
                expected,
                actual: file_len,
            });
        }
        Ok(parsed)
    }

    /// The header's bytes.
    pub fn encode(&self) -> [u8; INDEX_HEADER_LEN] {
        let common = CommonHeader {
            uuid: self.uuid,
            ctime: self.ctime,
            csum: self.csum,
        };
        let mut header = common.encode(MAGIC);
        put(&mut header, 64, &self.size.to_le_bytes());
        put(&mut header, 72, &self.chunk_size.to_le_bytes());
        header
    }

    /// Number of chunks.
    pub fn chunk_count(&self) -> u64 {
        self.size.div_ceil(self.chunk_size.max(1))
    }

    /// Plain length of chunk `index`: the chunk size, less for the last one, 0 beyond.
    pub fn chunk_len(&self, index: u64) -> u64 {
        let start = index.saturating_mul(self.chunk_size);
        self.size.saturating_sub(start).min(self.chunk_size)
    }
}
