//! From stored bytes to plain bytes, with every check there is.

use std::io::Read;

use zstd::stream::read::Decoder;
use zstd::zstd_safe::{DCtx, get_error_name, get_frame_content_size};

use super::{
    BlobError, BlobHeader, ChunkError, ENCRYPTED_HEADER_LEN, IV_AT, TAG_AT, array_at, check_crc, payload,
};
use crate::crypt::{CryptError, CryptKey, CryptMode, Gcm};
use crate::digest::ChunkDigest;

/// Decodes blobs and chunks with one zstd context, one cipher context and one scratch buffer.
///
/// After the first few chunks [`BlobDecoder::decode_chunk`] allocates nothing. Keep one per thread.
#[derive(Default)]
pub struct BlobDecoder {
    zstd: DCtx<'static>,
    cipher: Option<Gcm>,
    /// Decrypted, still compressed data.
    scratch: Vec<u8>,
}

impl BlobDecoder {
    /// A decoder without buffers; they grow on first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes one chunk file into `out`, whose length is the plain length that the index says.
    ///
    /// Checked in this order: magic and length, CRC, crypt mode against the file's (`expected`), the
    /// authentication tag, the stream, the plain length, the digest. `out` holds the chunk only after `Ok`.
    ///
    /// # Errors
    /// [`ChunkError`] with what was expected and found.
    pub fn decode_chunk(
        &mut self,
        raw: &[u8],
        digest: &ChunkDigest,
        expected: CryptMode,
        key: Option<&CryptKey>,
        out: &mut [u8],
    ) -> Result<(), ChunkError> {
        let header = check_crc(raw)?;
        check_crypt_mode(&header, expected)?;
        let key = needed_key(&header, key)?;
        match (key, header.kind.is_compressed()) {
            (None, false) => {
                check_length(payload(raw, &header).len(), out)?;
                out.copy_from_slice(payload(raw, &header));
            }
            (None, true) => decompress_exactly(&mut self.zstd, payload(raw, &header), out)?,
            (Some(key), false) => {
                check_length(payload(raw, &header).len(), out)?;
                decrypt(&mut self.cipher, raw, key, out)?;
            }
            (Some(key), true) => {
                self.decrypt_to_scratch(raw, key)?;
                decompress_exactly(&mut self.zstd, &self.scratch, out)?;
            }
        }
        let actual = ChunkDigest::of_maybe_keyed(out, key);
        if actual == *digest {
            Ok(())
        } else {
            Err(ChunkError::Digest {
                expected: *digest,
                actual,
            })
        }
    }

    /// Decodes a blob of at most `max_plain` bytes. `expected` is the file's crypt mode, if it is known.
    ///
    /// Memory grows with the data that is really there, never with what a header promises.
    ///
    /// # Errors
    /// [`BlobError`] with what was expected and found.
    pub fn decode_blob(
        &mut self,
        raw: &[u8],
        expected: Option<CryptMode>,
        key: Option<&CryptKey>,
        max_plain: u64,
    ) -> Result<Vec<u8>, BlobError> {
        let header = check_crc(raw)?;
        if let Some(expected) = expected {
            check_crypt_mode(&header, expected)?;
        }
        let key = needed_key(&header, key)?;
        let stored = payload(raw, &header);
        if !header.kind.is_compressed() && stored.len() as u64 > max_plain {
            return Err(BlobError::TooLarge { limit: max_plain });
        }
        match (key, header.kind.is_compressed()) {
            (None, false) => Ok(stored.to_vec()),
            (None, true) => decompress_up_to(&mut self.zstd, stored, max_plain),
            (Some(key), false) => {
                let mut plain = vec![0; stored.len()];
                decrypt(&mut self.cipher, raw, key, &mut plain)?;
                Ok(plain)
            }
            (Some(key), true) => {
                self.decrypt_to_scratch(raw, key)?;
                decompress_up_to(&mut self.zstd, &self.scratch, max_plain)
            }
        }
    }

