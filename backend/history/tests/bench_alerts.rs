//! What runs and people do to alerts, and what rolls up.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;
#[path = "../../bench-model/tests/common/sweep.rs"]
mod sweep;

use std::sync::Arc;

use common::bench::new_run;
use common::*;
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::{Samples, Side};
use fleethold_history::Database;
use fleethold_history::bench::{
    AlertFilter, AlertState, AnnotationKind, BenchAlert, BenchContent, NewAnnotation, NewBenchRun, RolledUp,
};
use sqlx::Row as _;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

const START: OffsetDateTime = datetime!(2026-01-01 00:00 UTC);

/// One cell, `time`, whose after side is around `level` seconds.
fn one_cell(level: f64, day: i64) -> Matrix {
    let mut matrix = sweep::restore();
    matrix.parameters.insert("day".to_owned(), day.to_string());
    matrix.rows.truncate(1);
    matrix.scenarios.truncate(1);
    matrix.metrics.truncate(1);
    matrix.rows[0].cells.truncate(1);
    matrix.rows[0].write_sizes = None;
    let mut samples = Samples::new(Some(1));
    for i in 0..10 {
        samples.push(Side::Before, 9.0).unwrap();
        let step = f64::from(i * 7 % 10) / 1000.0;
        samples.push(Side::After, level * (1.0 + step)).unwrap();
    }
    matrix.rows[0].cells[0].samples = samples;
    matrix.rows[0].cells[0].noise_ratio = None;
    matrix
}

fn run_of(level: f64, day: i64) -> NewBenchRun {
    new_run(Uuid::now_v7(), START + Duration::days(day), one_cell(level, day))
}

struct Lab {
    database: Arc<Database>,
    day: i64,
}

impl Lab {
    /// Stores a run of the next day and answers it with the alerts that it changed.
    async fn measure(&mut self, level: f64) -> (Uuid, Vec<BenchAlert>) {
        self.day += 1;
        let id = self.store(run_of(level, self.day)).await;
        (id, self.database.watch_bench_runs().await.unwrap())
    }

    async fn store(&self, run: NewBenchRun) -> Uuid {
        self.database.store_bench_run(run).await.unwrap().id
    }

    async fn series(&self, run: Uuid) -> i64 {
        self.database.series_of_run(run).await.unwrap()[0].after.unwrap()
    }

    async fn say(&self, run: Uuid, kind: AnnotationKind) -> i64 {
        let new = NewAnnotation {
            series: self.series(run).await,
            run: Some(run),
            kind,
            reason: "a test".to_owned(),
            author: "ann@pbs".to_owned(),
        };
        self.database.annotate(&new).await.unwrap().unwrap().id
    }
}

