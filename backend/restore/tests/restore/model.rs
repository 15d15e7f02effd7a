//! Random archives against a plain `Vec<u8>`: zeros, repeats, short tails, both kinds of index, with and without a key.

use std::sync::Arc;

use fleethold_datastore::{ChunkSource, RecordingSource};
use fleethold_format::crypt::CryptKey;
use fleethold_restore::{FileOptions, FileSink, Sink};
use proptest::prelude::*;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::{Cut, Image, engine_of, stream};

const CHUNK: usize = 4096;

/// What a position holds: 0 is zeros, equal numbers are equal chunks.
fn content(kinds: &[u8], tail: usize, seed: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(kinds.len() * CHUNK);
    for kind in kinds {
        let mut chunk = [0; CHUNK];
        if *kind > 0 {
            ChaCha8Rng::seed_from_u64(seed ^ u64::from(*kind)).fill_bytes(&mut chunk);
        }
        bytes.extend_from_slice(&chunk);
    }
    // A short tail: the last chunk loses some of its bytes.
    bytes.truncate(bytes.len() - tail);
    bytes
}

/// Lengths that cut `bytes` so that equal chunks stay equal: multiples of a chunk.
fn lengths(bytes: usize, pattern: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut rest = bytes;
    for step in pattern.iter().cycle() {
        let len = (usize::from(*step) * CHUNK).min(rest);
        lengths.push(len);
        rest -= len;
        if rest == 0 {
            break;
        }
    }
    lengths
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_archive_restores_to_its_bytes(
        kinds in prop::collection::vec(0_u8..6, 1..60),
        tail in 0_usize..CHUNK,
        pattern in prop::collection::vec(1_u8..4, 1..4),
        dynamic: bool,
        encrypted: bool,
        parallel in 1_usize..9,
        seed: u64,
    ) {
        let bytes = content(&kinds, tail, seed);
        let cut = if dynamic { Cut::Dynamic(lengths(bytes.len(), &pattern)) } else { Cut::Fixed(CHUNK as u64) };
        let key = encrypted.then(|| CryptKey::new([7; 32]).expect("a key"));
        let image = Image::new(bytes, &cut, key);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(check(&image, parallel));
    }
}

async fn check(image: &Image, parallel: usize) {
    let engine = engine_of(64 << 20);
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("image");
    let counts = image.plan().counts();

    let recording = Arc::new(RecordingSource::new(
        Arc::clone(&image.source) as Arc<dyn ChunkSource>
    ));
    let source = || Arc::clone(&recording) as Arc<dyn ChunkSource>;
    let sink = FileSink::create(&target, FileOptions::default()).expect("a file");
    let mut request = image.request_from(source(), Sink::File(sink));
    (request.parallel, request.sha256) = (parallel, true);
    let report = engine.execute(request).await.expect("a restore to a file");
    assert_eq!(std::fs::read(&target).expect("the file"), image.bytes);
    assert_eq!(report.sha256, Some(image.sha256()));
    assert_eq!(
        recording.stats().fetches,
        counts.chunks_distinct,
        "each distinct chunk once"
    );
    assert!(recording.most_fetches_of_one() <= 1);
    assert_eq!(report.bytes_written + report.zero_bytes, counts.bytes_total);
    assert_eq!(
        counts.chunks_distinct + counts.duplicate_chunks + counts.zero_chunks,
        counts.chunks_total
    );
    assert_eq!(counts.chunks_total, image.digests.len() as u64);

    for sha256 in [false, true] {
        let (report, content) = stream(&engine, |sink| {
            let mut request = image.request_from(source(), sink);
            (request.parallel, request.sha256) = (parallel, sha256);
            request
        })
        .await;
        let report = report.expect("a restore to a stream");
        assert_eq!(content.expect("a clean end"), image.bytes);
        assert_eq!(report.sha256, sha256.then(|| image.sha256()));
        assert_eq!(report.refetched, 0, "everything fits into the budget");
        assert_eq!(report.chunks_fetched, counts.chunks_distinct);
    }

    let mut request = image.request_from(source(), Sink::Null);
    (request.parallel, request.sha256) = (parallel, true);
    let report = engine.execute(request).await.expect("a restore to null");
    assert_eq!(report.sha256, Some(image.sha256()));

    let budget = engine.stats().budget;
    assert_eq!((budget.used_bytes, budget.jobs), (0, 0));
    assert!(budget.high_water_bytes <= budget.total_bytes);
}
