//! The envelope of every stored object: magic, CRC, optionally IV and tag, payload (FORMAT.md §3).
//!
//! ```text
//! plain / zstd:  0 magic[8]  8 crc32 u32le  12 payload…
//! encrypted:     0 magic[8]  8 crc32 u32le  12 iv[16]  28 tag[16]  44 ciphertext…
//! ```
//! Data is compressed first, then encrypted. The CRC covers what follows the full header: IV and tag are
//! covered by nothing but the authentication itself.

mod decode;
mod encode;

pub use decode::{BlobDecoder, Unverified};
pub use encode::{BlobEncoder, EncodeOptions};

use crate::crypt::{CryptError, CryptMode};
use crate::digest::ChunkDigest;

/// Most plain bytes that one blob may hold: 128 MiB.
pub const MAX_BLOB_PLAIN: u64 = 128 << 20;
/// Header of a plain or compressed blob: magic and CRC.
pub const PLAIN_HEADER_LEN: usize = 12;
/// Header of an encrypted blob: magic, CRC, IV, tag.
pub const ENCRYPTED_HEADER_LEN: usize = 44;

const CRC_AT: std::ops::Range<usize> = 8..12;
const IV_AT: std::ops::Range<usize> = 12..28;
const TAG_AT: std::ops::Range<usize> = 28..44;

/// The four ways to store bytes.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum BlobKind {
    /// As they are.
    Plain,
    /// Compressed.
    Zstd,
    /// Encrypted.
    Encrypted,
    /// Compressed, then encrypted.
    EncryptedZstd,
}

impl BlobKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Zstd, Self::Encrypted, Self::EncryptedZstd];

    /// The kind with these two properties.
    pub fn new(encrypted: bool, compressed: bool) -> Self {
        match (encrypted, compressed) {
            (false, false) => Self::Plain,
            (false, true) => Self::Zstd,
            (true, false) => Self::Encrypted,
            (true, true) => Self::EncryptedZstd,
        }
    }

    /// First 8 bytes of such a blob (FORMAT.md §2).
    pub fn magic(self) -> [u8; 8] {
        match self {
            Self::Plain => [0x42, 0xab, 0x38, 0x07, 0xbe, 0x83, 0x70, 0xa1],
            Self::Zstd => [0x31, 0xb9, 0x58, 0x42, 0x6f, 0xb6, 0xa3, 0x7f],
            Self::Encrypted => [0x7b, 0x67, 0x85, 0xbe, 0x22, 0x2d, 0x4c, 0xf0],
            Self::EncryptedZstd => [0xe6, 0x59, 0x1b, 0xbf, 0x0b, 0xbf, 0xd8, 0x0b],
        }
    }

    /// Whether a key is needed.
    pub fn is_encrypted(self) -> bool {
        matches!(self, Self::Encrypted | Self::EncryptedZstd)
    }

    /// Whether the payload is a zstd stream (after decryption).
    pub fn is_compressed(self) -> bool {
        matches!(self, Self::Zstd | Self::EncryptedZstd)
    }

    /// Bytes before the payload.
    pub fn header_len(self) -> usize {
        if self.is_encrypted() {
            ENCRYPTED_HEADER_LEN
        } else {
            PLAIN_HEADER_LEN
        }
    }

    /// `encrypt` or `none`: a blob itself knows nothing of signatures.
    pub fn crypt_mode(self) -> CryptMode {
        if self.is_encrypted() {
            CryptMode::Encrypt
        } else {
            CryptMode::None
        }
    }
}

/// What the first bytes of a blob say.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct BlobHeader {
    /// How the payload is stored.
    pub kind: BlobKind,
    /// CRC-32 (IEEE) over the bytes after the header, as stored.
    pub crc: u32,
    /// Bytes before the payload.
    pub header_len: usize,
}

