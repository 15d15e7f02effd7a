//! PostgreSQL dies while runs arrive: nothing is lost, nothing is there twice.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;
#[path = "../../bench-model/tests/common/sweep.rs"]
mod sweep;

use std::time::Duration;

use common::bench::measured;
use common::*;
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::{Samples, Side};
use fleethold_history::HistoryError;
use fleethold_history::bench::outbox::{self, MAX_REFUSED, MAX_WAITING, upload_outbox};
use fleethold_history::bench::{AttachmentKind, BenchContent, BenchRunFilter, NewAttachment};
use rustix::process::Signal;
use uuid::Uuid;

/// Enough that its COPY takes a while.
const MANY: u32 = 1_000_000;

fn big() -> Matrix {
    let mut matrix = sweep::restore();
    let mut samples = Samples::new(Some(7));
    for i in 0..MANY {
        let side = if i % 2 == 0 { Side::Before } else { Side::After };
        samples.push(side, 1.0 + f64::from(i % 1000) / 1e6).unwrap();
    }
    matrix.rows[0].cells[0].samples = samples;
    matrix
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_is_killed_in_the_middle_of_a_copy() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let dir = outbox::dir(state.path());
    let matrix = big();
    let run = measured(Uuid::now_v7(), matrix.clone());
    outbox::put(&dir, &run).unwrap();

    let upload = {
        let (database, dir) = (database.clone(), dir.clone());
        tokio::spawn(async move { upload_outbox(&database, &dir).await })
    };
    // The table is only seen to grow from outside while the COPY runs: its rows are not committed.
    let mut watcher = connect(state.path(), "fleethold").await;
    within("a COPY under way", async {
        let size = "SELECT pg_relation_size('bench_sample')";
        while sqlx::query_scalar::<_, i64>(size)
            .fetch_one(&mut watcher)
            .await
            .unwrap()
            < 1 << 20
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    kill(postmaster(state.path()), Signal::KILL);
    let error = upload.await.unwrap().unwrap_err();
    assert!(
        matches!(error, HistoryError::Query { .. } | HistoryError::Away { .. }),
        "{error}"
    );
    assert!(
        dir.join(format!("{}.json", run.meta.id)).exists(),
        "it still waits"
    );

    eventually("PostgreSQL is back", || {
        let database = database.clone();
        async move {
            database
                .bench_runs(&BenchRunFilter::default(), None, 1)
                .await
                .ok()
        }
    })
    .await;
    let mut after = connect(state.path(), "fleethold").await;
    assert_eq!(
        count(&mut after, "bench_run").await,
        0,
        "nothing of it is half there"
    );
    let uploaded = upload_outbox(&database, &dir).await.unwrap();
    assert_eq!((uploaded.stored, uploaded.known), (1, 0));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    let Some(BenchContent::Matrix(found)) = database.bench_content(run.meta.id).await.unwrap() else {
        panic!("no matrix");
    };
    assert!(*found == matrix);
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_arrived_unseen_is_there_once() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let dir = outbox::dir(state.path());
    let mut run = measured(Uuid::now_v7(), sweep::restore());
    run.attachments.push(NewAttachment {
        kind: AttachmentKind::FlameGraph,
        side: Some(Side::After),
        name: "after.folded".to_owned(),
        bytes: "main;lesen \u{e4} 7\n".into(),
    });
    outbox::put(&dir, &run).unwrap();
    let kept = std::fs::read(dir.join(format!("{}.json", run.meta.id))).unwrap();
    assert_eq!(upload_outbox(&database, &dir).await.unwrap().stored, 1);
    // The process ended between the commit and the removal of the file.
    std::fs::write(dir.join(format!("{}.json", run.meta.id)), kept).unwrap();
    let again = upload_outbox(&database, &dir).await.unwrap();
    assert_eq!((again.stored, again.known), (0, 1));
    let row = database.bench_run(run.meta.id).await.unwrap().unwrap();
    assert_eq!(
        (row.started_at, &row.reason),
        (run.meta.started_at, &run.meta.reason)
    );
    let files = database.attachments(run.meta.id).await.unwrap();
    assert_eq!(files.len(), 1);
    let (_, bytes) = database.attachment(files[0].id).await.unwrap().unwrap();
    assert_eq!(bytes, run.attachments[0].bytes);

    // What is no run is put aside, and holds up nobody.
    std::fs::write(dir.join("0.json"), "{\"format\": \"fleethold-bench\"").unwrap();
    let mut other = sweep::restore();
    other.parameters.insert("number".to_owned(), "2".to_owned());
    outbox::put(&dir, &measured(Uuid::now_v7(), other)).unwrap();
    let uploaded = upload_outbox(&database, &dir).await.unwrap();
    assert_eq!((uploaded.stored, uploaded.refused.len()), (1, 1));
    assert!(dir.join("0.json.refused").exists());
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_holds_up_no_other_and_a_pin_arrives() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let dir = outbox::dir(state.path());
    let run = measured(Uuid::now_v7(), sweep::restore());
    let path = outbox::put(&dir, &run).unwrap();
    std::fs::create_dir(dir.join("0.json")).unwrap();
    assert!(outbox::pin(&dir, run.meta.id).unwrap());
    assert!(!outbox::pin(&dir, Uuid::nil()).unwrap(), "none waits");
    let kept = std::fs::read(&path).unwrap();
    let uploaded = upload_outbox(&database, &dir).await.unwrap();
    assert_eq!((uploaded.stored, uploaded.failed.len()), (1, 1));
    assert_eq!(uploaded.failed[0].0, dir.join("0.json"));
    assert!(database.bench_run(run.meta.id).await.unwrap().unwrap().pinned);
    // A pin that comes when the run is in the database already, too.
    database.pin_bench_run(run.meta.id, false).await.unwrap();
    std::fs::write(&path, kept).unwrap();
    assert_eq!(upload_outbox(&database, &dir).await.unwrap().known, 1);
    assert!(database.bench_run(run.meta.id).await.unwrap().unwrap().pinned);
    database.stop().await;
}

#[test]
fn only_runs_that_wait_count_and_rubbish_goes() {
    let state = state_dir();
    let dir = outbox::dir(state.path());
    std::fs::create_dir_all(&dir).unwrap();
    for number in 0..MAX_WAITING {
        std::fs::write(dir.join(format!("{number:03}.json.refused")), "").unwrap();
    }
    let old = dir.join("old.part");
    let file = std::fs::File::create(&old).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    std::fs::write(dir.join("new.part"), "").unwrap();
    outbox::put(&dir, &measured(Uuid::now_v7(), sweep::restore())).unwrap();
    assert!(!old.exists() && dir.join("new.part").exists());
    let refused = || {
        std::fs::read_dir(&dir).unwrap().filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|of| of == "refused")
        })
    };
    assert_eq!(refused().count(), MAX_REFUSED);
    assert!(dir.join("255.json.refused").exists(), "the newest stay");
}

#[test]
fn a_run_without_room_is_a_file_that_can_be_imported() {
    let state = state_dir();
    let run = measured(Uuid::now_v7(), sweep::restore());
    let path = state.path().join("bench.json");
    outbox::put_aside(&path, &run).unwrap();
    outbox::put_aside(&path, &run).unwrap_err();
    let back = common::bench::import_bytes("bench.json", &std::fs::read(&path).unwrap());
    assert_eq!(
        (back.digest, back.meta.started_at),
        (run.digest, run.meta.started_at)
    );
}

#[test]
fn the_outbox_is_bounded() {
    let state = state_dir();
    let dir = outbox::dir(state.path());
    let run = measured(Uuid::now_v7(), sweep::restore());
    outbox::put(&dir, &run).unwrap();
    for number in 1..MAX_WAITING {
        std::fs::write(dir.join(format!("{number}.json")), "").unwrap();
    }
    let error = outbox::put(&dir, &run).unwrap_err().to_string();
    assert!(
        error.contains("256 in") && error.contains("start the server"),
        "{error}"
    );
}
