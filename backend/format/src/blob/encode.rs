//! From plain bytes to stored bytes.

use openssl::rand::rand_bytes;
use zstd::zstd_safe::{CCtx, compress_bound, get_error_name};

use super::{BlobError, BlobKind, MAX_BLOB_PLAIN, PLAIN_HEADER_LEN};
use crate::crypt::{CryptError, CryptKey, Gcm, IV_LEN};

/// The level the reference uses.
const ZSTD_LEVEL: i32 = 1;

/// How to store a blob.
#[derive(Debug, Copy, Clone, Default)]
pub struct EncodeOptions<'k> {
    /// Compress, and keep the result when it is not longer than the plain data.
    pub compress: bool,
    /// Encrypt with this key.
    pub key: Option<&'k CryptKey>,
}

/// Encodes blobs with one zstd context and one scratch buffer. Keep one per thread.
#[derive(Default)]
pub struct BlobEncoder {
    zstd: CCtx<'static>,
    scratch: Vec<u8>,
}

impl BlobEncoder {
    /// An encoder without buffers; they grow on first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Encodes `plain`; an encrypted blob gets a fresh random IV.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`] beyond [`MAX_BLOB_PLAIN`]; otherwise only what the libraries report.
    pub fn encode(&mut self, plain: &[u8], options: EncodeOptions<'_>) -> Result<Vec<u8>, BlobError> {
        if plain.len() as u64 > MAX_BLOB_PLAIN {
            return Err(BlobError::TooLarge {
                limit: MAX_BLOB_PLAIN,
            });
        }
        let compressed = if options.compress {
            self.compress(plain)?
        } else {
            None
        };
        let kind = BlobKind::new(options.key.is_some(), compressed.is_some());
        let body = compressed.unwrap_or(plain);

        let mut blob = Vec::with_capacity(kind.header_len() + body.len());
        blob.extend_from_slice(&kind.magic());
        let crc_at = blob.len();
        blob.extend_from_slice(&[0; PLAIN_HEADER_LEN - 8]);
        match options.key {
            None => blob.extend_from_slice(body),
            Some(key) => encrypt(key, body, &mut blob)?,
        }
        let crc = crc32fast::hash(blob.get(kind.header_len()..).unwrap_or_default());
        if let Some(field) = blob.get_mut(crc_at..PLAIN_HEADER_LEN) {
            field.copy_from_slice(&crc.to_le_bytes());
        }
        Ok(blob)
    }

    /// The compressed data, or `None` when it would be longer.
    fn compress(&mut self, plain: &[u8]) -> Result<Option<&[u8]>, BlobError> {
        self.scratch.resize(compress_bound(plain.len()), 0);
        let len = self
            .zstd
            .compress(self.scratch.as_mut_slice(), plain, ZSTD_LEVEL)
            .map_err(|code| BlobError::Compression {
                reason: get_error_name(code).to_owned(),
            })?;
        Ok(self
            .scratch
            .get(..len)
            .filter(|compressed| compressed.len() <= plain.len()))
    }
}

impl std::fmt::Debug for BlobEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobEncoder")
            .field("scratch_bytes", &self.scratch.capacity())
            .finish_non_exhaustive()
    }
}

/// Appends IV, tag and ciphertext.
fn encrypt(key: &CryptKey, body: &[u8], blob: &mut Vec<u8>) -> Result<(), BlobError> {
    let mut iv = [0; IV_LEN];
    rand_bytes(&mut iv).map_err(CryptError::from)?;
    let mut ciphertext = vec![0; body.len()];
    let tag = Gcm::new()?.encrypt(key.enc_key(), &iv, body, &mut ciphertext)?;
    blob.extend_from_slice(&iv);
    blob.extend_from_slice(&tag);
    blob.extend_from_slice(&ciphertext);
    Ok(())
}
