//! The client's key file: a key, usually wrapped by a passphrase (FORMAT.md §8).
//!
//! `data` is the raw key without a derivation function, else iv ‖ tag ‖ AES-256-GCM(key) under the derived key.

mod kdf;

pub use kdf::Kdf;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::rand::rand_bytes;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::crypt::{CryptError, CryptKey, Fingerprint, Gcm, IV_LEN, TAG_LEN};

/// Most bytes of a key file that is read.
pub const MAX_KEY_FILE: usize = 64 << 10;

/// Shortest passphrase a new key file may have.
pub const MIN_PASSPHRASE: usize = 5;

const KEY_LEN: usize = 32;
const WRAPPED_LEN: usize = IV_LEN + TAG_LEN + KEY_LEN;

/// A parsed key file. `Debug` does not show the data, which may be the key itself.
#[derive(Clone, Serialize, Deserialize)]
pub struct KeyFile {
    /// How the passphrase becomes a key; `None`: there is no passphrase.
    pub kdf: Option<Kdf>,
    /// When the file was made.
    #[serde(with = "time::serde::rfc3339")]
    pub created: OffsetDateTime,
    /// When the passphrase was last changed.
    #[serde(with = "time::serde::rfc3339")]
    pub modified: OffsetDateTime,
    #[serde(with = "base64_text")]
    data: Zeroizing<Vec<u8>>,
    /// The key's public name, in files of newer clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// A reminder for the passphrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Why a key file cannot be read, unlocked or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// Longer than any key file.
    #[error("key file of {actual} bytes, expected at most {MAX_KEY_FILE}")]
    TooLarge {
        /// Its length.
        actual: usize,
    },
    /// Not the JSON of a key file.
    #[error("key file: {source}")]
    Json {
        /// Line, column and reason.
        #[from]
        source: serde_json::Error,
    },
    /// `data` has the wrong length.
    #[error("key file field `data`: expected {expected} bytes, found {actual}")]
    DataLength {
        /// 32 plain, 64 wrapped.
        expected: usize,
        /// Bytes found.
        actual: usize,
    },
    /// The derivation asks for more than we are willing to compute.
    #[error("key file field `kdf.{field}`: expected {expected}, found {actual}")]
    Cost {
        /// The parameter.
        field: &'static str,
        /// Its rule.
        expected: &'static str,
        /// Its value.
        actual: u64,
    },
    /// Wrapped, and no passphrase was given.
    #[error("key file needs a passphrase{}", hint.as_deref().map(|hint| format!(" (hint: {hint})")).unwrap_or_default())]
    PassphraseMissing {
        /// The reminder in the file.
        hint: Option<String>,
    },
    /// The passphrase does not open it.
    #[error("key file: wrong passphrase or damaged data")]
    WrongPassphrase,
    /// Too short for a new file.
    #[error("passphrase of {actual} characters, expected at least {MIN_PASSPHRASE}")]
    PassphraseTooShort {
        /// Its length.
        actual: usize,
    },
    /// The key inside is not the one the file names.
    #[error("key file holds key {actual}, its fingerprint says {expected}")]
    Fingerprint {
        /// Fingerprint in the file.
        expected: Fingerprint,
        /// Fingerprint of the key.
        actual: Fingerprint,
    },
    /// The library failed.
    #[error("key file: {source}")]
    Crypt {
        /// Why.
        #[from]
        source: CryptError,
    },
}

impl From<ErrorStack> for KeyFileError {
    fn from(source: ErrorStack) -> Self {
        Self::Crypt {
            source: source.into(),
        }
    }
}

