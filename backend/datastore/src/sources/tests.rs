//! The contract suite on every source, and what each adds to it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::contract::{Expectation, check};
use crate::fixture::StoreWriter;
use crate::sources::{Fault, FaultRule, ThrottleProfile};
use crate::{
    ChunkSource, Datastore, FaultySource, LocalSource, MemorySource, RecordingSource, SourceErrorKind,
    ThrottledSource,
};
use fleethold_format::blob::EncodeOptions;
use fleethold_format::digest::ChunkDigest;
use tokio::time::Instant;

const PLAIN: EncodeOptions<'_> = EncodeOptions {
    compress: false,
    key: None,
};

fn store_with_chunks() -> (tempfile::TempDir, LocalSource, Expectation) {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = StoreWriter::create(dir.path()).unwrap();
    let chunks = [&b"one"[..], &[7; 70_000], b"third chunk"]
        .map(|plain| writer.chunk(plain, PLAIN).unwrap().0)
        .map(|digest| (digest, fs::read(writer.chunk_file(&digest)).unwrap()));
    let source = Datastore::open("test".parse().unwrap(), dir.path())
        .unwrap()
        .chunk_source()
        .unwrap();
    (
        dir,
        source,
        Expectation {
            chunks: chunks.to_vec(),
            missing: ChunkDigest::of(b"not there"),
        },
    )
}

fn memory(expectation: &Expectation) -> Arc<MemorySource> {
    let source = MemorySource::new();
    for (digest, stored) in &expectation.chunks {
        source.insert(*digest, stored.clone());
    }
    Arc::new(source)
}

#[tokio::test]
async fn local_keeps_the_contract() {
    let (_dir, source, expectation) = store_with_chunks();
    check(&source, &expectation).await;
    check(&source.with_reads(1).unwrap(), &expectation).await;
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    let (_dir, _, expectation) = store_with_chunks();
    check(&*memory(&expectation), &expectation).await;
}

#[tokio::test(start_paused = true)]
async fn throttled_keeps_the_contract() {
    let (_dir, _, expectation) = store_with_chunks();
    let profile = ThrottleProfile {
        latency: Duration::from_millis(3),
        bandwidth_bytes_per_s: Some(1 << 20),
        queue_depth: Some(2),
        seek: Duration::from_millis(8),
        spindle_bytes_per_s: Some(50 << 20),
    };
    check(&ThrottledSource::new(memory(&expectation), profile), &expectation).await;
}

#[tokio::test]
async fn recording_keeps_the_contract() {
    let (_dir, source, expectation) = store_with_chunks();
    check(&RecordingSource::new(Arc::new(source)), &expectation).await;
}

#[tokio::test]
async fn faulty_without_faults_keeps_the_contract() {
    let (_dir, _, expectation) = store_with_chunks();
    let rules = [
        FaultRule::every(0, Fault::Error),
        FaultRule::on(ChunkDigest::of(b"other"), Fault::Error),
    ];
    let source = FaultySource::new(memory(&expectation), 1, rules);
    check(&source, &expectation).await;
    assert_eq!(source.faults(), 0);
}

