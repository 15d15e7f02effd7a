//! Benchmark runs to store.

use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::import::import;
use fleethold_bench_model::matrix::Matrix;
use fleethold_history::bench::{BenchLoad, BenchMachine, BenchMeta, NewBenchRun, WorkloadFile};
use time::OffsetDateTime;
use time::macros::datetime;
use uuid::Uuid;

/// A quiet, complete run of `matrix`, measured at `at`.
pub(crate) fn new_run(id: Uuid, at: OffsetDateTime, matrix: Matrix) -> NewBenchRun {
    let meta = BenchMeta {
        id,
        source: "run".to_owned(),
        created_at: at,
        started_at: Some(at),
        finished_at: None,
        workload: WorkloadFile {
            name: matrix.workload.clone(),
            file_sha256: "ab".repeat(32),
            data_sha256: matrix.data_sha256.clone(),
            text: "name = \"restore\"".to_owned(),
        },
        before: None,
        after: None,
        machine: BenchMachine::of_version(&matrix.after),
        cold: false,
        quick: matrix.quick,
        complete: true,
        seed: Some(7),
        samples: 8,
        operator: "ann@pbs".to_owned(),
        reason: "to see".to_owned(),
        load: Some(BenchLoad {
            others: Some(0.01),
            steal: Some(0.0),
            quiet: true,
        }),
        tool_version: "0.1.0".to_owned(),
        facts: Default::default(),
        floors: None,
        pinned: false,
    };
    NewBenchRun::measured(meta, matrix, Vec::new())
}

pub(crate) fn measured(id: Uuid, matrix: Matrix) -> NewBenchRun {
    new_run(id, datetime!(2026-01-02 03:04:05.678901 UTC), matrix)
}

/// A file as `bench import` would store it.
pub(crate) fn import_bytes(name: &str, bytes: &[u8]) -> NewBenchRun {
    let imported = import(name, bytes, None).unwrap();
    let at = datetime!(2026-01-03 00:00 UTC);
    NewBenchRun::imported(Uuid::now_v7(), at, "ann@pbs", name, bytes.to_vec(), imported)
}

/// A matrix as our CSV.
pub(crate) fn csv(matrix: &Matrix) -> Vec<u8> {
    let comparison = Comparison::judge(matrix).unwrap();
    export(&comparison, ExportFormat::Csv).into_bytes()
}