fn states(alerts: &[BenchAlert]) -> Vec<AlertState> {
    alerts.iter().map(|alert| alert.state).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_is_opened_confirmed_acknowledged_and_gone() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    let (good, none) = lab.measure(10.0).await;
    assert_eq!(none, []);
    let (slow, opened) = lab.measure(12.0).await;
    assert_eq!(states(&opened), [AlertState::Open]);
    assert_eq!((opened[0].run, opened[0].against), (slow, good));
    assert!((opened[0].ratio - 1.2).abs() < 0.01 && opened[0].p <= 0.05 && opened[0].is_news());
    assert_eq!(
        database.watch_bench_runs().await.unwrap(),
        [],
        "a run is judged once"
    );

    // Against the same baseline, not against the slow run.
    let (again, confirmed) = lab.measure(12.1).await;
    assert_eq!(states(&confirmed), [AlertState::Confirmed]);
    assert_eq!(
        (confirmed[0].confirmed_by, confirmed[0].against),
        (Some(again), good)
    );
    assert_eq!(lab.measure(12.0).await.1, [], "told already");

    let id = opened[0].id;
    let refused = database.change_alert(id, AlertState::Gone, "ann@pbs", "").await;
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .starts_with("state is gone: expected acknowledged")
    );
    let known = database
        .change_alert(id, AlertState::Acknowledged, "ann@pbs", "new kernel")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (known.state, &*known.changed_by, &*known.reason),
        (AlertState::Acknowledged, "ann@pbs", "new kernel")
    );
    let muted = database
        .change_alert(id, AlertState::Muted, "ann@pbs", "later")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(muted.state, AlertState::Muted);
    assert_eq!(lab.measure(10.0).await.1, [], "a muted alert is silent");
    // Taken back, it is what the runs had made of it.
    let back = database
        .change_alert(id, AlertState::Open, "ann@pbs", "")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(back.state, AlertState::Confirmed);
    let (_, gone) = lab.measure(10.0).await;
    assert_eq!(states(&gone), [AlertState::Gone]);
    assert!(!gone[0].is_news());
    assert_eq!(
        database
            .change_alert(id, AlertState::Muted, "ann@pbs", "")
            .await
            .unwrap(),
        None
    );
    let (_, new) = lab.measure(13.0).await;
    assert_eq!(states(&new), [AlertState::Open]);
    let all = database.alerts(&AlertFilter::default(), None, 10).await.unwrap();
    assert_eq!(states(&all), [AlertState::Open, AlertState::Gone]);
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_say_nothing_open_nothing() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    lab.measure(10.0).await;
    let spoil: [fn(&mut NewBenchRun); 3] = [
        |run| run.meta.complete = false,
        |run| run.meta.quick = true,
        |run| run.meta.load = None,
    ];
    for (day, spoil) in (100..).zip(spoil) {
        let mut run = run_of(20.0, day);
        spoil(&mut run);
        lab.store(run).await;
        assert_eq!(database.watch_bench_runs().await.unwrap(), []);
    }
    // Other data: nothing to compare with.
    let mut other = one_cell(20.0, 200);
    other.data_sha256 = "cd".repeat(32);
    lab.store(new_run(Uuid::now_v7(), START + Duration::days(200), other))
        .await;
    assert_eq!(database.watch_bench_runs().await.unwrap(), []);
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn curation_changes_what_is_compared_and_can_be_taken_back() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    let (good, _) = lab.measure(10.0).await;
    let (wild, _) = lab.measure(5.0).await;
    let outlier = lab.say(wild, AnnotationKind::Outlier).await;
    let (_, none) = lab.measure(10.0).await;
    assert_eq!(none, [], "compared with the good run, not with the outlier");
    let series = lab.series(good).await;
    let marks = |points: Vec<fleethold_history::bench::BenchPoint>| {
        points.iter().map(|point| point.outlier).collect::<Vec<_>>()
    };
    let points = database.series_points(series, None, None, 10).await.unwrap();
    assert_eq!(marks(points), [false, true, false]);
    let withdrawn = database
        .withdraw_annotation(outlier, "bob@pbs")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(withdrawn.withdrawn.unwrap().1, "bob@pbs");
    let points = database.series_points(series, None, None, 10).await.unwrap();
    assert_eq!(marks(points), [false; 3]);
    assert_eq!(
        database.annotations(series).await.unwrap().len(),
        1,
        "withdrawn, not deleted"
    );

    let (shifted, opened) = lab.measure(15.0).await;
    assert_eq!(states(&opened), [AlertState::Open]);
    lab.say(shifted, AnnotationKind::LevelShift).await;
    let (_, gone) = lab.measure(15.0).await;
    assert_eq!(states(&gone), [AlertState::Gone], "the shift is explained");
    let (_, worse) = lab.measure(18.0).await;
    assert_eq!(states(&worse), [AlertState::Open]);
    assert!(
        (worse[0].ratio - 1.2).abs() < 0.02,
        "against the new level: {worse:?}"
    );

    let refused = NewAnnotation {
        series,
        run: None,
        kind: AnnotationKind::Outlier,
        reason: "why".to_owned(),
        author: "ann@pbs".to_owned(),
    };
    assert!(database.annotate(&refused).await.is_err());
    let stranger = NewAnnotation {
        run: Some(Uuid::now_v7()),
        ..refused
    };
    assert_eq!(database.annotate(&stranger).await.unwrap(), None);
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_that_jumps_by_itself_has_a_higher_threshold() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    for day in 0..12 {
        let mut run = run_of(if day % 2 == 0 { 10.0 } else { 11.0 }, day);
        run.meta.quick = false;
        run.meta.complete = day < 11;
        lab.store(run).await;
    }
    lab.day = 20;
    let id = lab.store(run_of(11.2, 20)).await;
    let matrix = database.bench_matrix(id).await.unwrap().unwrap();
    let noise = matrix.rows[0].cells[0].noise_ratio.unwrap();
    assert!(noise > 0.12, "{noise}");
    let Some(BenchContent::Matrix(stored)) = database.bench_content(id).await.unwrap() else {
        panic!("no matrix");
    };
    assert_eq!(stored.rows[0].cells[0].noise_ratio, None, "what was stored stays");
    assert!(
        database.watch_bench_run(id).await.unwrap().is_empty(),
        "12 % is what this series does by itself"
    );
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_samples_roll_up_and_pinned_runs_stay() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    let mut runs = Vec::new();
    for level in [10.0, 10.0, 10.0, 12.0, 12.0] {
        runs.push(lab.measure(level).await.0);
    }
    database.pin_bench_run(runs[0], true).await.unwrap();
    let series = lab.series(runs[0]).await;
    let before = database.series_points(series, None, None, 10).await.unwrap();
    // The first is pinned, the third is what the alert was measured against, the fourth opened it, the fifth confirmed
    // it and is the newest.
    let done = database.roll_up(START + Duration::days(365)).await.unwrap();
    assert_eq!(done, RolledUp { runs: 1, samples: 20 });
    assert_eq!(
        database.bench_content(runs[1]).await.unwrap(),
        Some(BenchContent::RolledUp)
    );
    assert!(
        database
            .bench_run(runs[1])
            .await
            .unwrap()
            .unwrap()
            .rolled_up_at
            .is_some()
    );
    for kept in [0, 2, 3, 4] {
        assert!(
            database.bench_matrix(runs[kept]).await.unwrap().is_some(),
            "run {kept}"
        );
    }
    assert_eq!(
        database.series_points(series, None, None, 10).await.unwrap(),
        before
    );

    let alert = database.alerts(&AlertFilter::default(), None, 1).await.unwrap()[0].id;
    database
        .change_alert(alert, AlertState::Acknowledged, "ann@pbs", "known")
        .await
        .unwrap();
    let (_, gone) = lab.measure(10.0).await;
    assert_eq!(states(&gone), [AlertState::Gone]);
    let done = database.roll_up(START + Duration::days(365)).await.unwrap();
    assert_eq!(
        done.runs, 3,
        "nothing stands on them any more, and the newest is another"
    );
    assert!(database.bench_matrix(runs[0]).await.unwrap().is_some(), "pinned");
    assert_eq!(
        database.roll_up(START + Duration::days(365)).await.unwrap(),
        RolledUp::default()
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
