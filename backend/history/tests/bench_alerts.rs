//! What runs and people do to alerts, and what rolls up.

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

use common::bench::new_run;
use common::*;
use fleethold_history::bench::{
    AlertFilter, AlertState, AnnotationKind, BenchAlert, BenchContent, NewAnnotation, NewBenchRun, RolledUp,
};
use lab::{Lab, START, one_cell, run_of};
use time::Duration;
use uuid::Uuid;

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
async fn imported_runs_neither_raise_alerts_nor_are_a_baseline() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 0,
    };
    let (good, _) = lab.measure(10.0).await;
    let imported = |level: f64, day: i64| {
        let mut run = run_of(level, day);
        run.meta.source = "json".to_owned();
        run
    };
    lab.day += 1;
    lab.store(imported(20.0, lab.day)).await;
    assert_eq!(
        database.watch_bench_runs().await.unwrap(),
        [],
        "a file says nothing"
    );
    // Against the run before the file, which would have hidden it; and a newer file does not silence it.
    lab.store(imported(10.0, 400)).await;
    let (_, opened) = lab.measure(12.0).await;
    assert_eq!(states(&opened), [AlertState::Open]);
    assert_eq!(opened[0].against, good);
    lab.day += 1;
    lab.store(imported(12.0, lab.day)).await;
    assert_eq!(
        database.watch_bench_runs().await.unwrap(),
        [],
        "nor does it confirm"
    );
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn news_stay_until_they_are_told_and_a_bad_run_holds_up_no_other() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut lab = Lab {
        database: Arc::clone(&database),
        day: 1,
    };
    lab.store(run_of(10.0, 1)).await;
    let bad = lab.store(run_of(10.0, 2)).await;
    let slow = lab.store(run_of(12.0, 3)).await;
    let mut connection = connect(state.path(), "fleethold").await;
    let spoil = sqlx::query("UPDATE bench_run SET frame = '{}' WHERE id = $1");
    spoil.bind(bad).execute(&mut connection).await.unwrap();
    let changed = database.watch_bench_runs().await.unwrap();
    assert_eq!((states(&changed), changed[0].run), (vec![AlertState::Open], slow));
    assert_eq!(
        database.watch_bench_runs().await.unwrap(),
        [],
        "nor is it asked again"
    );

    let news = database.untold_alerts(10).await.unwrap();
    assert_eq!(news, changed, "nobody was told");
    database.alert_told(news[0].id, news[0].state).await.unwrap();
    assert_eq!(database.untold_alerts(10).await.unwrap(), []);
    lab.day = 3;
    lab.measure(12.0).await;
    let news = database.untold_alerts(10).await.unwrap();
    assert_eq!(states(&news), [AlertState::Confirmed], "that is news again");
    database
        .change_alert(news[0].id, AlertState::Acknowledged, "ann@pbs", "known")
        .await
        .unwrap();
    assert_eq!(database.untold_alerts(10).await.unwrap(), [], "somebody knows");
    database.stop().await;
}
