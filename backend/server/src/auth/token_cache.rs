//! Secrets of API tokens that the slow hash has judged, so that it runs once for each.
//!
//! Kept is a keyed digest (HMAC-SHA-256 under a key of this process) beside the stored hash that it was judged against. The
//! entry counts only while `token.shadow` holds that very hash: a new secret or a deleted token ends it with the file.
//! Nothing here tells a secret, and comparing takes the same time whatever is found.

use std::sync::Arc;
use std::time::Duration;

use fleethold_format::hash::Sha256;
use fleethold_format::names::Authid;
use moka::sync::Cache;
use rand::RngCore as _;
use subtle::ConstantTimeEq as _;

/// Tokens whose secret is known to be right.
const RIGHT: u64 = 10_000;
/// Secrets known to be wrong.
const WRONG: u64 = 10_000;
/// How long a wrong one is known: who sends it again and again costs one hash a minute.
const WRONG_FOR: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Right {
    stored: Arc<str>,
    mac: [u8; 32],
}

/// What the slow hash said.
pub(super) struct TokenCache {
    mac: Mac,
    right: Cache<Authid, Right>,
    wrong: Cache<[u8; 32], ()>,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self {
            mac: Mac::random(),
            right: Cache::builder().max_capacity(RIGHT).build(),
            wrong: Cache::builder()
                .max_capacity(WRONG)
                .time_to_live(WRONG_FOR)
                .build(),
        }
    }
}

impl TokenCache {
    /// Whether `secret` was found right for the hash that is stored now.
    pub(super) fn is_right(&self, token: &Authid, secret: &str, stored: &str) -> bool {
        let Some(known) = self.right.get(token) else {
            return false;
        };
        let same = self.mac.of(&[secret]).ct_eq(&known.mac);
        *known.stored == *stored && bool::from(same)
    }

    /// Whether `secret` was found wrong for the hash that is stored now.
    pub(super) fn is_wrong(&self, token: &Authid, secret: &str, stored: &str) -> bool {
        self.wrong.contains_key(&self.wrong_key(token, secret, stored))
    }

    /// Whether some secret was found right for the hash that is stored now.
    pub(super) fn is_known(&self, token: &Authid, stored: &str) -> bool {
        self.right
            .get(token)
            .is_some_and(|known| *known.stored == *stored)
    }

    /// Remembers what the slow hash said.
    pub(super) fn judged(&self, token: &Authid, secret: &str, stored: &Arc<str>, right: bool) {
        if right {
            let mac = self.mac.of(&[secret]);
            let stored = Arc::clone(stored);
            self.right.insert(token.clone(), Right { stored, mac });
        } else {
            self.wrong.insert(self.wrong_key(token, secret, stored), ());
        }
    }

    /// Forgets a token that may not act.
    pub(super) fn forget(&self, token: &Authid) {
        self.right.invalidate(token);
    }

    /// Tokens that are known.
    pub(super) fn len(&self) -> u64 {
        self.right.entry_count()
    }

    fn wrong_key(&self, token: &Authid, secret: &str, stored: &str) -> [u8; 32] {
        // No id and no hash holds a zero byte.
        self.mac.of(&[&token.to_string(), "\0", stored, "\0", secret])
    }
}

/// HMAC-SHA-256 (RFC 2104) with the states behind the key made once.
struct Mac {
    inner: Sha256,
    outer: Sha256,
}

impl Mac {
    fn random() -> Self {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        rand::rng().fill_bytes(&mut *key);
        Self::new(&key)
    }

    fn new(key: &[u8; 32]) -> Self {
        let begun = |pad: u8| {
            let mut block = zeroize::Zeroizing::new([pad; 64]);
            for (byte, key) in block.iter_mut().zip(key) {
                *byte ^= key;
            }
            Sha256::new().chain_update(*block)
        };
        Self {
            inner: begun(0x36),
            outer: begun(0x5c),
        }
    }

    fn of(&self, parts: &[&str]) -> [u8; 32] {
        let mut inner = self.inner.clone();
        for part in parts {
            inner.update(part);
        }
        self.outer.clone().chain_update(inner.finalize()).finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2 with its key padded by zeros, as HMAC pads it.
    #[test]
    fn the_digest_is_hmac_sha_256() {
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let mac = Mac::new(&key).of(&["what do ya want ", "for nothing?"]);
        assert_eq!(
            hex::encode(mac),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_ne!(Mac::random().of(&["x"]), Mac::random().of(&["x"]));
    }

    #[test]
    fn a_judgement_counts_for_one_token_and_one_stored_hash() {
        let cache = TokenCache::default();
        let (ann, bob) = (
            Authid::parse("ann@pbs!tok").unwrap(),
            Authid::parse("bob@pbs!tok").unwrap(),
        );
        let stored: Arc<str> = "$hash".into();
        cache.judged(&ann, "right", &stored, true);
        cache.judged(&ann, "wrong", &stored, false);
        assert!(cache.is_right(&ann, "right", "$hash") && cache.is_known(&ann, "$hash"));
        assert!(!cache.is_right(&ann, "wrong", "$hash") && !cache.is_right(&bob, "right", "$hash"));
        assert!(!cache.is_right(&ann, "right", "$other") && !cache.is_known(&ann, "$other"));
        assert!(cache.is_wrong(&ann, "wrong", "$hash"));
        assert!(!cache.is_wrong(&ann, "wrong", "$other") && !cache.is_wrong(&bob, "wrong", "$hash"));
        cache.forget(&ann);
        assert!(!cache.is_right(&ann, "right", "$hash"));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let cache = TokenCache::default();
        let stored: Arc<str> = "$hash".into();
        for n in 0..2 * RIGHT {
            let token = Authid::parse(&format!("u{n}@pbs!tok")).unwrap();
            cache.judged(&token, "s", &stored, true);
            cache.judged(&token, "w", &stored, false);
        }
        cache.right.run_pending_tasks();
        cache.wrong.run_pending_tasks();
        assert!(cache.len() <= RIGHT && cache.wrong.entry_count() <= WRONG);
    }
}
