//! Readers of streams that stop reading, or go away: what it costs others, and when it ends.

use std::time::Duration;

use fleethold_format::blob::{BlobEncoder, EncodeOptions};
use fleethold_restore::{BlobRequest, FileOptions, FileSink, Progress, Sink, StreamSink};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::pipeline::random;
use crate::support::{Image, engine_of, identity, read_all, stream};

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_away_ends_its_job_and_one_that_stops_reading_holds_up_no_other() {
    let image = Image::fixed(random(48, MIB), MIB as u64);
    let engine = engine_of(64 << 20);
    // Three readers that read nothing take what memory they may have.
    let stuck: Vec<_> = (0..3)
        .map(|_| {
            let (sink, receiver) = StreamSink::channel(1);
            let (engine, request) = (engine.clone(), image.request(Sink::Stream(sink)));
            (
                tokio::spawn(async move { engine.execute(request).await }),
                receiver,
            )
        })
        .collect();
    while engine.stats().budget.jobs < 3 {
        tokio::task::yield_now().await;
    }
    engine
        .execute(image.request(Sink::Null))
        .await
        .expect("another job goes on");
    let (report, content) = stream(&engine, |sink| image.request(sink)).await;
    report.expect("another stream goes on");
    assert_eq!(content.expect("a clean end"), image.bytes);
    for (job, receiver) in stuck {
        drop(receiver);
        let error = job.await.expect("a task").expect_err("nobody reads");
        assert_eq!(error.code(), "reader-gone");
    }
    let budget = engine.stats().budget;
    assert_eq!((budget.used_bytes, budget.jobs), (0, 0));
    assert!(budget.high_water_bytes <= budget.total_bytes, "{budget:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dozen_readers_that_read_nothing_hold_up_no_restore() {
    let image = Image::fixed(random(12, 4 * MIB), 4 * MIB as u64);
    let engine = engine_of(64 << 20);
    let mut stuck = Vec::new();
    for _ in 0..12 {
        let (sink, receiver) = StreamSink::channel(2);
        let (engine, request) = (engine.clone(), image.request(Sink::Stream(sink)));
        stuck.push((
            tokio::spawn(async move { engine.execute(request).await }),
            receiver,
        ));
    }
    while engine.stats().budget.jobs + engine.stats().budget.waiting_jobs < 12 {
        tokio::task::yield_now().await;
    }
    assert!(engine.stats().budget.waiting_jobs > 0, "more than fit");
    let directory = tempfile::tempdir().expect("a directory");
    let sink = FileSink::create(&directory.path().join("image"), FileOptions::default()).expect("a file");
    let restore = engine.execute(image.request(Sink::File(sink)));
    let mut hashed = image.request(Sink::Null);
    hashed.sha256 = true;
    let soon = Duration::from_secs(20);
    let both = async { tokio::join!(restore, engine.execute(hashed)) };
    let (file, null) = tokio::time::timeout(soon, both)
        .await
        .expect("sooner than idle readers are ended");
    file.expect("a restore beside them");
    assert_eq!(null.expect("one hashed").sha256, Some(image.sha256()));
    for (job, receiver) in stuck {
        drop(receiver);
        job.await.expect("a task").expect_err("nobody reads");
    }
    let budget = engine.stats().budget;
    assert_eq!((budget.used_bytes, budget.jobs), (0, 0));
}

/// Chunks of 16 MiB: two streams do not fit into the smallest budget together.
#[tokio::test(start_paused = true)]
async fn a_paused_download_ends_when_it_is_in_the_way_and_only_then() {
    let image = Image::fixed(random(3, 16 * MIB), 16 * MIB as u64);
    let engine = engine_of(64 << 20);
    let (sink, receiver) = StreamSink::channel(4);
    let (first, request) = (engine.clone(), image.request(Sink::Stream(sink)));
    let paused = tokio::spawn(async move { first.execute(request).await });
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(!paused.is_finished(), "in nobody's way");
    assert!(engine.stats().budget.used_bytes > 0, "it holds what it has");

    let (report, content) = stream(&engine, |sink| image.request(sink)).await;
    report.expect("the other download");
    assert!(content.expect("a clean end") == image.bytes);
    let error = paused.await.expect("a task").expect_err("idle");
    assert_eq!(error.code(), "reader-idle", "{error}");
    assert!(
        error
            .to_string()
            .contains("the reader took nothing for 30 s while others waited"),
        "{error}"
    );
    // All of its memory is back, although its reader is still there and learns why.
    assert_eq!(engine.stats().budget.used_bytes, 0);
    let reason = read_all(receiver).await.expect_err("no clean end");
    assert!(reason.contains("took nothing for 30 s"), "{reason}");
}

/// A blob is in memory as a whole until its reader has all of it.
#[tokio::test(start_paused = true)]
async fn a_paused_download_of_a_blob_ends_when_it_is_in_the_way() {
    let options = EncodeOptions {
        compress: true,
        key: None,
    };
    let raw = BlobEncoder::new()
        .encode(&vec![b'x'; 40 * MIB], options)
        .expect("a blob");
    let engine = engine_of(64 << 20);
    let (sink, receiver) = StreamSink::channel(1000);
    let request = BlobRequest {
        raw,
        file: None,
        key: None,
        sink: Sink::Stream(sink),
        progress: watch::Sender::new(Progress::default()),
        cancel: CancellationToken::new(),
        identity: identity("client.log.blob"),
        sha256: false,
    };
    let of_blob = engine.clone();
    let paused = tokio::spawn(async move { of_blob.restore_blob(request).await });
    // It asks for so much only when it turned out how large the blob is.
    while engine.stats().budget.used_bytes < 40 << 20 {
        tokio::task::yield_now().await;
    }
    let image = Image::fixed(random(3, MIB), MIB as u64);
    engine
        .execute(image.request(Sink::Null))
        .await
        .expect("a restore");
    let error = paused.await.expect("a task").expect_err("idle");
    assert_eq!(error.code(), "reader-idle", "{error}");
    assert_eq!(engine.stats().budget.used_bytes, 0);
    read_all(receiver).await.expect_err("no clean end");
}