/// Why a blob cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// Shorter than its header.
    #[error("blob too short: expected at least {expected} bytes, found {actual}")]
    TooShort {
        /// Length of the header.
        expected: usize,
        /// Length of the bytes.
        actual: usize,
    },
    /// The first 8 bytes are none of the four magics.
    #[error("blob with unknown magic at byte 0: expected one of 4 known, found {found:016x}")]
    Magic {
        /// The 8 bytes, first one highest.
        found: u64,
    },
    /// The bytes changed since they were written.
    #[error("blob checksum at byte 8: expected {expected:08x}, found {actual:08x} over the payload")]
    Crc {
        /// CRC stored in the header.
        expected: u32,
        /// CRC of the payload.
        actual: u32,
    },
    /// Encrypted where the manifest says plain, or the other way round.
    #[error("blob has crypt mode `{actual}`, expected `{expected}`")]
    CryptMode {
        /// What the manifest says of the file.
        expected: CryptMode,
        /// What the magic says.
        actual: CryptMode,
    },
    /// Encrypted, and no key was given.
    #[error("blob is encrypted and no key was given")]
    KeyMissing,
    /// Cannot be decrypted or encrypted.
    #[error("blob encryption: {source}")]
    Crypt {
        /// Why.
        #[from]
        source: CryptError,
    },
    /// The compressed stream is damaged.
    #[error("blob compression: {reason}")]
    Compression {
        /// The library's words.
        reason: String,
    },
    /// More plain data than allowed here; a compressed blob may not know how much more.
    #[error("blob of more than {limit} plain bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
}

impl BlobError {
    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "blob-too-short",
            Self::Magic { .. } => "blob-magic",
            Self::Crc { .. } => "blob-crc",
            Self::CryptMode { .. } => "crypt-mode-mismatch",
            Self::KeyMissing => "key-missing",
            Self::Crypt {
                source: CryptError::Authentication,
            } => "key-or-data-wrong",
            Self::Crypt { .. } => "cipher-failed",
            Self::Compression { .. } => "blob-compression",
            Self::TooLarge { .. } => "blob-too-large",
        }
    }
}

/// Why the bytes of a chunk file are not the chunk that was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The envelope cannot be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Another plain length than the index says.
    #[error("chunk of {actual} plain bytes, expected {expected}")]
    Length {
        /// Length by the index.
        expected: u64,
        /// Length found.
        actual: u64,
    },
    /// Other data than the name says.
    #[error("chunk holds data of digest {actual}, expected {expected}")]
    Digest {
        /// The chunk asked for.
        expected: ChunkDigest,
        /// Digest of what was stored.
        actual: ChunkDigest,
    },
}

impl ChunkError {
    /// Stable code for the API: kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Blob(error) => error.code(),
            Self::Length { .. } => "chunk-length",
            Self::Digest { .. } => "chunk-digest",
        }
    }
}

/// Reads the header; the payload is not looked at.
///
/// # Errors
/// [`BlobError::TooShort`] or [`BlobError::Magic`].
pub fn inspect(raw: &[u8]) -> Result<BlobHeader, BlobError> {
    let too_short = |expected| BlobError::TooShort {
        expected,
        actual: raw.len(),
    };
    if raw.len() < PLAIN_HEADER_LEN {
        return Err(too_short(PLAIN_HEADER_LEN));
    }
    let magic: [u8; 8] = array_at(raw, 0..8).ok_or_else(|| too_short(PLAIN_HEADER_LEN))?;
    let kind = BlobKind::ALL
        .into_iter()
        .find(|kind| kind.magic() == magic)
        .ok_or(BlobError::Magic {
            found: u64::from_be_bytes(magic),
        })?;
    let header_len = kind.header_len();
    if raw.len() < header_len {
        return Err(too_short(header_len));
    }
    let crc = array_at(raw, CRC_AT).ok_or_else(|| too_short(header_len))?;
    Ok(BlobHeader {
        kind,
        crc: u32::from_le_bytes(crc),
        header_len,
    })
}

/// Reads the header and checks the payload against its CRC.
///
/// # Errors
/// As [`inspect`], and [`BlobError::Crc`].
pub fn check_crc(raw: &[u8]) -> Result<BlobHeader, BlobError> {
    let header = inspect(raw)?;
    let actual = crc32fast::hash(payload(raw, &header));
    if actual == header.crc {
        Ok(header)
    } else {
        Err(BlobError::Crc {
            expected: header.crc,
            actual,
        })
    }
}

/// The bytes after the header that [`inspect`] found.
fn payload<'a>(raw: &'a [u8], header: &BlobHeader) -> &'a [u8] {
    raw.get(header.header_len..).unwrap_or_default()
}

fn array_at<const N: usize>(raw: &[u8], range: std::ops::Range<usize>) -> Option<[u8; N]> {
    raw.get(range)?.try_into().ok()
}
