//! A series that is measured day by day.

use std::sync::Arc;

use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::{Samples, Side};
use fleethold_history::Database;
use fleethold_history::bench::{AnnotationKind, BenchAlert, NewAnnotation, NewBenchRun};
use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::common::bench::new_run;
use crate::sweep;

pub(crate) const START: OffsetDateTime = datetime!(2026-01-01 00:00 UTC);

/// One cell, `time`, whose after side is around `level` seconds.
pub(crate) fn one_cell(level: f64, day: i64) -> Matrix {
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

pub(crate) fn run_of(level: f64, day: i64) -> NewBenchRun {
    new_run(Uuid::now_v7(), START + Duration::days(day), one_cell(level, day))
}

pub(crate) struct Lab {
    pub(crate) database: Arc<Database>,
    pub(crate) day: i64,
}

impl Lab {
    /// Stores a run of the next day and answers it with the alerts that it changed.
    pub(crate) async fn measure(&mut self, level: f64) -> (Uuid, Vec<BenchAlert>) {
        self.day += 1;
        let id = self.store(run_of(level, self.day)).await;
        (id, self.database.watch_bench_runs().await.unwrap())
    }

    pub(crate) async fn store(&self, run: NewBenchRun) -> Uuid {
        self.database.store_bench_run(run).await.unwrap().id
    }

    pub(crate) async fn series(&self, run: Uuid) -> i64 {
        self.database.series_of_run(run).await.unwrap()[0].after.unwrap()
    }

    pub(crate) async fn say(&self, run: Uuid, kind: AnnotationKind) -> i64 {
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
