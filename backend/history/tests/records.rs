//! What is recorded is what is read: jobs, curves, pages, interruptions.

#![expect(
    clippy::unwrap_used,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;

use std::sync::Arc;

use common::*;
use fleethold_history::{JobFilter, Outcome, OutcomeFilter, Recorder, RecorderConfig, SampleRow, SpoolError};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn job_lives_from_start_to_end() {
    let state = state_dir();
    let database = start_private(state.path());
    let recorder = recorder(state.path(), &database).await;
    ready(&database).await;
    let running = job();
    recorder.job_started(running.clone()).await.unwrap();
    // Four a second: one is kept, and the last.
    let ticks: Vec<SampleRow> = (0..10)
        .map(|n| SampleRow {
            t_ns: n * 250_000_000,
            ..sample(0, n * 1000)
        })
        .collect();
    for tick in &ticks {
        recorder.samples(running.id, vec![*tick]);
    }
    within("flushed", recorder.flushed()).await;

    let mut expected = running.clone();
    expected.totals.bytes_done = Some(8000);
    expected.totals.bytes_written = Some(4000);
    expected.totals.encoded_bytes_read = Some(2666);
    expected.totals.duration_ns = Some(2_000_000_000);
    // A job without sums shows those of its last sample.
    assert_eq!(database.job(running.id).await.unwrap(), Some(expected));

    let mut ended = finished(running.clone(), Outcome::Failed);
    ended.error = Some(serde_json::json!({"code": "chunk-missing", "message": "gone", "position": 7}));
    recorder.job_finished(ended.clone()).await.unwrap();
    within("flushed", recorder.flushed()).await;
    assert_eq!(database.job(running.id).await.unwrap(), Some(ended));
    // An older record that comes again does not bring the job back to life.
    recorder.job_started(running.clone()).await.unwrap();
    within("flushed", recorder.flushed()).await;
    assert_eq!(
        database.job(running.id).await.unwrap().unwrap().outcome,
        Some(Outcome::Failed)
    );

    let kept: Vec<u64> = database
        .samples(running.id, 100)
        .await
        .unwrap()
        .iter()
        .map(|point| point.sample.t_ns / 250_000_000)
        .collect();
    assert_eq!(kept, [0, 4, 8, 9]);
    assert_eq!(
        database.machine(&machine().fingerprint).await.unwrap(),
        Some(machine())
    );
    assert_eq!(database.machine("other").await.unwrap(), None);
    assert_eq!(database.job(Uuid::now_v7()).await.unwrap(), None);
    assert_eq!(recorder.stats().dropped_samples, 0);
    recorder.stop().await;
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_filtered_and_paged() {
    let state = state_dir();
    let database = start_private(state.path());
    let recorder = recorder(state.path(), &database).await;
    ready(&database).await;
    let mut all = Vec::new();
    for n in 0..25 {
        let mut row = job();
        row.store = if n % 5 == 0 { "vault".into() } else { "tank".into() };
        row.archive = format!("drive-{n}.img.fidx");
        if n % 2 == 0 {
            row = finished(
                row,
                if n % 4 == 0 {
                    Outcome::Ok
                } else {
                    Outcome::Cancelled
                },
            );
            recorder.job_finished(row.clone()).await.unwrap();
        } else {
            recorder.job_started(row.clone()).await.unwrap();
        }
        all.push(row);
    }
    within("flushed", recorder.flushed()).await;
    all.reverse();

    let list = async |filter: &JobFilter| {
        let mut rows = Vec::new();
        let mut cursor = None;
        loop {
            let page = database.jobs(filter, cursor, 4).await.unwrap();
            assert!(page.items.len() <= 4);
            rows.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return rows;
            }
        }
    };
    assert_eq!(list(&JobFilter::default()).await, all);
    let expect = |keep: &dyn Fn(&fleethold_history::JobRow) -> bool| -> Vec<_> {
        all.iter().filter(|row| keep(row)).cloned().collect()
    };
    let vault = JobFilter {
        store: Some("vault".into()),
        ..JobFilter::default()
    };
    assert_eq!(list(&vault).await, expect(&|row| row.store == "vault"));
    let running = JobFilter {
        outcome: Some(OutcomeFilter::Unfinished),
        ..JobFilter::default()
    };
    assert_eq!(list(&running).await, expect(&|row| row.outcome.is_none()));
    let ok = JobFilter {
        outcome: Some(OutcomeFilter::Is(Outcome::Ok)),
        ..vault.clone()
    };
    assert_eq!(
        list(&ok).await,
        expect(&|row| row.outcome == Some(Outcome::Ok) && row.store == "vault")
    );
    let text = |text: &str| JobFilter {
        text: Some(text.into()),
        ..JobFilter::default()
    };
    assert_eq!(
        list(&text("DRIVE-7.IMG")).await,
        expect(&|row| row.archive == "drive-7.img.fidx")
    );
    // No pattern language: these are characters.
    assert_eq!(list(&text("drive%")).await, []);

    let stores = database.stores().await.unwrap();
    let counted: Vec<_> = stores.iter().map(|row| (row.store.as_str(), row.jobs)).collect();
    assert_eq!(counted, [("tank", 20), ("vault", 5)]);
    recorder.stop().await;
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_curve_keeps_its_peaks() {
    let state = state_dir();
    let database = start_private(state.path());
    let recorder = recorder(state.path(), &database).await;
    ready(&database).await;
    let row = job();
    recorder.job_started(row.clone()).await.unwrap();
    // 100 a second, but one second of 9000 and one of nothing.
    let mut done = 0;
    let samples: Vec<SampleRow> = (1..=5000)
        .map(|second| {
            done += match second {
                1234 => 9000,
                4321 => 0,
                _ => 100,
            };
            sample(second, done)
        })
        .collect();
    recorder.samples(row.id, samples.clone());
    within("flushed", recorder.flushed()).await;

    assert_eq!(database.samples(row.id, 5000).await.unwrap().len(), 5000);
    for max_points in [0, 10, 101, 1000] {
        let points = database.samples(row.id, max_points).await.unwrap();
        assert!(
            points.len() <= max_points.max(4) as usize,
            "{} of {max_points}",
            points.len()
        );
        assert!(points.is_sorted_by_key(|point| point.sample.t_ns));
        assert_eq!(points.first().unwrap().sample, samples[0]);
        assert_eq!(points.last().unwrap().sample, samples[4999]);
        let rates: Vec<f64> = points.iter().map(|point| point.rate_bytes_per_s).collect();
        assert_eq!(
            rates.iter().copied().fold(f64::MIN, f64::max),
            9000.0,
            "{max_points}"
        );
        assert_eq!(
            rates.iter().copied().fold(f64::MAX, f64::min),
            0.0,
            "{max_points}"
        );
    }
    assert_eq!(database.samples(Uuid::now_v7(), 100).await.unwrap(), []);
    let unsampled = Uuid::now_v7();
    let counts = database.sample_counts(&[row.id, unsampled]).await.unwrap();
    assert_eq!(counts, [(row.id, 5000)].into());
    recorder.stop().await;
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_an_ended_process_are_interrupted_and_no_others() {
    let state = state_dir();
    let elsewhere = state_dir();
    let database = start_private(state.path());
    let first = recorder(state.path(), &database).await;
    let other = recorder(elsewhere.path(), &database).await;
    let (lost, resumed, done, foreign) = (job(), job(), finished(job(), Outcome::Ok), job());
    for row in [&lost, &resumed] {
        first.job_started(row.clone()).await.unwrap();
    }
    first.samples(lost.id, vec![sample(1, 500)]);
    first.job_finished(done.clone()).await.unwrap();
    other.job_started(foreign.clone()).await.unwrap();
    first.stop().await;

    let second = recorder(state.path(), &database).await;
    second.mark_interrupted(&[resumed.id]).await.unwrap();
    ready(&database).await;
    within("flushed", second.flushed()).await;
    within("flushed", other.flushed()).await;
    let read = database.job(lost.id).await.unwrap().unwrap();
    assert_eq!(
        (read.outcome, read.totals.bytes_done),
        (Some(Outcome::Interrupted), Some(500))
    );
    assert!(read.finished_at.is_some());
    for row in [&resumed, &done, &foreign] {
        assert_eq!(database.job(row.id).await.unwrap().as_ref(), Some(row));
    }
    // What is known better later counts.
    second
        .job_finished(finished(lost.clone(), Outcome::Incomplete))
        .await
        .unwrap();
    within("flushed", second.flushed()).await;
    assert_eq!(
        database.job(lost.id).await.unwrap().unwrap().outcome,
        Some(Outcome::Incomplete)
    );
    second.stop().await;
    other.stop().await;
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_record_does_not_hold_up_the_others() {
    let state = state_dir();
    let database = start_private(state.path());
    let recorder = recorder(state.path(), &database).await;
    let (before, mut bad, after) = (job(), job(), job());
    // PostgreSQL's text cannot hold a zero, and its bigint is signed.
    bad.target = "a\0b".into();
    let mut large = job();
    large.memory_bytes = u64::MAX;
    for row in [&before, &bad, &large, &after] {
        recorder.job_started(row.clone()).await.unwrap();
    }
    recorder.samples(bad.id, vec![sample(1, 1)]);
    recorder.samples(after.id, vec![sample(1, 1)]);
    ready(&database).await;
    within("flushed", recorder.flushed()).await;
    let ids: Vec<Uuid> = database
        .jobs(&JobFilter::default(), None, 10)
        .await
        .unwrap()
        .items
        .iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(ids, [after.id, before.id]);
    let stats = recorder.stats();
    // The sample of the refused job had nothing to belong to.
    assert_eq!((stats.rejected, stats.dropped_samples), (2, 1));
    let text = std::fs::read_to_string(state.path().join("spool/rejected.jsonl")).unwrap();
    assert!(
        text.contains(&bad.id.to_string()) && text.contains("memory_bytes"),
        "{text}"
    );
    assert_eq!(database.samples(after.id, 10).await.unwrap().len(), 1);
    recorder.stop().await;
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_contradict_themselves_are_refused_at_once() {
    let state = state_dir();
    let database = start_private(state.path());
    let recorder = recorder(state.path(), &database).await;
    let mut row = job();
    row.outcome = Some(Outcome::Ok);
    assert!(matches!(
        recorder.job_finished(row).await,
        Err(SpoolError::Invalid { .. })
    ));
    assert!(matches!(
        recorder.job_finished(job()).await,
        Err(SpoolError::Invalid { .. })
    ));
    let again = Recorder::start(
        RecorderConfig::in_state_dir(state.path()),
        machine(),
        Arc::clone(&database),
    );
    assert!(matches!(again.await, Err(SpoolError::Locked { .. })));
    recorder.stop().await;
    assert!(matches!(
        recorder.job_started(job()).await,
        Err(SpoolError::Stopped)
    ));
    database.stop().await;
}
