//! What the pipeline promises: order of work, faults, cancellation, memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fleethold_datastore::sources::{Fault, FaultRule};
use fleethold_datastore::{ChunkSource, FaultySource, RecordingSource, SourceError, ThrottledSource};
use fleethold_format::digest::ChunkDigest;
use fleethold_restore::{FileOptions, FileSink, Outcome, RestoreErrorKind, Sink, StreamSink};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::sync::watch;

use crate::support::{Cut, Image, engine, engine_of, names, read_all, stream};

const MIB: usize = 1 << 20;

/// `chunks` different chunks, cheap to make: each repeats a few random bytes.
pub(crate) fn random(chunks: usize, chunk: usize) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(chunks as u64);
    let mut bytes = Vec::with_capacity(chunks * chunk);
    for _ in 0..chunks {
        let mut seed = [0; 1000];
        rng.fill_bytes(&mut seed);
        bytes.extend_from_slice(&seed.repeat(chunk.div_ceil(seed.len()))[..chunk]);
    }
    bytes
}

/// Chunks A B A B … of 1 MiB.
fn alternating(chunks: usize) -> Vec<u8> {
    random(2, MIB).repeat(chunks / 2)
}

fn memory(image: &Image) -> Arc<dyn ChunkSource> {
    Arc::clone(&image.source) as Arc<dyn ChunkSource>
}

/// Looks at the world whenever a chunk is asked for.
struct Watching<F> {
    inner: Arc<dyn ChunkSource>,
    look: F,
    fetches: AtomicU64,
}

