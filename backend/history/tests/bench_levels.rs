//! What counts for the noise and the levels of a series, here and for other programs.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;
#[path = "common/lab.rs"]
mod lab;
#[path = "../../bench-model/tests/common/sweep.rs"]
mod sweep;

use std::sync::Arc;

use common::*;
use fleethold_bench_model::matrix::Matrix;
use fleethold_history::bench::{AnnotationKind, NewBenchRun};
use lab::{Lab, START, run_of};
use sqlx::Row as _;
use time::{Duration, OffsetDateTime};

#[tokio::test(flavor = "multi_thread")]
async fn spoiled_runs_are_shown_and_do_not_count() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    for number in 0..12 {
        lab.measure(10.0 + f64::from(number % 3) / 10.0).await;
    }
    let (last, _) = lab.measure(10.0).await;
    let noise = |matrix: Option<Matrix>| matrix.unwrap().rows[0].cells[0].noise_ratio;
    let before = noise(database.bench_matrix(last).await.unwrap());
    assert!(before.is_some());
    let spoil: [fn(&mut NewBenchRun); 2] = [
        |run| run.meta.complete = false,
        |run| {
            let load = run.meta.load.as_mut().unwrap();
            load.quiet = false;
        },
    ];
    for (hour, spoil) in (1..).zip(spoil) {
        let mut run = run_of(90.0, 0);
        run.meta.started_at = Some(START + Duration::days(1) + Duration::hours(hour));
        spoil(&mut run);
        run.digest = format!("{hour:064}");
        lab.store(run).await;
    }
    let series = lab.series(last).await;
    let points = database.series_points(series, None, None, 20).await.unwrap();
    let spoiled = points.iter().enumerate().filter(|(_, point)| point.spoiled);
    assert_eq!(spoiled.map(|(at, _)| at).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(points.len(), 15, "they stay visible");
    assert_eq!(noise(database.bench_matrix(last).await.unwrap()), before);
    let mut connection = connect(state.path(), "fleethold").await;
    let seen = "SELECT count(*) FROM bench_otava WHERE series = $1";
    let seen: i64 = sqlx::query_scalar(seen)
        .bind(series)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(seen, 13);
    // Time of processors does not mind that others work, but an interrupted run is none.
    let rule =
        "SELECT bench_counts(true, '{}', false, 'cpu-s') AND NOT bench_counts(false, '{}', true, 'cpu-s')";
    assert!(
        sqlx::query_scalar::<_, bool>(rule)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    );
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn otava_reads_a_view() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    let (run, _) = lab.measure(10.0).await;
    let (wild, _) = lab.measure(99.0).await;
    lab.say(wild, AnnotationKind::Outlier).await;
    let mut connection = connect(state.path(), "fleethold").await;
    let rows = sqlx::query(
        "SELECT time, run, commit, median, direction FROM bench_otava
         WHERE workload = 'restore' AND metric = 'time' AND side = 'after' ORDER BY time",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(rows.len(), 1, "without the outlier");
    assert_eq!(
        rows[0].get::<OffsetDateTime, _>("time"),
        START + Duration::days(1)
    );
    assert_eq!(rows[0].get::<String, _>("run"), run.to_string());
    assert_eq!(rows[0].get::<i32, _>("direction"), -1);
    assert!((rows[0].get::<f64, _>("median") - 10.045).abs() < 1e-9);
    database.stop().await;
}
