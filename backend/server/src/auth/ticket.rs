//! Log-in tickets as PBS makes them: `PBS:<userid>:<8 hex time>::<base64 Ed25519 signature>`
//! (API.md §2.1). The signature covers everything before the `::`.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use fleethold_format::names::Userid;
use openssl::pkey::{Id, PKey, Private};
use openssl::sign::{Signer, Verifier};
use zeroize::Zeroizing;

use super::key_file::{self, KeyError};

/// How long a ticket is good for, in seconds (API.md §2.1).
pub const TICKET_LIFETIME_S: i64 = 7200;
/// How far in the future a ticket's time may lie, for clocks that differ.
pub(super) const CLOCK_TOLERANCE_S: i64 = 300;
/// No ticket of ours is longer: 3 + 64 characters of user, time and an 86 character signature.
const MAX_TICKET_LEN: usize = 512;

/// Why a ticket was not accepted.
#[derive(Debug, thiserror::Error, Eq, PartialEq)]
#[non_exhaustive]
pub enum TicketError {
    /// Not of the form `PBS:<userid>:<time>::<signature>`.
    #[error("malformed ticket")]
    Malformed,
    /// The signature is not ours.
    #[error("ticket signature does not match")]
    Signature,
    /// Older than [`TICKET_LIFETIME_S`], or from the future.
    #[error("ticket expired or not yet valid")]
    Expired,
}

/// What a valid ticket says.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct TicketClaims {
    /// Whose ticket it is.
    pub user: Userid,
    /// When it was issued, epoch seconds.
    pub issued: i64,
}

impl TicketClaims {
    /// Whether the ticket is inside its lifetime at `now` (epoch seconds).
    #[must_use]
    pub fn is_current(&self, now: i64) -> bool {
        is_current(self.issued, now)
    }
}

/// Whether something issued at `issued` is inside the ticket lifetime at `now`.
pub(super) fn is_current(issued: i64, now: i64) -> bool {
    let age = now.saturating_sub(issued);
    (-CLOCK_TOLERANCE_S..=TICKET_LIFETIME_S).contains(&age)
}

/// The server's signing key.
pub struct TicketKey {
    key: PKey<Private>,
}

impl TicketKey {
    /// Loads `authkey.key` from the configuration directory, or creates it (PEM, Ed25519, 0600).
    ///
    /// # Errors
    /// When the file cannot be read or created, or does not hold an Ed25519 private key.
    pub fn load_or_create(config_dir: &Path) -> Result<Self, KeyError> {
        let path = config_dir.join("authkey.key");
        let openssl = |source| KeyError::OpenSsl {
            path: path.clone(),
            source,
        };
        let pem = key_file::load_or_create(&path, || {
            PKey::generate_ed25519()
                .and_then(|key| key.private_key_to_pem_pkcs8())
                .map(Zeroizing::new)
                .map_err(openssl)
        })?;
        let key = PKey::private_key_from_pem(&pem)
            .ok()
            .filter(|key| key.id() == Id::ED25519)
            .ok_or(KeyError::Invalid {
                path,
                expected: "Ed25519 private key in PEM",
            })?;
        Ok(Self { key })
    }

    /// Makes a ticket for `user`, issued at `now` (epoch seconds).
    ///
    /// # Errors
    /// When OpenSSL cannot sign.
    pub fn issue(&self, user: &Userid, now: i64) -> Result<String, openssl::error::ErrorStack> {
        let signed = format!("PBS:{user}:{now:08X}");
        let signature = Signer::new_without_digest(&self.key)?.sign_oneshot_to_vec(signed.as_bytes())?;
        Ok(format!("{signed}::{}", STANDARD_NO_PAD.encode(signature)))
    }

    /// Checks form, signature and lifetime of `ticket` at `now`.
    ///
    /// # Errors
    /// Says which of the three did not hold.
    pub fn verify(&self, ticket: &str, now: i64) -> Result<TicketClaims, TicketError> {
        if ticket.len() > MAX_TICKET_LEN {
            return Err(TicketError::Malformed);
        }
        let (signed, signature) = ticket.rsplit_once("::").ok_or(TicketError::Malformed)?;
        let (user, time) = signed
            .strip_prefix("PBS:")
            .and_then(|rest| rest.rsplit_once(':'))
            .ok_or(TicketError::Malformed)?;
        let issued = parse_time(time).ok_or(TicketError::Malformed)?;
        let user: Userid = user.parse().map_err(|_| TicketError::Malformed)?;
        let signature = STANDARD_NO_PAD
            .decode(signature.trim_end_matches('='))
            .map_err(|_| TicketError::Malformed)?;
        let genuine = Verifier::new_without_digest(&self.key)
            .and_then(|mut verifier| verifier.verify_oneshot(&signature, signed.as_bytes()));
        // OpenSSL reports a signature of the wrong length as an error; to us it is simply not genuine.
        if !matches!(genuine, Ok(true)) {
            return Err(TicketError::Signature);
        }
        let claims = TicketClaims { user, issued };
        if claims.is_current(now) {
            Ok(claims)
        } else {
            Err(TicketError::Expired)
        }
    }
}

/// Eight hex digits, as `%08X` writes them.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    (text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit()))
        .then(|| i64::from_str_radix(text, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> (tempfile::TempDir, TicketKey) {
        let dir = tempfile::tempdir().unwrap();
        let key = TicketKey::load_or_create(dir.path()).unwrap();
        (dir, key)
    }

    #[test]
    fn a_ticket_says_who_and_when() {
        let (dir, key) = key();
        let user: Userid = "admin@pbs".parse().unwrap();
        let ticket = key.issue(&user, 0x6000_0000).unwrap();
        assert!(ticket.starts_with("PBS:admin@pbs:60000000::"), "{ticket}");
        let again = TicketKey::load_or_create(dir.path()).unwrap();
        assert_eq!(
            again.verify(&ticket, 0x6000_0000 + TICKET_LIFETIME_S).unwrap(),
            TicketClaims {
                user,
                issued: 0x6000_0000
            }
        );
    }

    #[test]
    fn altered_expired_and_foreign_tickets_are_refused() {
        let (_dir, key) = key();
        let (_other_dir, other) = self::key();
        let user: Userid = "admin@pbs".parse().unwrap();
        let now = 0x6000_0000;
        let ticket = key.issue(&user, now).unwrap();
        let cases = [
            (ticket.clone(), now + TICKET_LIFETIME_S + 1, TicketError::Expired),
            (ticket.clone(), now - CLOCK_TOLERANCE_S - 1, TicketError::Expired),
            (ticket.replace("admin", "edmin"), now, TicketError::Signature),
            (
                ticket.replace("60000000", "60000001"),
                now,
                TicketError::Signature,
            ),
            (other.issue(&user, now).unwrap(), now, TicketError::Signature),
            (ticket.replace("::", ":"), now, TicketError::Malformed),
            (ticket.replace("PBS", "PVE"), now, TicketError::Malformed),
            (
                format!("{ticket}{}", "A".repeat(600)),
                now,
                TicketError::Malformed,
            ),
            (String::new(), now, TicketError::Malformed),
            ("::".into(), now, TicketError::Malformed),
        ];
        for (text, at, expected) in cases {
            assert_eq!(key.verify(&text, at).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn the_key_file_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let (dir, _key) = key();
        let mode = std::fs::metadata(dir.path().join("authkey.key"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