    fn decrypt_to_scratch(&mut self, raw: &[u8], key: &CryptKey) -> Result<(), BlobError> {
        // Not cleared first: only growth has to be zeroed.
        self.scratch
            .resize(raw.len().saturating_sub(ENCRYPTED_HEADER_LEN), 0);
        decrypt(&mut self.cipher, raw, key, &mut self.scratch)
    }
}

impl std::fmt::Debug for BlobDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobDecoder")
            .field("scratch_bytes", &self.scratch.capacity())
            .finish_non_exhaustive()
    }
}

fn check_crypt_mode(header: &BlobHeader, expected: CryptMode) -> Result<(), BlobError> {
    let actual = header.kind.crypt_mode();
    if actual.is_encrypted() == expected.is_encrypted() {
        Ok(())
    } else {
        Err(BlobError::CryptMode { expected, actual })
    }
}

/// The key when the blob is encrypted; a key given for a plain blob is not used.
fn needed_key<'k>(header: &BlobHeader, key: Option<&'k CryptKey>) -> Result<Option<&'k CryptKey>, BlobError> {
    if header.kind.is_encrypted() {
        key.map(Some).ok_or(BlobError::KeyMissing)
    } else {
        Ok(None)
    }
}

fn check_length(actual: usize, out: &[u8]) -> Result<(), ChunkError> {
    if actual == out.len() {
        Ok(())
    } else {
        Err(ChunkError::Length {
            expected: out.len() as u64,
            actual: actual as u64,
        })
    }
}

fn decrypt(cipher: &mut Option<Gcm>, raw: &[u8], key: &CryptKey, out: &mut [u8]) -> Result<(), BlobError> {
    let too_short = BlobError::TooShort {
        expected: ENCRYPTED_HEADER_LEN,
        actual: raw.len(),
    };
    let (Some(iv), Some(tag), Some(stored)) = (
        array_at(raw, IV_AT),
        array_at(raw, TAG_AT),
        raw.get(ENCRYPTED_HEADER_LEN..),
    ) else {
        return Err(too_short);
    };
    let cipher = match cipher {
        Some(cipher) => cipher,
        None => cipher.insert(Gcm::new()?),
    };
    let decrypted: Result<(), CryptError> = cipher.decrypt(key.enc_key(), &iv, &tag, stored, out);
    Ok(decrypted?)
}

/// Decompresses `stored` into all of `out` and nothing beyond.
fn decompress_exactly(zstd: &mut DCtx<'static>, stored: &[u8], out: &mut [u8]) -> Result<(), ChunkError> {
    // A stream that says its length gets the better error; one that lies is caught below.
    if let Ok(Some(promised)) = get_frame_content_size(stored)
        && promised > out.len() as u64
    {
        return Err(ChunkError::Length {
            expected: out.len() as u64,
            actual: promised,
        });
    }
    let written = zstd.decompress(out, stored).map_err(|code| {
        let reason = format!("{} (at most {} bytes expected)", get_error_name(code), out.len());
        BlobError::Compression { reason }
    })?;
    check_length(written, out)
}

fn decompress_up_to(zstd: &mut DCtx<'static>, stored: &[u8], limit: u64) -> Result<Vec<u8>, BlobError> {
    let damaged = |error: std::io::Error| BlobError::Compression {
        reason: error.to_string(),
    };
    zstd.reset(zstd::zstd_safe::ResetDirective::SessionOnly)
        .map_err(|code| BlobError::Compression {
            reason: get_error_name(code).to_owned(),
        })?;
    let mut plain = Vec::new();
    // One byte more than allowed tells a blob of exactly the limit from a longer one.
    Decoder::with_context(stored, zstd)
        .take(limit.saturating_add(1))
        .read_to_end(&mut plain)
        .map_err(damaged)?;
    if plain.len() as u64 > limit {
        Err(BlobError::TooLarge { limit })
    } else {
        Ok(plain)
    }
}