impl<F: Fn(u64) + Send + Sync + 'static> ChunkSource for Watching<F> {
    fn fetch(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> BoxFuture<'_, Result<Vec<u8>, SourceError>> {
        (self.look)(self.fetches.fetch_add(1, Ordering::SeqCst));
        self.inner.fetch(digest, max_encoded, buf)
    }

    fn describe(&self) -> String {
        "watching".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_parallel_1_a_chunk_is_written_before_the_next_is_asked_for() {
    let image = Image::fixed(random(6, MIB), MIB as u64);
    let progress = watch::Sender::new(fleethold_restore::Progress::default());
    let seen = progress.subscribe();
    let look = move |fetches| {
        assert_eq!(
            seen.borrow().bytes_written,
            fetches * MIB as u64,
            "at fetch {fetches}"
        );
    };
    let source = Arc::new(Watching {
        inner: memory(&image),
        look,
        fetches: AtomicU64::new(0),
    });
    let mut request = image.request_from(source, Sink::Null);
    (request.parallel, request.progress) = (1, progress);
    let report = engine().execute(request).await.expect("a restore");
    assert_eq!(report.chunks_fetched, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_outstanding_reach_the_limit_and_never_pass_it() {
    let image = Image::fixed(random(32, 64 << 10), 64 << 10);
    for parallel in [1, 3, 8] {
        let slow = Arc::new(ThrottledSource::with_latency(
            memory(&image),
            Duration::from_millis(5),
        ));
        let recording = Arc::new(RecordingSource::new(slow));
        let mut request = image.request_from(Arc::clone(&recording) as Arc<dyn ChunkSource>, Sink::Null);
        request.parallel = parallel;
        engine().execute(request).await.expect("a restore");
        assert_eq!(recording.stats().max_in_flight, parallel as u64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordered_target_fetches_a_repeated_chunk_once_while_memory_allows() {
    let image = Image::fixed(alternating(40), MIB as u64);
    let (report, content) = stream(&engine_of(64 << 20), |sink| image.request(sink)).await;
    let report = report.expect("a restore");
    assert_eq!(content.expect("a clean end"), image.bytes);
    assert_eq!((report.chunks_fetched, report.refetched), (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordered_target_fetches_again_what_did_not_fit_and_says_so() {
    // 80 chunks of 1 MiB, then the same 80 again: more than the smallest budget keeps.
    let image = Image::fixed(random(80, MIB).repeat(2), MIB as u64);
    let engine = engine_of(64 << 20);
    let (report, content) = stream(&engine, |sink| image.request(sink)).await;
    let report = report.expect("a restore");
    assert_eq!(content.expect("a clean end"), image.bytes);
    assert!(report.refetched > 0);
    assert!(report.refetched < 80, "some were kept: {}", report.refetched);
    assert_eq!(report.chunks_fetched, 80 + report.refetched);
    let budget = engine.stats().budget;
    assert!(budget.high_water_bytes <= budget.total_bytes, "{budget:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_fetch_names_the_chunk_and_leaves_nothing() {
    let image = Image::fixed(random(8, 64 << 10), 64 << 10);
    let faults = [
        (Fault::Error, "chunk-io"),
        (Fault::Missing, "chunk-missing"),
        (Fault::Short, "blob-crc"),
        (Fault::BitFlip, "blob-crc"),
        (Fault::OtherChunk(image.digests[0]), "chunk-digest"),
    ];
    for (fault, code) in faults {
        let rules = [FaultRule::on(image.digests[5], fault)];
        let faulty: Arc<dyn ChunkSource> = Arc::new(FaultySource::new(memory(&image), 1, rules));
        let directory = tempfile::tempdir().expect("a directory");
        let sink = FileSink::create(&directory.path().join("image"), FileOptions::default()).expect("a file");
        let error = engine()
            .execute(image.request_from(Arc::clone(&faulty), Sink::File(sink)))
            .await
            .expect_err("a fault");
        let place = error.place().expect("a place");
        assert_eq!((place.position, place.offset), (5, 5 * (64 << 10)), "{fault:?}");
        assert_eq!(place.digest, image.digests[5]);
        assert_eq!(names(directory.path()), Vec::<String>::new(), "{fault:?}");
        assert_eq!(error.report().outcome, Outcome::Failed);
        let told = error.report().error.clone().expect("an error in the report");
        assert_eq!((told.code, told.position), (error.code(), Some(5)));
        assert_eq!(told.chunk, Some(image.digests[5].to_string()));
        for part in [
            "drive.img.fidx",
            "vm/100/2024-05-01T10:00:00Z",
            "store test",
            "position 5",
        ] {
            assert!(told.message.contains(part), "{part} in {}", told.message);
        }
        let allowed = [
            code,
            "blob-magic",
            "key-missing",
            "crypt-mode-mismatch",
            "blob-too-short",
        ];
        assert!(allowed.contains(&error.code()), "{fault:?}: {error}");

        let (result, content) = stream(&engine(), |sink| image.request_from(faulty, sink)).await;
        assert_eq!(
            result.expect_err("a fault").place().map(|place| place.position),
            Some(5)
        );
        let reason = content.expect_err("a stream of half an archive has no clean end");
        assert!(reason.contains("chunk") || reason.contains("blob"), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_ends_a_job_whose_source_never_answers() {
    let image = Image::fixed(random(8, 64 << 10), 64 << 10);
    let faulty = Arc::new(FaultySource::new(
        memory(&image),
        1,
        [FaultRule::on(image.digests[3], Fault::Stall)],
    ));
    let directory = tempfile::tempdir().expect("a directory");
    let sink = FileSink::create(&directory.path().join("image"), FileOptions::default()).expect("a file");
    let request = image.request_from(faulty, Sink::File(sink));
    let (cancel, mut progress) = (request.cancel.clone(), request.progress.subscribe());
    let engine = engine();
    let ((), error) = tokio::join!(
        async {
            // All but the stalled chunk are done.
            progress
                .wait_for(|now| now.chunks_done == 7)
                .await
                .expect("a running job");
            assert_eq!(names(directory.path()).len(), 1, "the temporary file");
            cancel.cancel();
        },
        engine.execute(request),
    );
    let error = error.expect_err("cancelled");
    assert!(error.is_cancelled());
    assert_eq!(
        (error.code(), error.report().outcome),
        ("cancelled", Outcome::Cancelled)
    );
    assert_eq!(names(directory.path()), Vec::<String>::new());
    assert_eq!(engine.stats().budget.used_bytes, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_job_removes_its_file_and_ends_its_stream_with_an_error() {
    let image = Image::fixed(random(8, 64 << 10), 64 << 10);
    let stalled = || {
        Arc::new(FaultySource::new(
            memory(&image),
            1,
            [FaultRule::every(1, Fault::Stall)],
        )) as Arc<dyn ChunkSource>
    };
    let directory = tempfile::tempdir().expect("a directory");
    let sink = FileSink::create(&directory.path().join("image"), FileOptions::default()).expect("a file");
    let request = image.request_from(stalled(), Sink::File(sink));
    let engine = engine();
    assert!(engine.execute(request).now_or_never().is_none());
    assert_eq!(names(directory.path()), Vec::<String>::new());

    let (sink, receiver) = StreamSink::channel(1);
    assert!(
        engine
            .execute(image.request_from(stalled(), Sink::Stream(sink)))
            .now_or_never()
            .is_none()
    );
    assert!(
        read_all(receiver)
            .await
            .expect_err("no clean end")
            .contains("dropped")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn twelve_jobs_share_the_smallest_budget_and_all_finish() {
    let image = Arc::new(Image::fixed(random(12, 4 * MIB), 4 * MIB as u64));
    let engine = engine_of(64 << 20);
    let jobs: Vec<_> = (0..12)
        .map(|number| {
            let (engine, image) = (engine.clone(), Arc::clone(&image));
            tokio::spawn(async move {
                if number % 2 == 0 {
                    let mut request = image.request(Sink::Null);
                    request.parallel = 16;
                    engine.execute(request).await.expect("a restore");
                } else {
                    let (report, content) = stream(&engine, |sink| image.request(sink)).await;
                    report.expect("a restore");
                    assert_eq!(content.expect("a clean end"), image.bytes);
                }
            })
        })
        .collect();
    for job in jobs {
        job.await.expect("a job");
    }
    let budget = engine.stats().budget;
    assert_eq!((budget.used_bytes, budget.jobs), (0, 0));
    assert!(budget.high_water_bytes <= budget.total_bytes, "{budget:?}");
    assert!(budget.idle_bytes <= budget.total_bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_ends_with_everything_accounted_for() {
    let mut bytes = alternating(4);
    bytes.extend_from_slice(&vec![0; 3 * MIB]);
    bytes.extend_from_slice(&random(1, 1000));
    let image = Image::fixed(bytes, MIB as u64);
    let request = image.request(Sink::Null);
    let progress = request.progress.subscribe();
    let report = engine().execute(request).await.expect("a restore");
    let last = *progress.borrow();
    assert_eq!(
        (last.bytes_done, last.bytes_total),
        (report.bytes_total, image.bytes.len() as u64)
    );
    assert_eq!((last.chunks_done, last.chunks_total), (8, 8));
    assert_eq!((last.chunks_fetched, last.chunks_duplicate), (3, 2));
    assert_eq!((last.zero_bytes, last.in_flight), (3 * MIB as u64, 0));
    assert!(last.fetch_ns > 0 && last.decode_ns > 0);
    assert!(report.cpu_ns > 0 && report.rate_bytes_per_s > 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_manifest_contradicts_is_refused_before_the_first_fetch() {
    let image = Image::fixed(random(4, 4096), 4096);
    let recording = Arc::new(RecordingSource::new(memory(&image)));
    let request = || image.request_from(Arc::clone(&recording) as Arc<dyn ChunkSource>, Sink::Null);

    let mut other = request();
    other.file.csum[0] ^= 1;
    let error = engine().execute(other).await.expect_err("another checksum");
    assert!(
        matches!(error.kind(), RestoreErrorKind::IndexCsum { .. }),
        "{error}"
    );

    let mut other = request();
    other.file.size += 1;
    assert_eq!(
        engine().execute(other).await.expect_err("another size").code(),
        "index-size"
    );

    let mut other = request();
    other.file.crypt_mode = fleethold_format::crypt::CryptMode::Encrypt;
    assert_eq!(
        engine().execute(other).await.expect_err("no key").code(),
        "key-missing"
    );

    assert_eq!(recording.stats().fetches, 0);
}

/// Chunks of equal length at positions 0 and 1, exchanged in place after the plan was made: each is still a good chunk.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_changed_after_its_plan_is_noticed() {
    let image = Image::fixed(random(4, 4096), 4096);
    let directory = tempfile::tempdir().expect("a directory");
    let sink = FileSink::create(&directory.path().join("image"), FileOptions::default()).expect("a file");
    let request = image.request(Sink::File(sink));
    let mut bytes = std::fs::read(&image.index_path).expect("the index");
    let (first, second) = bytes[4096..].split_at_mut(32);
    first.swap_with_slice(&mut second[..32]);
    std::fs::write(&image.index_path, bytes).expect("changing the index in place");
    let error = engine().execute(request).await.expect_err("a changed index");
    assert_eq!(error.code(), "index-changed", "{error}");
    assert_eq!(names(directory.path()), Vec::<String>::new());
}

/// The places of a repeated chunk are read from a dynamic index before its checksum is known again.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_is_written_only_where_the_index_still_names_its_chunk() {
    for (at, what) in [(8_usize, "digest"), (0, "end")] {
        let (one, two) = (random(1, 5000), random(2, 4000));
        let bytes = [one.clone(), two, one].concat();
        let image = Image::new(bytes, &Cut::Dynamic(vec![5000, 8000, 5000]), None);
        let directory = tempfile::tempdir().expect("a directory");
        let sink = FileSink::create(&directory.path().join("image"), FileOptions::default()).expect("a file");
        let request = image.request(Sink::File(sink));
        let mut index = std::fs::read(&image.index_path).expect("the index");
        index[4096 + 2 * 40 + at] ^= 1;
        std::fs::write(&image.index_path, index).expect("changing the index in place");
        let error = engine().execute(request).await.expect_err("a changed index");
        assert_eq!(error.code(), "index-changed", "{what}: {error}");
        let place = error.place().expect("the place that is not written");
        assert_eq!((place.position, place.offset), (2, 13_000), "{what}");
        assert!(error.to_string().contains("root.pxar.didx"), "{error}");
        assert_eq!(names(directory.path()), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_cut_short_after_its_plan_is_an_error_like_any_other() {
    let image = Image::fixed(random(4, 4096), 4096);
    let request = image.request(Sink::Null);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&image.index_path)
        .expect("the index");
    file.set_len(4096 + 32).expect("cutting the index");
    let error = engine().execute(request).await.expect_err("a short index");
    assert_eq!(error.code(), "io", "{error}");
    assert!(error.to_string().contains("drive.img.fidx"), "{error}");
}
