//! The database behind a line that is cut, slow, or silent: records arrive later, exactly once.

#![expect(
    clippy::unwrap_used,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;
#[path = "common/proxy.rs"]
#[expect(
    clippy::indexing_slicing,
    reason = "the length is what was just read into the buffer"
)]
mod proxy;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::*;
use fleethold_history::{
    Database, DatabaseConfig, DbState, HistoryError, JobFilter, Outcome, Recorder, RecorderConfig,
};
use proxy::{Proxy, Weather};
use tempfile::TempDir;

/// A cluster, a bad line to it, and a database and a recorder at the other end.
struct Setup {
    server_state: TempDir,
    /// Held: dropping it removes the spool.
    _state: TempDir,
    server: Arc<Database>,
    proxy: Proxy,
    database: Arc<Database>,
    recorder: Arc<Recorder>,
}

impl Setup {
    async fn start() -> Self {
        let server_state = state_dir();
        let server = start_private(server_state.path());
        ready(&server).await;
        let proxy = Proxy::start(socket_dir(server_state.path()).join(".s.PGSQL.5432")).await;
        let state = state_dir();
        let database = Database::start(DatabaseConfig::External(proxy.url()));
        ready(&database).await;
        let recorder = recorder(state.path(), &database).await;
        within("flushed", recorder.flushed()).await;
        Self {
            server_state,
            _state: state,
            server,
            proxy,
            database,
            recorder,
        }
    }

    async fn stop(self) {
        within("stop", async {
            self.recorder.stop().await;
            self.database.stop().await;
            self.server.stop().await;
        })
        .await;
    }

