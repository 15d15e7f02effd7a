//! SHA-256, the one hash of all formats.
//!
//! Libraries agree where the CPU has SHA instructions. Where it has none, OpenSSL's vector code hashes about twice
//! as fast as portable code, and hashing is most of what a restore costs there; several messages at once are hashed
//! faster still.

mod many;
#[cfg(target_arch = "x86_64")]
mod vector;

pub use many::{Message, digests, digests_at_once};

/// A SHA-256 that is fed piece by piece.
#[derive(Clone)]
pub struct Sha256(openssl::sha::Sha256);

impl Sha256 {
    /// The state before the first byte.
    pub fn new() -> Self {
        ready();
        Self(openssl::sha::Sha256::new())
    }

    /// Hash of `bytes` in one go.
    pub fn digest(bytes: impl AsRef<[u8]>) -> [u8; 32] {
        ready();
        openssl::sha::sha256(bytes.as_ref())
    }

    /// Adds `bytes`.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    /// Adds `bytes`, in an expression.
    #[must_use]
    pub fn chain_update(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.update(bytes);
        self
    }

    /// The hash of all that was added.
    pub fn finalize(self) -> [u8; 32] {
        self.0.finish()
    }
}

/// Sets OpenSSL up before its first use; later calls cost one atomic load.
///
/// Its hash functions set it up by themselves, but then it cleans up when the process exits, while other threads end and
/// clean up, too: the process crashes after its work is done. `openssl::init` leaves that clean-up out.
fn ready() {
    openssl::init();
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sha256").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Sha256;

    /// FIPS 180-4's examples (NIST, "Secure Hash Standard: SHA-256 examples").
    #[test]
    fn known_answers() {
        let answers: [(&[u8], &str); 4] = [
            (
                b"",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                b"abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                &[b'a'; 1_000_000],
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ];
        for (input, hash) in answers {
            assert_eq!(hex::encode(Sha256::digest(input)), hash);
        }
    }

    #[test]
    fn pieces_hash_like_the_whole() {
        let bytes: Vec<u8> = (0..1000_u32).map(|n| (n % 251) as u8).collect();
        for size in [1, 63, 64, 65, 1000] {
            let mut pieces = Sha256::default();
            for piece in bytes.chunks(size) {
                pieces.update(piece);
            }
            assert_eq!(pieces.finalize(), Sha256::digest(&bytes), "{size}");
        }
        let (head, tail) = bytes.split_at(500);
        let chained = Sha256::new().chain_update(head).chain_update(tail);
        assert_eq!(chained.clone().finalize(), Sha256::digest(&bytes));
    }
}
