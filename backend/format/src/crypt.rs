//! The encryption key, what is derived from it, and AES-256-GCM with a 16-byte IV.
//!
//! Secrets are wiped when dropped and never printed.

use std::fmt;
use std::str::FromStr;

use crate::hash::Sha256;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::digest::ChunkDigest;
use crate::text::{quote, via_text};

/// Length of the initialisation vector: 16 bytes, not the usual 12 (FORMAT.md §3).
pub const IV_LEN: usize = 16;
/// Length of the authentication tag.
pub const TAG_LEN: usize = 16;

/// How the content of a file is protected (FORMAT.md §7).
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CryptMode {
    /// Plain, not signed.
    #[default]
    None,
    /// Encrypted and authenticated.
    Encrypt,
    /// Plain, listed in a signed manifest.
    SignOnly,
}

impl CryptMode {
    /// The word used in manifests and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Encrypt => "encrypt",
            Self::SignOnly => "sign-only",
        }
    }

    /// Whether blobs and chunks of such a file are encrypted.
    pub fn is_encrypted(self) -> bool {
        self == Self::Encrypt
    }
}

impl fmt::Display for CryptMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What can go wrong with a cipher.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CryptError {
    /// The tag does not match: another key, or damaged data.
    #[error("authentication failed: wrong key or damaged data")]
    Authentication,
    /// The output buffer has another length than the input.
    #[error("cipher output of {actual} bytes for {expected} bytes of input")]
    Length {
        /// Length of the input.
        expected: usize,
        /// Length of the output buffer.
        actual: usize,
    },
    /// The library failed.
    #[error("cipher library: {source}")]
    Library {
        /// Its error stack.
        #[from]
        source: ErrorStack,
    },
}

/// A 32-byte encryption key with the id derived from it. Wiped on drop; `Debug` shows the fingerprint only.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct CryptKey {
    enc_key: [u8; 32],
    id_key: [u8; 32],
}

impl CryptKey {
    /// Derives the id: PBKDF2-HMAC-SHA256 with salt `_id_key`, 10 iterations (FORMAT.md §4).
    ///
    /// # Errors
    /// [`CryptError::Library`] when the library cannot derive a key.
    pub fn new(enc_key: [u8; 32]) -> Result<Self, CryptError> {
        let mut key = Self {
            enc_key,
            id_key: [0; 32],
        };
        pbkdf2_hmac(
            &key.enc_key,
            b"_id_key",
            10,
            MessageDigest::sha256(),
            &mut key.id_key,
        )?;
        Ok(key)
    }

    /// The derived id: salts digests and keys the manifest's signature.
    pub fn id_key(&self) -> &[u8; 32] {
        &self.id_key
    }

    /// The key itself, for a key file.
    pub(crate) fn enc_key(&self) -> &[u8; 32] {
        &self.enc_key
    }

    /// The key's public name.
    pub fn fingerprint(&self) -> Fingerprint {
        let label = Sha256::digest(b"Proxmox Backup Encryption Key Fingerprint");
        Fingerprint(
            Sha256::new()
                .chain_update(label)
                .chain_update(self.id_key)
                .finalize(),
        )
    }

    /// Digest of a chunk under this key.
    pub fn digest(&self, plain: &[u8]) -> ChunkDigest {
        ChunkDigest::of_keyed(plain, self)
    }

    /// Encrypts `plain` into `out` (same length) and returns the tag. An IV must never be used twice.
    ///
    /// # Errors
    /// [`CryptError::Length`] or [`CryptError::Library`].
    pub fn encrypt(
        &self,
        iv: &[u8; IV_LEN],
        plain: &[u8],
        out: &mut [u8],
    ) -> Result<[u8; TAG_LEN], CryptError> {
        Gcm::new()?.encrypt(&self.enc_key, iv, plain, out)
    }