    async fn counts(&self) -> (i64, i64) {
        let mut connection = connect(self.server_state.path(), "fleethold").await;
        (
            count(&mut connection, "job").await,
            count(&mut connection, "job_sample").await,
        )
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_an_outage_arrive_exactly_once() {
    let setup = Setup::start().await;
    setup.proxy.set(Weather::Cut);
    let jobs: Vec<_> = (0..20).map(|_| job()).collect();
    for row in &jobs {
        // Recording does not wait for the database.
        setup.recorder.job_started(row.clone()).await.unwrap();
        setup.recorder.samples(
            row.id,
            (0..30).map(|second| sample(second, second * 10)).collect(),
        );
        setup
            .recorder
            .job_finished(finished(row.clone(), Outcome::Ok))
            .await
            .unwrap();
    }
    let reason = away(&setup.database).await;
    assert!(reason.contains("cannot connect"), "{reason}");
    assert!(matches!(
        setup.database.jobs(&JobFilter::default(), None, 10).await,
        Err(HistoryError::Away { .. })
    ));
    assert_eq!(setup.counts().await, (0, 0));
    assert_eq!(
        (
            setup.recorder.stats().waiting_jobs,
            setup.recorder.stats().waiting_samples
        ),
        (40, 600)
    );

    setup.proxy.set(Weather::Fair);
    within("flushed", setup.recorder.flushed()).await;
    assert_eq!(setup.counts().await, (20, 600));
    let read = setup
        .database
        .jobs(&JobFilter::default(), None, 100)
        .await
        .unwrap()
        .items;
    assert!(read.iter().all(|row| row.outcome == Some(Outcome::Ok)));
    let stats = setup.recorder.stats();
    assert_eq!(
        (
            stats.dropped_jobs,
            stats.dropped_samples,
            stats.rejected,
            stats.bytes
        ),
        (0, 0, 0, 0)
    );
    setup.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_do_not_make_doubles() {
    let setup = Setup::start().await;
    // Commits go through and nobody hears of it.
    setup.proxy.set(Weather::CutAnswers);
    let row = job();
    setup.recorder.job_started(row.clone()).await.unwrap();
    setup
        .recorder
        .samples(row.id, (0..50).map(|second| sample(second, second)).collect());
    let cuts = &setup.proxy.cuts;
    eventually("some answers lost", || async {
        (cuts.load(Ordering::Relaxed) > 3).then_some(())
    })
    .await;
    assert!(setup.recorder.stats().waiting_samples > 0);
    setup.proxy.set(Weather::Fair);
    within("flushed", setup.recorder.flushed()).await;
    assert_eq!(setup.counts().await, (1, 50));
    setup.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_silent_lines_hold_up_nobody() {
    let setup = Setup::start().await;
    setup.proxy.set(Weather::Slow(Duration::from_millis(30)));
    let first = job();
    setup.recorder.job_started(first.clone()).await.unwrap();
    within("flushed over a slow line", setup.recorder.flushed()).await;
    assert_eq!(setup.counts().await.0, 1);

    setup.proxy.set(Weather::Stalled);
    let second = job();
    within("recorded", setup.recorder.job_started(second.clone()))
        .await
        .unwrap();
    // It is found out, though no connection was closed.
    away(&setup.database).await;
    assert_eq!(setup.counts().await.0, 1);
    setup.proxy.set(Weather::Fair);
    within("flushed", setup.recorder.flushed()).await;
    ready(&setup.database).await;
    assert_eq!(setup.database.job(second.id).await.unwrap(), Some(second));
    setup.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_outlive_the_process_that_made_them() {
    let server_state = state_dir();
    let server = start_private(server_state.path());
    ready(&server).await;
    let proxy = Proxy::start(socket_dir(server_state.path()).join(".s.PGSQL.5432")).await;
    proxy.set(Weather::Cut);
    let state = state_dir();
    let row = finished(job(), Outcome::Ok);
    {
        // Starting does not wait for a database that is not there.
        let database = Database::start(DatabaseConfig::External(proxy.url()));
        assert_ne!(*database.state().borrow(), DbState::Ready);
        let recorder = recorder(state.path(), &database).await;
        recorder.samples(row.id, vec![sample(1, 1)]);
        recorder.job_finished(row.clone()).await.unwrap();
        within("stop", recorder.stop()).await;
        within("stop", database.stop()).await;
    }
    proxy.set(Weather::Fair);
    let database = Database::start(DatabaseConfig::External(proxy.url()));
    let recorder = recorder(state.path(), &database).await;
    ready(&database).await;
    within("flushed", recorder.flushed()).await;
    assert_eq!(database.job(row.id).await.unwrap(), Some(row.clone()));
    assert_eq!(database.samples(row.id, 10).await.unwrap().len(), 1);
    recorder.stop().await;
    database.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_outage_fills_the_spool_and_no_more() {
    const MAX: u64 = 256 * 1024;
    let state = state_dir();
    let database = Database::start(DatabaseConfig::External("postgres://x@127.0.0.1:1/x".into()));
    let config = RecorderConfig {
        spool_dir: state.path().join("spool"),
        max_bytes: MAX,
    };
    let recorder = Recorder::start(config, machine(), Arc::clone(&database))
        .await
        .unwrap();
    let mut taken = 0;
    for _ in 0..40 {
        let row = job();
        recorder.job_started(row.clone()).await.unwrap();
        recorder.samples(row.id, (0..500).map(|second| sample(second, second)).collect());
        recorder.job_finished(finished(row, Outcome::Ok)).await.unwrap();
        taken += 2;
        let on_disk: u64 = std::fs::read_dir(state.path().join("spool"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        // The identity of the folder is beside the records.
        assert!(on_disk <= MAX + 36, "{on_disk}");
    }
    let stats = recorder.stats();
    // Every job found room, at the expense of samples.
    assert_eq!((stats.waiting_jobs, stats.dropped_jobs), (taken + 1, 0));
    assert!(stats.dropped_samples > 0);
    assert_eq!(stats.dropped_samples + stats.waiting_samples, 40 * 500);
    recorder.stop().await;
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_of_the_server_between_is_an_outage_too() {
    let state = state_dir();
    let database = start_private(state.path());
    let recorder = recorder(state.path(), &database).await;
    ready(&database).await;
    let jobs: Vec<_> = (0..10).map(|_| finished(job(), Outcome::Ok)).collect();
    let mut changes = database.state();
    changes.mark_unchanged();
    for (n, row) in jobs.iter().enumerate() {
        if n == 5 {
            kill(postmaster(state.path()), rustix::process::Signal::KILL);
        }
        recorder.job_finished(row.clone()).await.unwrap();
    }
    within("notices", changes.changed()).await.unwrap();
    ready(&database).await;
    within("flushed", recorder.flushed()).await;
    let mut read = database
        .jobs(&JobFilter::default(), None, 100)
        .await
        .unwrap()
        .items;
    read.reverse();
    assert_eq!(read, jobs);
    recorder.stop().await;
    database.stop().await;
}
