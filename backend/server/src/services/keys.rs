//! An encryption key from a request: parsed, unlocked, in memory only. Nothing here logs or stores it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fleethold_format::crypt::CryptKey;
use fleethold_format::key_file::KeyFile;
use parking_lot::{Mutex, MutexGuard};
use zeroize::Zeroizing;

use super::error::{ServiceError, ServiceResult};

/// A key file is a few hundred bytes.
pub const MAX_KEY_LEN: usize = 16 * 1024;

/// Derivations that may wait for their turn; each holds a thread.
const MAX_WAITING: usize = 8;

/// A derivation takes a core and up to 128 MiB beside the budget: one at a time.
static DERIVATIONS: Turns = Turns {
    now: Mutex::new(()),
    waiting: AtomicUsize::new(0),
};

struct Turns {
    now: Mutex<()>,
    waiting: AtomicUsize,
}

impl Turns {
    /// Waits until nobody else has the turn.
    fn take(&self) -> ServiceResult<MutexGuard<'_, ()>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let turn = (before < MAX_WAITING).then(|| self.now.lock());
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        turn.ok_or_else(|| {
            let text =
                format!("{MAX_WAITING} keys wait already to be derived from their passwords; try again");
            ServiceError::unavailable("busy", text)
        })
    }
}

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

    /// The key. Blocks: deriving it from a password takes a good part of a second, and others may be before us.
    ///
    /// # Errors
    /// When the text is no key file, the password is missing or wrong, or too many wait already.
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
            .map_err(|error| ServiceError::unprocessable("invalid-key-file", error))?;
        if file.needs_passphrase() && self.password.is_none() {
            return Err(ServiceError::unprocessable(
                "key-password-missing",
                "the key file needs its password",
            ));
        }
        let _turn = if file.needs_passphrase() {
            Some(DERIVATIONS.take()?)
        } else {
            None
        };
        let password = self.password.as_ref().map(|password| password.as_bytes());
        file.unlock(password)
            .map(|key| Some(Arc::new(key)))
            .map_err(|error| ServiceError::unprocessable("wrong-key-password", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_key_is_said_once() {
        let error = KeyText::new(Some("no key".into()), None).unlock().unwrap_err();
        assert_eq!(error.message.matches("key file").count(), 1, "{error}");
    }

    #[test]
    fn one_key_at_a_time_and_a_bounded_number_waiting() {
        let turns = Turns {
            now: Mutex::new(()),
            waiting: AtomicUsize::new(0),
        };
        let first = turns.take().unwrap();
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..MAX_WAITING)
                .map(|_| scope.spawn(|| turns.take().is_ok()))
                .collect();
            while turns.waiting.load(Ordering::Relaxed) < MAX_WAITING {
                std::thread::yield_now();
            }
            assert_eq!(turns.take().err().map(|error| error.code), Some("busy".into()));
            drop(first);
            assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert_eq!(turns.waiting.load(Ordering::Relaxed), 0);
    }
}