    /// Decrypts `ciphertext` into `out` (same length); on error `out` holds nothing of use.
    ///
    /// # Errors
    /// [`CryptError::Authentication`] when key or data are not the ones that were encrypted.
    pub fn decrypt(
        &self,
        iv: &[u8; IV_LEN],
        tag: &[u8; TAG_LEN],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptError> {
        Gcm::new()?.decrypt(&self.enc_key, iv, tag, ciphertext, out)
    }
}

impl fmt::Debug for CryptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CryptKey({})", self.fingerprint().short_id())
    }
}

/// AES-256-GCM with a reusable library context and an IV of 16 bytes.
pub(crate) struct Gcm {
    context: CipherCtx,
}

impl Gcm {
    pub(crate) fn new() -> Result<Self, CryptError> {
        Ok(Self {
            context: CipherCtx::new()?,
        })
    }

    pub(crate) fn encrypt(
        &mut self,
        key: &[u8; 32],
        iv: &[u8; IV_LEN],
        plain: &[u8],
        out: &mut [u8],
    ) -> Result<[u8; TAG_LEN], CryptError> {
        check_lengths(plain, out)?;
        let context = &mut self.context;
        context.encrypt_init(Some(Cipher::aes_256_gcm()), None, None)?;
        context.set_iv_length(IV_LEN)?;
        context.encrypt_init(None, Some(key), Some(iv))?;
        context.cipher_update(plain, Some(out))?;
        context.cipher_final(&mut [0; TAG_LEN])?;
        let mut tag = [0; TAG_LEN];
        context.tag(&mut tag)?;
        Ok(tag)
    }

    pub(crate) fn decrypt(
        &mut self,
        key: &[u8; 32],
        iv: &[u8; IV_LEN],
        tag: &[u8; TAG_LEN],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptError> {
        check_lengths(ciphertext, out)?;
        self.begin_decrypt(key, iv, tag)?;
        self.context.cipher_update(ciphertext, Some(out))?;
        self.authenticate()
    }

    /// [`Gcm::decrypt`] where the ciphertext is.
    pub(crate) fn decrypt_in_place(
        &mut self,
        key: &[u8; 32],
        iv: &[u8; IV_LEN],
        tag: &[u8; TAG_LEN],
        data: &mut [u8],
    ) -> Result<(), CryptError> {
        self.begin_decrypt(key, iv, tag)?;
        let len = data.len();
        self.context.cipher_update_inplace(data, len)?;
        self.authenticate()
    }

    fn begin_decrypt(
        &mut self,
        key: &[u8; 32],
        iv: &[u8; IV_LEN],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), CryptError> {
        let context = &mut self.context;
        context.decrypt_init(Some(Cipher::aes_256_gcm()), None, None)?;
        context.set_iv_length(IV_LEN)?;
        context.decrypt_init(None, Some(key), Some(iv))?;
        Ok(context.set_tag(tag)?)
    }

    fn authenticate(&mut self) -> Result<(), CryptError> {
        match self.context.cipher_final(&mut [0; TAG_LEN]) {
            Ok(_) => Ok(()),
            Err(_) => Err(CryptError::Authentication),
        }
    }
}

fn check_lengths(input: &[u8], out: &[u8]) -> Result<(), CryptError> {
    if input.len() == out.len() {
        Ok(())
    } else {
        Err(CryptError::Length {
            expected: input.len(),
            actual: out.len(),
        })
    }
}

/// Public name of a key: 32 bytes, written as lower-case hex pairs joined by `:` (FORMAT.md §8).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// A text that is not a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("key fingerprint `{found}`: expected 32 pairs of lower-case hex digits joined by `:`")]
pub struct FingerprintError {
    /// What stood there, shortened.
    pub found: String,
}

impl Fingerprint {
    /// The first 8 pairs: enough to tell keys apart by eye.
    pub fn short_id(&self) -> String {
        let mut text = self.to_string();
        text.truncate(23);
        text
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ":" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let well_formed = text.len() == 95 && text.bytes().skip(2).step_by(3).all(|byte| byte == b':');
        let digits = text.replace(':', "");
        match crate::text::lower_hex(&digits) {
            Some(bytes) if well_formed => Ok(Self(bytes)),
            _ => Err(FingerprintError { found: quote(text) }),
        }
    }
}

via_text!(Fingerprint);
