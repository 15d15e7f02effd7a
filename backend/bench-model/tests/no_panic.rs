//! The fuzz targets on a stable compiler: arbitrary bytes, and corpus files with a few bytes changed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../fuzz/bodies.rs"]
mod bodies;
#[path = "common/sweep.rs"]
mod sweep;

use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// The corpus and our own three formats.
fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut seeds: Vec<Vec<u8>> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    let mut matrix = sweep::restore();
    matrix.rows.truncate(2);
    let comparison = Comparison::judge(&matrix).unwrap();
    for format in [ExportFormat::Json, ExportFormat::Csv, ExportFormat::GoBench] {
        seeds.push(export(&comparison, format).into_bytes());
    }
    seeds.sort();
    seeds
}

fn run_all(data: &[u8]) {
    for body in [bodies::sniffed, bodies::own, bodies::json, bodies::lines] {
        body(data);
    }
}

#[test]
fn seeds_as_they_are_and_cut() {
    for seed in seeds() {
        run_all(&seed);
        let step = (seed.len() / 25).max(1);
        (0..seed.len())
            .step_by(step)
            .for_each(|len| run_all(&seed[..len]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(data in vec(any::<u8>(), 0..300)) {
        run_all(&data);
    }

    #[test]
    fn arbitrary_text(text in "[\\[\\]{}:,\"a-f0-9 .eE+\\-\\n;/=()%]{0,150}") {
        run_all(text.as_bytes());
    }

    #[test]
    fn changed_files(which: Index, changes in vec((any::<Index>(), any::<u8>()), 1..5)) {
        let seeds = seeds();
        let mut data = which.get(&seeds).clone();
        for (at, byte) in changes {
            let at = at.index(data.len());
            // Digits for digits: most changes stay readable and reach what is behind the parser.
            data[at] = if data[at].is_ascii_digit() { b'0' + byte % 10 } else { byte };
        }
        run_all(&data);
    }
}
