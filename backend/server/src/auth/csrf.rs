//! The token that a page must send beside its cookie with every request that changes something:
//! `<8 hex time>:<base64 HMAC-SHA3-256 over "time:userid:">` (API.md §2.1).

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use fleethold_format::names::Userid;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::sign::Signer;
use zeroize::Zeroizing;

use super::key_file::{self, KeyError};
use super::ticket;

const SECRET_LEN: usize = 32;

/// The server's CSRF secret.
pub struct CsrfKey {
    key: PKey<Private>,
}

impl CsrfKey {
    /// Loads `csrf.key` (32 bytes in base64) from the configuration directory, or creates it.
    ///
    /// # Errors
    /// When the file cannot be read or created, or holds something else.
    pub fn load_or_create(config_dir: &Path) -> Result<Self, KeyError> {
        let path = config_dir.join("csrf.key");
        let openssl = |source| KeyError::OpenSsl {
            path: path.clone(),
            source,
        };
        let text = key_file::load_or_create(&path, || {
            let mut secret = Zeroizing::new([0u8; SECRET_LEN]);
            openssl::rand::rand_bytes(&mut *secret).map_err(openssl)?;
            Ok(Zeroizing::new(STANDARD_NO_PAD.encode(*secret).into_bytes()))
        })?;
        let secret = STANDARD_NO_PAD
            .decode(text.trim_ascii())
            .ok()
            .filter(|secret| secret.len() == SECRET_LEN)
            .map(Zeroizing::new)
            .ok_or(KeyError::Invalid {
                path: path.clone(),
                expected: "secret of 32 bytes in base64",
            })?;
        Ok(Self {
            key: PKey::hmac(&secret).map_err(openssl)?,
        })
    }

    /// The token for `user` at `now` (epoch seconds).
    ///
    /// # Errors
    /// When OpenSSL cannot compute the MAC.
    pub fn issue(&self, user: &Userid, now: i64) -> Result<String, openssl::error::ErrorStack> {
        let time = format!("{now:08X}");
        Ok(format!(
            "{time}:{}",
            STANDARD_NO_PAD.encode(self.mac(&time, user)?)
        ))
    }

    /// Whether `token` was issued by us to `user` and is inside its lifetime at `now`.
    #[must_use]
    pub fn verify(&self, token: &str, user: &Userid, now: i64) -> bool {
        let Some((time, mac)) = token.split_once(':') else {
            return false;
        };
        let Some(issued) = ticket::parse_time(time) else {
            return false;
        };
        let (Ok(given), Ok(expected)) = (
            STANDARD_NO_PAD.decode(mac.trim_end_matches('=')),
            self.mac(time, user),
        ) else {
            return false;
        };
        let same = given.len() == expected.len() && openssl::memcmp::eq(&given, &expected);
        same && ticket::is_current(issued, now)
    }

    fn mac(&self, time: &str, user: &Userid) -> Result<Vec<u8>, openssl::error::ErrorStack> {
        let mut signer = Signer::new(MessageDigest::sha3_256(), &self.key)?;
        signer.update(format!("{time}:{user}:").as_bytes())?;
        signer.sign_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_one_user_and_one_server() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = CsrfKey::load_or_create(dir.path()).unwrap();
        let foreign = CsrfKey::load_or_create(other.path()).unwrap();
        let (admin, guest): (Userid, Userid) = ("admin@pbs".parse().unwrap(), "guest@pbs".parse().unwrap());
        let now = 0x6000_0000;
        let token = key.issue(&admin, now).unwrap();
        assert!(
            CsrfKey::load_or_create(dir.path())
                .unwrap()
                .verify(&token, &admin, now)
        );
        assert!(key.verify(&token, &admin, now + ticket::TICKET_LIFETIME_S));
        assert!(!key.verify(&token, &admin, now + ticket::TICKET_LIFETIME_S + 1));
        assert!(!key.verify(&token, &guest, now));
        assert!(!foreign.verify(&token, &admin, now));
        for wrong in [
            "",
            ":",
            "60000000:",
            "60000000:AAAA",
            "6000000:x",
            &token[..token.len() - 1],
        ] {
            assert!(!key.verify(wrong, &admin, now), "{wrong}");
        }
    }
}
