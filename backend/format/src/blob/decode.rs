//! From stored bytes to plain bytes, with every check there is.

use std::io::Read;

use zstd::stream::read::Decoder;
use zstd::zstd_safe::{DCtx, get_error_name, get_frame_content_size};

use super::{
    BlobError, BlobHeader, ChunkError, ENCRYPTED_HEADER_LEN, IV_AT, TAG_AT, array_at, check_crc, payload,
};
use crate::crypt::{CryptError, CryptKey, CryptMode, Gcm};
use crate::digest::ChunkDigest;
use crate::hash;

/// Decodes blobs and chunks with one zstd context and one cipher context.
///
/// After the first few chunks [`BlobDecoder::decode_chunk_in_place`] allocates nothing, and between two chunks a decoder
/// holds no data: whoever bounds the buffers it works on has bounded its memory. Keep one per thread.
#[derive(Default)]
pub struct BlobDecoder {
    zstd: DCtx<'static>,
    cipher: Option<Gcm>,
}

impl BlobDecoder {
    /// A decoder; its contexts are made at their first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`BlobDecoder::decode_chunk_in_place`], on a copy of `raw`.
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
        self.decode_chunk_in_place(&mut raw.to_vec(), digest, expected, key, out)
    }

    /// Decodes one chunk file into `out`, whose length is the plain length that the index says. Of `raw` nothing of use
    /// is left: what is encrypted and compressed is decrypted where it is.
    ///
    /// Checked in this order: magic and length, CRC, crypt mode against the file's (`expected`), the
    /// authentication tag, the stream, the plain length, the digest. `out` holds the chunk only after `Ok`.
    ///
    /// # Errors
    /// [`ChunkError`] with what was expected and found.
    pub fn decode_chunk_in_place(
        &mut self,
        raw: &mut [u8],
        digest: &ChunkDigest,
        expected: CryptMode,
        key: Option<&CryptKey>,
        out: &mut [u8],
    ) -> Result<(), ChunkError> {
        self.decode_chunk_unverified(raw, digest, expected, key, out)?
            .verify()
    }

    /// As [`BlobDecoder::decode_chunk_in_place`] without its last check, which is faster for many chunks at once:
    /// [`Unverified::verify_all`].
    ///
    /// # Errors
    /// [`ChunkError`] with what was expected and found.
    pub fn decode_chunk_unverified<'a>(
        &mut self,
        raw: &mut [u8],
        digest: &ChunkDigest,
        expected: CryptMode,
        key: Option<&'a CryptKey>,
        out: &'a mut [u8],
    ) -> Result<Unverified<'a>, ChunkError> {
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
                let compressed = decrypt_in_place(&mut self.cipher, raw, key)?;
                decompress_exactly(&mut self.zstd, compressed, out)?;
            }
        }
        Ok(Unverified {
            digest: *digest,
            plain: out,
            key,
        })
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
            (None, true) => decompress_up_to(stored, max_plain),
            (Some(key), false) => {
                let mut plain = vec![0; stored.len()];
                decrypt(&mut self.cipher, raw, key, &mut plain)?;
                Ok(plain)
            }
            (Some(key), true) => {
                let mut copy = raw.to_vec();
                let compressed = decrypt_in_place(&mut self.cipher, &mut copy, key)?;
                decompress_up_to(compressed, max_plain)
            }
        }
    }
}

/// A decoded chunk whose digest is still to be checked.
#[must_use = "these bytes may be wrong"]
pub struct Unverified<'a> {
    digest: ChunkDigest,
    plain: &'a [u8],
    key: Option<&'a CryptKey>,
}

impl Unverified<'_> {
    /// # Errors
    /// [`ChunkError::Digest`] when the bytes are not those of the digest.
    pub fn verify(self) -> Result<(), ChunkError> {
        self.compare(ChunkDigest::of_maybe_keyed(self.plain, self.key))
    }

    /// Checks all of them together ([`hash::digests`]); the results are in their order.
    pub fn verify_all(chunks: &[Self]) -> Vec<Result<(), ChunkError>> {
        let message = |chunk: &Self| hash::Message {
            bytes: chunk.plain,
            tail: chunk.key.map(CryptKey::id_key),
        };
        let messages: Vec<_> = chunks.iter().map(message).collect();
        let digests = hash::digests(&messages).into_iter().map(ChunkDigest);
        chunks
            .iter()
            .zip(digests)
            .map(|(chunk, actual)| chunk.compare(actual))
            .collect()
    }

    fn compare(&self, actual: ChunkDigest) -> Result<(), ChunkError> {
        if actual == self.digest {
            Ok(())
        } else {
            Err(ChunkError::Digest {
                expected: self.digest,
                actual,
            })
        }
    }
}

impl std::fmt::Debug for BlobDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobDecoder").finish_non_exhaustive()
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
    let decrypted: Result<(), CryptError> = context(cipher)?.decrypt(key.enc_key(), &iv, &tag, stored, out);
    Ok(decrypted?)
}

/// Decrypts where the data is; returns it.
fn decrypt_in_place<'raw>(
    cipher: &mut Option<Gcm>,
    raw: &'raw mut [u8],
    key: &CryptKey,
) -> Result<&'raw [u8], BlobError> {
    let actual = raw.len();
    let (iv, tag) = (array_at(raw, IV_AT), array_at(raw, TAG_AT));
    let (Some(iv), Some(tag), Some(stored)) = (iv, tag, raw.get_mut(ENCRYPTED_HEADER_LEN..)) else {
        return Err(BlobError::TooShort {
            expected: ENCRYPTED_HEADER_LEN,
            actual,
        });
    };
    context(cipher)?.decrypt_in_place(key.enc_key(), &iv, &tag, stored)?;
    Ok(stored)
}

fn context(cipher: &mut Option<Gcm>) -> Result<&mut Gcm, CryptError> {
    match cipher {
        Some(cipher) => Ok(cipher),
        None => Ok(cipher.insert(Gcm::new()?)),
    }
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

fn decompress_up_to(stored: &[u8], limit: u64) -> Result<Vec<u8>, BlobError> {
    let damaged = |error: std::io::Error| BlobError::Compression {
        reason: error.to_string(),
    };
    // A context of its own: one that has decoded a stream keeps its window, which the stream chooses.
    let mut zstd = DCtx::default();
    let mut plain = Vec::new();
    // One byte more than allowed tells a blob of exactly the limit from a longer one.
    Decoder::with_context(stored, &mut zstd)
        .take(limit.saturating_add(1))
        .read_to_end(&mut plain)
        .map_err(damaged)?;
    if plain.len() as u64 > limit {
        Err(BlobError::TooLarge { limit })
    } else {
        Ok(plain)
    }
}
