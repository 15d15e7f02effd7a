//! Identity of a chunk: the SHA-256 of its plain data, salted with the key's id when it is encrypted.

use std::fmt;
use std::str::FromStr;

use crate::hash::Sha256;

use crate::crypt::CryptKey;
use crate::text::{lower_hex, quote, via_text};

/// Name of a chunk: SHA-256 of the plain data, or of plain data and the key's id (FORMAT.md §4).
///
/// Its text is 64 lower-case hex digits, in files, in URLs and in JSON.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct ChunkDigest(pub [u8; 32]);

/// A text that is not 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("chunk digest `{found}`: expected 64 lower-case hex digits")]
pub struct DigestError {
    /// What stood there, shortened.
    pub found: String,
}

impl ChunkDigest {
    /// Digest of a chunk stored without encryption.
    pub fn of(plain: &[u8]) -> Self {
        Self(Sha256::digest(plain))
    }

    /// Digest of a chunk stored under `key`: equal data under different keys never collide.
    pub fn of_keyed(plain: &[u8], key: &CryptKey) -> Self {
        Self(
            Sha256::new()
                .chain_update(plain)
                .chain_update(key.id_key())
                .finalize(),
        )
    }

    /// [`ChunkDigest::of_keyed`] with a key, [`ChunkDigest::of`] without.
    pub fn of_maybe_keyed(plain: &[u8], key: Option<&CryptKey>) -> Self {
        key.map_or_else(|| Self::of(plain), |key| Self::of_keyed(plain, key))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ChunkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 64];
        hex::encode_to_slice(self.0, &mut text).map_err(|_| fmt::Error)?;
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for ChunkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ChunkDigest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        lower_hex(text)
            .map(Self)
            .ok_or_else(|| DigestError { found: quote(text) })
    }
}

via_text!(ChunkDigest);
