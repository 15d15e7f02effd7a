//! An encryption key from a request: parsed, unlocked, in memory only. Nothing here logs or stores it.

use std::sync::Arc;

use fleethold_format::crypt::CryptKey;
use fleethold_format::key_file::KeyFile;
use zeroize::Zeroizing;

use super::error::{ServiceError, ServiceResult};

/// A key file is a few hundred bytes.
pub const MAX_KEY_LEN: usize = 16 * 1024;

/// Text of a key file and its password, as they came in a request.
#[derive(Default)]
pub struct KeyText {
    /// JSON of the key file.
    pub key: Option<Zeroizing<String>>,
    /// Password of the key file.
    pub password: Option<Zeroizing<String>>,
}

impl KeyText {
    /// From the fields of a request.
    #[must_use]
    pub fn new(key: Option<String>, password: Option<String>) -> Self {
        Self {
            key: key.map(Zeroizing::new),
            password: password.map(Zeroizing::new),
        }
    }

    /// The key. Blocks: deriving it from a password takes a good part of a second.
    ///
    /// # Errors
    /// When the text is no key file, or the password is missing or wrong.
    pub fn unlock(&self) -> ServiceResult<Option<Arc<CryptKey>>> {
        let Some(text) = &self.key else { return Ok(None) };
        if text.len() > MAX_KEY_LEN {
            let message = format!(
                "key file: expected at most {MAX_KEY_LEN} bytes, found {}",
                text.len()
            );
            return Err(ServiceError::unprocessable("invalid-key-file", message));
        }
        let file = KeyFile::parse(text.as_bytes())
            .map_err(|error| ServiceError::unprocessable("invalid-key-file", format!("key file: {error}")))?;
        if file.needs_passphrase() && self.password.is_none() {
            return Err(ServiceError::unprocessable(
                "key-password-missing",
                "the key file needs its password",
            ));
        }
        let password = self.password.as_ref().map(|password| password.as_bytes());
        file.unlock(password)
            .map(|key| Some(Arc::new(key)))
            .map_err(|error| ServiceError::unprocessable("wrong-key-password", format!("key file: {error}")))
    }
}
