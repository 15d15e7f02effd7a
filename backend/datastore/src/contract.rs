//! What every [`ChunkSource`] promises, as a suite that runs on each implementation.
//!
//! ```ignore
//! contract::check(&source, &Expectation::new(chunks, missing)).await;
//! ```
//! Assertions panic: this is for tests only (feature `testing`).
#![expect(clippy::panic, reason = "a broken promise fails the test that runs the suite")]

use fleethold_format::digest::ChunkDigest;
use futures_util::future::join_all;

use crate::source::{ChunkSource, SourceError, SourceErrorKind};

/// What the source under test holds.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// At least two chunks of different stored lengths, with their stored bytes.
    pub chunks: Vec<(ChunkDigest, Vec<u8>)>,
    /// A chunk that is not there.
    pub missing: ChunkDigest,
}

/// Runs all checks on `source`.
///
/// # Panics
/// When a promise is broken.
pub async fn check(source: &dyn ChunkSource, expectation: &Expectation) {
    assert!(expectation.chunks.len() >= 2, "the suite needs two chunks");
    assert!(
        !source.describe().is_empty(),
        "describe() says what the source is"
    );
    gives_stored_bytes(source, expectation).await;
    ignores_what_was_in_the_buffer(source, expectation).await;
    reserves_no_more_than_allowed(source, expectation).await;
    refuses_what_is_too_large(source, expectation).await;
    names_what_is_missing(source, expectation).await;
    serves_many_at_once(source, expectation).await;
    survives_being_given_up(source, expectation).await;
}

async fn gives_stored_bytes(source: &dyn ChunkSource, expectation: &Expectation) {
    for (digest, stored) in &expectation.chunks {
        // Exactly the stored length is enough.
        let fetched = source.fetch(*digest, stored.len(), Vec::new()).await;
        assert_eq!(&must(fetched), stored, "stored bytes of {digest}");
    }
}

async fn ignores_what_was_in_the_buffer(source: &dyn ChunkSource, expectation: &Expectation) {
    for (digest, stored) in &expectation.chunks {
        let used = vec![0xa5; stored.len() + 17];
        assert_eq!(
            &must(source.fetch(*digest, stored.len() + 17, used).await),
            stored
        );
    }
}

async fn reserves_no_more_than_allowed(source: &dyn ChunkSource, expectation: &Expectation) {
    for (digest, stored) in &expectation.chunks {
        let fetched = must(source.fetch(*digest, stored.len() * 2, Vec::new()).await);
        assert!(
            fetched.capacity() <= stored.len() * 2,
            "{digest}: capacity {} for at most {} bytes",
            fetched.capacity(),
            stored.len() * 2
        );
    }
}

async fn refuses_what_is_too_large(source: &dyn ChunkSource, expectation: &Expectation) {
    for (digest, stored) in &expectation.chunks {
        let error = must_fail(source.fetch(*digest, stored.len() - 1, Vec::new()).await);
        let expected = SourceErrorKind::TooLarge {
            encoded_bytes: stored.len() as u64,
            max_bytes: stored.len() as u64 - 1,
        };
        assert_eq!((error.kind, error.digest), (expected, *digest));
    }
}

async fn names_what_is_missing(source: &dyn ChunkSource, expectation: &Expectation) {
    let error = must_fail(source.fetch(expectation.missing, 1 << 20, Vec::new()).await);
    assert_eq!(
        (error.kind, error.digest),
        (SourceErrorKind::NotFound, expectation.missing)
    );
    let text = error.to_string();
    assert!(text.contains(&expectation.missing.to_string()), "{text}");
    assert!(text.contains("removed by prune or garbage collection?"), "{text}");
}

async fn serves_many_at_once(source: &dyn ChunkSource, expectation: &Expectation) {
    let fetches = (0..200)
        .zip(expectation.chunks.iter().cycle())
        .map(|(_, (digest, stored))| async move {
            (
                must(source.fetch(*digest, stored.len(), Vec::new()).await) == *stored,
                digest,
            )
        });
    for (equal, digest) in join_all(fetches).await {
        assert!(equal, "stored bytes of {digest} while others are fetched");
    }
}

async fn survives_being_given_up(source: &dyn ChunkSource, expectation: &Expectation) {
    for (digest, stored) in expectation.chunks.iter().cycle().take(100) {
        let mut fetch = source.fetch(*digest, stored.len(), Vec::new());
        // Polled at most once, then dropped.
        drop(futures_util::poll!(&mut fetch));
    }
    gives_stored_bytes(source, expectation).await;
}

fn must(outcome: Result<Vec<u8>, SourceError>) -> Vec<u8> {
    outcome.unwrap_or_else(|error| panic!("fetch failed: {error}"))
}

fn must_fail(outcome: Result<Vec<u8>, SourceError>) -> SourceError {
    match outcome {
        Ok(encoded) => panic!("fetch gave {} bytes, expected an error", encoded.len()),
        Err(error) => error,
    }
}
