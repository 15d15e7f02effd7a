//! From a passphrase to a key, with a limit on what a stranger's file may make us compute.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::hash::MessageDigest;
use openssl::pkcs5::{pbkdf2_hmac, scrypt};
use openssl::rand::rand_bytes;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::KeyFileError;

/// scrypt needs 128·n·r bytes; the default takes 64 MiB.
const MAX_SCRYPT_BYTES: u64 = 128 << 20;
const MAX_SCRYPT_P: u64 = 4;
const MAX_PBKDF2_ITERATIONS: u64 = 10_000_000;

/// A derivation function with its parameters, as the file spells them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kdf {
    /// RFC 7914; default n 65536, r 8, p 1, 32 bytes of salt.
    Scrypt {
        /// Cost, a power of two.
        n: u64,
        /// Block size.
        r: u64,
        /// Parallelism.
        p: u64,
        /// Salt, base64 in the file.
        #[serde(with = "salt_text")]
        salt: Vec<u8>,
    },
    /// RFC 8018 with HMAC-SHA256; default 65535 iterations.
    #[serde(rename = "PBKDF2")]
    Pbkdf2 {
        /// Iterations.
        iter: u64,
        /// Salt, base64 in the file.
        #[serde(with = "salt_text")]
        salt: Vec<u8>,
    },
}

impl Kdf {
    /// scrypt with the default cost and a fresh salt.
    ///
    /// # Errors
    /// [`KeyFileError::Crypt`] when there is no randomness.
    pub fn scrypt() -> Result<Self, KeyFileError> {
        Ok(Self::Scrypt {
            n: 65536,
            r: 8,
            p: 1,
            salt: fresh_salt()?,
        })
    }

    /// PBKDF2 with the default cost and a fresh salt.
    ///
    /// # Errors
    /// [`KeyFileError::Crypt`] when there is no randomness.
    pub fn pbkdf2() -> Result<Self, KeyFileError> {
        Ok(Self::Pbkdf2 {
            iter: 65535,
            salt: fresh_salt()?,
        })
    }

    pub(super) fn check_cost(&self) -> Result<(), KeyFileError> {
        let cost = |field, expected, actual| {
            Err(KeyFileError::Cost {
                field,
                expected,
                actual,
            })
        };
        match *self {
            Self::Scrypt { n, .. } if n < 2 || !n.is_power_of_two() => {
                cost("Scrypt.n", "a power of two, at least 2", n)
            }
            Self::Scrypt { r: 0, .. } => cost("Scrypt.r", "at least 1", 0),
            Self::Scrypt { n, r, .. }
                if n.checked_mul(r)
                    .and_then(|nr| nr.checked_mul(128))
                    .is_none_or(|need| need > MAX_SCRYPT_BYTES) =>
            {
                cost("Scrypt.n", "128·n·r of at most 128 MiB", n)
            }
            Self::Scrypt { p, .. } if !(1..=MAX_SCRYPT_P).contains(&p) => cost("Scrypt.p", "1 to 4", p),
            Self::Pbkdf2 { iter, .. } if !(1..=MAX_PBKDF2_ITERATIONS).contains(&iter) => {
                cost("PBKDF2.iter", "1 to 10000000", iter)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn derive(&self, passphrase: &[u8]) -> Result<Zeroizing<[u8; 32]>, KeyFileError> {
        let mut key = Zeroizing::new([0; 32]);
        match self {
            Self::Scrypt { n, r, p, salt } => {
                // Twice the limit: the library counts its other buffers, too.
                scrypt(passphrase, salt, *n, *r, *p, MAX_SCRYPT_BYTES * 2, &mut key[..])?;
            }
            Self::Pbkdf2 { iter, salt } => {
                let iterations = usize::try_from(*iter).map_err(|_| KeyFileError::Cost {
                    field: "PBKDF2.iter",
                    expected: "1 to 10000000",
                    actual: *iter,
                })?;
                pbkdf2_hmac(
                    passphrase,
                    salt,
                    iterations,
                    MessageDigest::sha256(),
                    &mut key[..],
                )?;
            }
        }
        Ok(key)
    }
}

fn fresh_salt() -> Result<Vec<u8>, KeyFileError> {
    let mut salt = vec![0; 32];
    rand_bytes(&mut salt)?;
    Ok(salt)
}

/// A salt as base64 text.
mod salt_text {
    use super::{Engine, STANDARD};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(salt: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(salt))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}
