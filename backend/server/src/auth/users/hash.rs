//! Password and token hashes: argon2id for new ones, crypt(3) for those of an imported PBS host.

use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use rand::RngCore;
use subtle::ConstantTimeEq;

use super::crypt_library::{self, CryptLibraryError};

/// A hash that cannot be made or compared with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HashError {
    /// The argon2 library failed, or the stored text is not a hash of it.
    #[error("argon2id: {message}")]
    Argon2 {
        /// Its words.
        message: String,
    },
    /// crypt(3) failed.
    #[error(transparent)]
    Crypt(#[from] CryptLibraryError),
    /// Neither argon2id nor a form of crypt(3).
    #[error("expected a hash that begins with $, found something else")]
    Unknown,
}

fn failed(error: argon2::password_hash::Error) -> HashError {
    HashError::Argon2 {
        message: error.to_string(),
    }
}

/// Hashes a new password or token secret: argon2id, 16 random bytes of salt, PHC string. Takes 19 MiB and some 20 ms.
pub(super) fn hash(secret: &str) -> Result<String, HashError> {
    let mut salt = [0; 16];
    rand::rng().fill_bytes(&mut salt);
    let salt = SaltString::encode_b64(&salt).map_err(failed)?;
    Ok(Argon2::default()
        .hash_password(secret.as_bytes(), &salt)
        .map_err(failed)?
        .to_string())
}

/// Whether `secret` is the one that `stored` was made of. Slow on purpose; compares in constant time.
pub(super) fn verify(secret: &str, stored: &str) -> Result<bool, HashError> {
    if stored.starts_with("$argon2") {
        let parsed = PasswordHash::new(stored).map_err(failed)?;
        if parsed.hash.is_none() {
            return Err(HashError::Argon2 {
                message: "the stored text ends before the hash".to_owned(),
            });
        }
        return match Argon2::default().verify_password(secret.as_bytes(), &parsed) {
            Ok(()) => Ok(true),
            Err(argon2::password_hash::Error::Password) => Ok(false),
            Err(error) => Err(failed(error)),
        };
    }
    if !stored.starts_with('$') {
        return Err(HashError::Unknown);
    }
    let computed = crypt_library::crypt(secret, stored)?;
    Ok(computed.as_bytes().ct_eq(stored.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_hashes_are_argon2id_and_salted() {
        let (one, two) = (hash("a long secret").unwrap(), hash("a long secret").unwrap());
        assert!(one.starts_with("$argon2id$v=19$"), "{one}");
        assert_ne!(one, two);
        assert!(verify("a long secret", &one).unwrap() && verify("a long secret", &two).unwrap());
        assert!(!verify("a long secreT", &one).unwrap());
    }

    #[test]
    fn imported_and_broken_hashes() {
        let sha = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        assert!(verify("Hello world!", sha).unwrap());
        assert!(!verify("Hello World!", sha).unwrap());
        assert!(matches!(verify("x", "plain text"), Err(HashError::Unknown)));
        assert!(matches!(verify("x", ""), Err(HashError::Unknown)));
        assert!(matches!(
            verify("x", "$argon2id$broken"),
            Err(HashError::Argon2 { .. })
        ));
        assert!(matches!(verify("x", "$zz$broken"), Err(HashError::Crypt(_))));
    }
}