#[tokio::test]
async fn local_names_what_stands_in_the_place_of_a_chunk() {
    let (dir, source, expectation) = store_with_chunks();
    let path = |digest: &ChunkDigest| StoreWriter::create(dir.path()).unwrap().chunk_file(digest);
    let fetch = async |digest| source.fetch(digest, 1 << 20, Vec::new()).await.unwrap_err();
    let digests: Vec<_> = expectation.chunks.iter().map(|(digest, _)| *digest).collect();

    fs::write(path(&digests[0]), b"").unwrap();
    let error = fetch(digests[0]).await;
    assert_eq!(error.kind, SourceErrorKind::Empty);
    assert!(error.to_string().contains(".chunks/"), "{error}");

    fs::rename(path(&digests[1]), dir.path().join("away")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("away"), path(&digests[1])).unwrap();
    assert_eq!(fetch(digests[1]).await.kind, SourceErrorKind::Io);

    fs::remove_file(path(&digests[2])).unwrap();
    fs::create_dir(path(&digests[2])).unwrap();
    assert_eq!(fetch(digests[2]).await.kind, SourceErrorKind::NotAFile);
    assert_eq!(source.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn throttle_adds_latency_to_each_and_shares_the_line() {
    let (_dir, _, expectation) = store_with_chunks();
    let (digest, stored) = expectation.chunks[1].clone();
    let run = async |profile: ThrottleProfile| {
        let source = ThrottledSource::new(memory(&expectation), profile);
        let begin = Instant::now();
        let fetches = (0..10).map(|_| source.fetch(digest, 1 << 20, Vec::new()));
        for fetched in futures_util::future::join_all(fetches).await {
            assert_eq!(fetched.unwrap(), stored);
        }
        assert_eq!(source.waiting(), 0);
        begin.elapsed()
    };
    // The clock is the test's own: these are exact but for its granularity of a millisecond.
    let near = |found: Duration, ms: u64| {
        assert!(
            found >= Duration::from_millis(ms) && found <= Duration::from_millis(ms + 12),
            "{found:?}"
        );
    };
    let latency = Duration::from_millis(60);
    near(
        run(ThrottleProfile {
            latency,
            ..Default::default()
        })
        .await,
        60,
    );
    let line = Some(stored.len() as u64 * 10);
    near(
        run(ThrottleProfile {
            bandwidth_bytes_per_s: line,
            ..Default::default()
        })
        .await,
        1000,
    );
    let seek = Duration::from_millis(10);
    near(
        run(ThrottleProfile {
            seek,
            queue_depth: Some(2),
            ..Default::default()
        })
        .await,
        50,
    );
    near(
        run(ThrottleProfile {
            seek,
            ..Default::default()
        })
        .await,
        10,
    );
    // Ten transfers of 100 ms on two spindles, each after a seek.
    near(
        run(ThrottleProfile {
            seek,
            queue_depth: Some(2),
            spindle_bytes_per_s: line,
            ..Default::default()
        })
        .await,
        550,
    );
}

#[tokio::test(start_paused = true)]
async fn recording_counts_fetches_bytes_and_concurrency() {
    let (_dir, _, expectation) = store_with_chunks();
    let slow = ThrottledSource::with_latency(memory(&expectation), Duration::from_millis(5));
    let source = RecordingSource::with_capacity(Arc::new(slow), 2);
    let digests: Vec<_> = expectation.chunks.iter().map(|(digest, _)| *digest).collect();
    let order = [0, 1, 0, 2].map(|at: usize| source.fetch(digests[at], 1 << 20, Vec::new()));
    let fetched = futures_util::future::join_all(order).await;
    let bytes: usize = fetched
        .iter()
        .map(|fetched| fetched.as_ref().unwrap().len())
        .sum();
    source
        .fetch(expectation.missing, 1, Vec::new())
        .await
        .unwrap_err();
    drop(futures_util::poll!(source.fetch(digests[0], 1 << 20, Vec::new())));

    let stats = source.stats();
    assert_eq!(
        (stats.fetches, stats.failures, stats.encoded_bytes),
        (6, 1, bytes as u64)
    );
    assert_eq!(
        (stats.max_in_flight, stats.in_flight),
        (4, 0),
        "given up, not running"
    );
    assert_eq!((source.distinct(), stats.forgotten), (2, 2), "room for two");
    assert_eq!(
        (source.fetches_of(&digests[0]), source.most_fetches_of_one()),
        (3, 3)
    );
}

#[tokio::test]
async fn faults_strike_every_nth_time_and_only_where_told() {
    let (_dir, _, expectation) = store_with_chunks();
    let (digest, stored) = expectation.chunks[1].clone();
    let other = expectation.chunks[0].clone();
    let strikes = async |seed| {
        let source = FaultySource::new(memory(&expectation), seed, [FaultRule::every(4, Fault::Error)]);
        let mut strikes = Vec::new();
        for number in 0..40 {
            match source.fetch(digest, 1 << 20, Vec::new()).await {
                Ok(fetched) => assert_eq!(fetched, stored),
                Err(error) => {
                    assert_eq!(error.kind, SourceErrorKind::Io);
                    strikes.push(number);
                }
            }
        }
        assert_eq!(source.faults(), 10);
        strikes
    };
    let first = strikes(1).await;
    assert!(first.windows(2).all(|pair| pair[1] - pair[0] == 4), "{first:?}");
    assert_eq!(first, strikes(1).await);

    let with = |fault| FaultySource::new(memory(&expectation), 7, [FaultRule::on(digest, fault)]);
    let fetch = async |fault| with(fault).fetch(digest, 1 << 20, Vec::new()).await;
    assert_eq!(
        fetch(Fault::Missing).await.unwrap_err().kind,
        SourceErrorKind::NotFound
    );
    assert_eq!(
        fetch(Fault::Short).await.unwrap(),
        stored[..stored.len().div_ceil(2)]
    );
    assert_eq!(fetch(Fault::OtherChunk(other.0)).await.unwrap(), other.1);
    let flipped = fetch(Fault::BitFlip).await.unwrap();
    let bits: u32 = flipped
        .iter()
        .zip(&stored)
        .map(|(left, right)| (left ^ right).count_ones())
        .sum();
    assert_eq!(bits, 1);
    assert_eq!(
        flipped,
        fetch(Fault::BitFlip).await.unwrap(),
        "the same bit for the same seed"
    );
    assert_eq!(
        with(Fault::Error)
            .fetch(other.0, 1 << 20, Vec::new())
            .await
            .unwrap(),
        other.1
    );
}

#[tokio::test]
async fn a_stalled_fetch_waits_until_it_is_released() {
    let (_dir, _, expectation) = store_with_chunks();
    let (digest, stored) = expectation.chunks[1].clone();
    let source = FaultySource::new(memory(&expectation), 1, [FaultRule::every(1, Fault::Stall)]);
    let mut fetch = source.fetch(digest, 1 << 20, Vec::new());
    for _ in 0..3 {
        tokio::task::yield_now().await;
        assert!(futures_util::poll!(&mut fetch).is_pending());
    }
    source.release();
    assert_eq!(fetch.await.unwrap(), stored);
}