impl KeyFile {
    /// Parses the file and checks lengths and costs.
    ///
    /// # Errors
    /// [`KeyFileError`] with the field that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyFileError> {
        if bytes.len() > MAX_KEY_FILE {
            return Err(KeyFileError::TooLarge { actual: bytes.len() });
        }
        let file: Self = serde_json::from_slice(bytes)?;
        let expected = if file.kdf.is_some() { WRAPPED_LEN } else { KEY_LEN };
        if file.data.len() != expected {
            return Err(KeyFileError::DataLength {
                expected,
                actual: file.data.len(),
            });
        }
        file.kdf.as_ref().map_or(Ok(()), Kdf::check_cost)?;
        Ok(file)
    }

    /// Whether [`KeyFile::unlock`] needs a passphrase.
    pub fn needs_passphrase(&self) -> bool {
        self.kdf.is_some()
    }

    /// The key. Deriving it takes a good part of a second: never on an async thread.
    ///
    /// A passphrase given for a file without one is not used.
    ///
    /// # Errors
    /// [`KeyFileError`] for a missing or wrong passphrase, or a key that is not the one the file names.
    pub fn unlock(&self, passphrase: Option<&[u8]>) -> Result<CryptKey, KeyFileError> {
        let enc_key = match &self.kdf {
            None => {
                let raw = <[u8; KEY_LEN]>::try_from(&self.data[..]);
                Zeroizing::new(raw.map_err(|_| self.data_length(KEY_LEN))?)
            }
            Some(kdf) => {
                let passphrase = passphrase.ok_or_else(|| KeyFileError::PassphraseMissing {
                    hint: self.hint.clone(),
                })?;
                let derived = kdf.derive(passphrase)?;
                self.unwrap(&derived)?
            }
        };
        let key = CryptKey::new(*enc_key)?;
        let actual = key.fingerprint();
        match self.fingerprint {
            Some(expected) if expected != actual => Err(KeyFileError::Fingerprint { expected, actual }),
            _ => Ok(key),
        }
    }

    fn unwrap(&self, derived: &[u8; 32]) -> Result<Zeroizing<[u8; KEY_LEN]>, KeyFileError> {
        let short = || self.data_length(WRAPPED_LEN);
        let (iv, rest) = self.data.split_first_chunk::<IV_LEN>().ok_or_else(short)?;
        let (tag, wrapped) = rest.split_first_chunk::<TAG_LEN>().ok_or_else(short)?;
        if wrapped.len() != KEY_LEN {
            return Err(short());
        }
        let mut key = Zeroizing::new([0; KEY_LEN]);
        Gcm::new()?
            .decrypt(derived, iv, tag, wrapped, &mut key[..])
            .map_err(|error| match error {
                CryptError::Authentication => KeyFileError::WrongPassphrase,
                source => KeyFileError::Crypt { source },
            })?;
        Ok(key)
    }

    fn data_length(&self, expected: usize) -> KeyFileError {
        KeyFileError::DataLength {
            expected,
            actual: self.data.len(),
        }
    }

    /// A file that holds `key` as it is. Whoever reads it has the key: mode 0600.
    pub fn create_plain(key: &CryptKey, now: OffsetDateTime) -> Self {
        let data = Zeroizing::new(key.enc_key().to_vec());
        let fingerprint = Some(key.fingerprint());
        Self {
            kdf: None,
            created: now,
            modified: now,
            data,
            fingerprint,
            hint: None,
        }
    }

    /// A file that holds `key` wrapped by a passphrase; see [`Kdf::scrypt`] and [`Kdf::pbkdf2`].
    ///
    /// # Errors
    /// [`KeyFileError::PassphraseTooShort`], or what derivation reports.
    pub fn create(
        key: &CryptKey,
        kdf: Kdf,
        passphrase: &str,
        hint: Option<String>,
        now: OffsetDateTime,
    ) -> Result<Self, KeyFileError> {
        let actual = passphrase.chars().count();
        if actual < MIN_PASSPHRASE {
            return Err(KeyFileError::PassphraseTooShort { actual });
        }
        kdf.check_cost()?;
        let derived = kdf.derive(passphrase.as_bytes())?;
        let mut iv = [0; IV_LEN];
        rand_bytes(&mut iv)?;
        let mut wrapped = [0; KEY_LEN];
        let tag = Gcm::new()?.encrypt(&derived, &iv, key.enc_key(), &mut wrapped)?;
        let data = Zeroizing::new([&iv[..], &tag, &wrapped].concat());
        let fingerprint = Some(key.fingerprint());
        Ok(Self {
            kdf: Some(kdf),
            created: now,
            modified: now,
            data,
            fingerprint,
            hint,
        })
    }

    /// The file's bytes.
    ///
    /// # Errors
    /// [`KeyFileError::Json`] when a time cannot be written.
    pub fn to_json(&self) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
        Ok(Zeroizing::new(serde_json::to_vec(self)?))
    }
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyFile")
            .field("fingerprint", &self.fingerprint)
            .field("needs_passphrase", &self.needs_passphrase())
            .finish_non_exhaustive()
    }
}

/// Bytes as base64 text.
mod base64_text {
    use super::{Engine, STANDARD, Zeroizing};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        Zeroizing::new(STANDARD.encode(data)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Zeroizing<Vec<u8>>, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        STANDARD
            .decode(text.as_bytes())
            .map(Zeroizing::new)
            .map_err(serde::de::Error::custom)
    }
}
