//! Benchmark runs come back as they went in, once, or not at all.

#![expect(
    clippy::unwrap_used,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;
#[path = "../../bench-model/tests/common/drawn.rs"]
mod drawn;
#[path = "../../bench-model/tests/common/sweep.rs"]
mod sweep;

use common::bench::{import_bytes, measured, new_run};
use common::*;
use drawn::matrices;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, Origin, export_of};
use fleethold_bench_model::import::{Content, Format, Imported};
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::{Samples, Side};
use fleethold_history::bench::{
    AttachmentKind, BenchContent, BenchRunFilter, NewAttachment, NewBenchRun, NewContent, Revision,
    SeriesFilter,
};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use time::macros::datetime;
use uuid::Uuid;

/// A million samples, both sides by turns.
const MANY: usize = 1_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn storing_and_reading_is_the_identity() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut runner = TestRunner::deterministic();
    for case in 0..60 {
        let matrix: Matrix = matrices().new_tree(&mut runner).unwrap().current();
        let id = Uuid::now_v7();
        let stored = database
            .store_bench_run(measured(id, matrix.clone()))
            .await
            .unwrap_or_else(|error| panic!("case {case}: {error}: {matrix:?}"));
        let digest = matrix.digest();
        let Some(BenchContent::Matrix(found)) = database.bench_content(stored.id).await.unwrap() else {
            panic!("case {case}: no matrix");
        };
        assert_eq!(*found, matrix, "case {case}");
        assert_eq!(found.digest(), digest, "case {case}: bit by bit");
        // The cells know their series; both sides of a cell are different ones.
        let cells = database.series_of_run(stored.id).await.unwrap();
        let sides = matrix.rows.iter().flat_map(|row| &row.cells);
        assert_eq!(cells.len(), sides.clone().count());
        for (found, cell) in cells.iter().zip(sides) {
            assert_eq!(
                found.before.is_some(),
                !cell.samples.side(Side::Before).is_empty()
            );
            assert_eq!(found.after.is_some(), !cell.samples.side(Side::After).is_empty());
        }
    }
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_about_a_run_comes_back() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let id = Uuid::now_v7();
    let mut run = measured(id, sweep::restore());
    run.meta.after = Some(Revision {
        repository: "https://git.example.com/fleethold".to_owned(),
        commit: "3f2a91c".to_owned(),
        dirty: true,
        parent: Some("11d0e77".to_owned()),
    });
    run.meta.seed = Some(u64::MAX);
    run.meta.facts.insert("odd\0name".to_owned(), "\0".to_owned());
    run.meta.floors = Some(serde_json::json!([{"text": "restore time <= 2", "state": "met"}]));
    run.attachments.push(NewAttachment {
        kind: AttachmentKind::FlameGraph,
        side: Some(Side::After),
        name: "after.folded".to_owned(),
        bytes: b"main;read 7\n".repeat(1000),
    });
    database.store_bench_run(run.clone()).await.unwrap();

    let row = database.bench_run(id).await.unwrap().unwrap();
    let meta = &run.meta;
    assert_eq!((&row.after, &row.before), (&meta.after, &None));
    assert_eq!(
        (row.seed, &row.facts, &row.floors),
        (meta.seed, &meta.facts, &meta.floors)
    );
    assert_eq!(
        (row.created_at, row.started_at),
        (meta.created_at, meta.started_at)
    );
    assert_eq!(row.workload, meta.workload);
    assert_eq!(row.load, meta.load);
    // time and cpu of five rows, rss is judged there, too: the fast 8 row and the spinner 8 row decide.
    let counts = row.verdicts.unwrap();
    assert_eq!(counts.iter().sum::<u32>(), 15);
    assert!(counts[0] >= 1 && counts[1] >= 1, "{counts:?}");

    let files = database.attachments(id).await.unwrap();
    let (file, bytes) = database.attachment(files[0].id).await.unwrap().unwrap();
    assert_eq!(bytes, run.attachments[0].bytes);
    assert_eq!((file.size, file.side), (12_000, Some(Side::After)));
    let again = database
        .attach(id, run.attachments[0].clone())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(again, file, "the same file once");
    assert_eq!(
        database
            .attach(Uuid::now_v7(), run.attachments[0].clone())
            .await
            .unwrap(),
        None
    );

    let machines = database.machines().await.unwrap();
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0].machine, meta.machine.clone().unwrap());
    assert_eq!((machines[0].runs, machines[0].last_run_at), (1, meta.started_at));
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_thing_is_stored_once_whoever_brings_it() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let first = measured(Uuid::now_v7(), sweep::restore());
    let runs = (0..6).map(|_| {
        let (database, mut run) = (database.clone(), first.clone());
        run.meta.id = Uuid::now_v7();
        tokio::spawn(async move { database.store_bench_run(run).await.unwrap() })
    });
    let mut stored = Vec::new();
    for run in runs.collect::<Vec<_>>() {
        stored.push(run.await.unwrap());
    }
    assert_eq!(stored.iter().filter(|one| !one.known).count(), 1, "{stored:?}");
    assert!(stored.iter().all(|one| one.id == stored[0].id), "{stored:?}");

    // The same matrix from a file in another format is the same run; another file is another.
    let csv = import_bytes("run.csv", &common::bench::csv(&sweep::restore()));
    assert!(database.store_bench_run(csv).await.unwrap().known);
    let page = database
        .bench_runs(&BenchRunFilter::default(), None, 10)
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
    let mut connection = connect(state.path(), "fleethold").await;
    assert_eq!(count(&mut connection, "bench_summary").await, 40);
    assert_eq!(count(&mut connection, "bench_sample").await, 5 * 4 * 16);
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_exported_is_known_when_it_comes_back_and_keeps_its_date() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut last = Uuid::nil();
    for number in 0..12 {
        let mut matrix = sweep::restore();
        matrix.parameters.insert("number".to_owned(), number.to_string());
        for cell in matrix.rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.noise_ratio = None;
        }
        let at = datetime!(2026-01-02 03:04 UTC) + time::Duration::days(number);
        let run = new_run(Uuid::now_v7(), at, matrix);
        last = database.store_bench_run(run).await.unwrap().id;
    }
    let mut matrix = database.bench_matrix(last).await.unwrap().unwrap();
    let cells = matrix.rows.iter().flat_map(|row| &row.cells);
    assert!(
        cells.into_iter().any(|cell| cell.noise_ratio.is_some()),
        "an export has the noise"
    );
    matrix.permalink = Some(format!("https://pbs:8007/bench/runs/{last}"));
    let origin = Origin {
        run_id: Some(last.to_string()),
        started_at: Some("2026-01-01T10:00:00Z".to_owned()),
    };
    let text = export_of(&Comparison::judge(&matrix).unwrap(), ExportFormat::Json, &origin);
    let back = import_bytes("run.json", text.as_bytes());
    assert_eq!(back.meta.started_at, Some(datetime!(2026-01-01 10:00 UTC)));
    assert_eq!(back.meta.facts["run_id"], last.to_string());
    let stored = database.store_bench_run(back).await.unwrap();
    assert_eq!((stored.id, stored.known), (last, true));
    // What has not been measured yet is of the day on which it came.
    let tomorrow = text.replace("2026-01-01T10", "2099-01-01T10");
    assert_eq!(
        import_bytes("run.json", tomorrow.as_bytes()).meta.started_at,
        None
    );
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_verdicts_cannot_be_written_is_not_half_there() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut connection = connect(state.path(), "fleethold").await;
    let refuse =
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
        CREATE TRIGGER refuse BEFORE UPDATE OF verdicts ON bench_run EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(refuse).execute(&mut connection).await.unwrap();
    let run = measured(Uuid::now_v7(), sweep::restore());
    database.store_bench_run(run.clone()).await.unwrap_err();
    assert_eq!(count(&mut connection, "bench_run").await, 0);
    assert_eq!(count(&mut connection, "bench_sample").await, 0);
    sqlx::raw_sql("DROP TRIGGER refuse ON bench_run")
        .execute(&mut connection)
        .await
        .unwrap();
    let stored = database.store_bench_run(run).await.unwrap();
    assert!(!stored.known);
    let row = database.bench_run(stored.id).await.unwrap().unwrap();
    assert!(row.verdicts.is_some());
    database.stop().await;
}

#[test]
fn facts_of_a_file_are_cut_and_say_so() {
    let fact = |number| (format!("fact{number}"), "\u{e4}".repeat(3000));
    let imported = Imported {
        format: Format::GoBench,
        content: Content::Series(Vec::new()),
        facts: (0..2000).map(fact).collect(),
    };
    let at = datetime!(2026-01-02 03:04 UTC);
    let run = NewBenchRun::imported(Uuid::now_v7(), at, "", "read.txt", b"all".to_vec(), imported);
    let facts = &run.meta.facts;
    let bytes: usize = facts.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(facts.len() <= 256 && bytes <= 64 << 10, "{} {bytes}", facts.len());
    assert!(facts.values().all(|value| value.len() <= 1024));
    assert!(
        facts["facts_left_out"].contains("2000 left out or cut"),
        "{facts:?}"
    );
    assert_eq!(run.attachments.first().unwrap().bytes, b"all");
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_files_keep_their_series_and_themselves() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let text =
        "goos: linux\nBenchmarkRead-2 100 2000 ns/op 64 B/op\nBenchmarkRead-2 100 2100 ns/op 64 B/op\n";
    let run = import_bytes("read.txt", text.as_bytes());
    let NewContent::Series(series) = run.content.clone() else {
        panic!("{run:?}");
    };
    let id = database.store_bench_run(run).await.unwrap().id;
    assert_eq!(
        database.bench_content(id).await.unwrap(),
        Some(BenchContent::Series(series.clone()))
    );
    assert_eq!(database.bench_matrix(id).await.unwrap(), None);
    let original = &database.attachments(id).await.unwrap()[0];
    assert_eq!(original.kind, AttachmentKind::Original);
    let (_, bytes) = database.attachment(original.id).await.unwrap().unwrap();
    assert_eq!(bytes, text.as_bytes());
    assert!(
        database
            .store_bench_run(import_bytes("other-name.txt", text.as_bytes()))
            .await
            .unwrap()
            .known
    );

    let listed = database.bench_series(&SeriesFilter::default()).await.unwrap();
    assert_eq!(listed.len(), series.len());
    assert!(listed.iter().all(|one| one.runs == 1 && one.side == Side::After));

    let folded = import_bytes("stacks.folded", b"main;read 7\nmain;write 3\n");
    assert_eq!(folded.content, NewContent::Stacks);
    let id = database.store_bench_run(folded).await.unwrap().id;
    assert_eq!(
        database.bench_content(id).await.unwrap(),
        Some(BenchContent::Stacks)
    );
    let kinds = database.attachments(id).await.unwrap();
    assert_eq!(kinds[0].kind, AttachmentKind::FlameGraph);
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_measurement_is_refused_and_leaves_nothing() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut run = import_bytes("x.txt", b"BenchmarkX-2 1 5 ns/op\n");
        let NewContent::Series(series) = &mut run.content else {
            panic!("{run:?}");
        };
        series[0].values.push(bad);
        let error = database.store_bench_run(run).await.unwrap_err().to_string();
        let found =
            format!("field `samples of series 0`: expected a finite number of at least 0, found `{bad}`");
        assert_eq!(error, format!("import x.txt, {found}"));
    }
    let mut odd = import_bytes("x.txt", b"BenchmarkX-2 1 5 ns/op\n");
    odd.meta.reason = "a\0b".to_owned();
    let error = database.store_bench_run(odd).await.unwrap_err().to_string();
    let expected =
        "import x.txt, field `reason`: expected text of at most 4096 bytes without NUL, found `a\\0b";
    assert!(error.starts_with(expected), "{error}");
    let mut empty = sweep::restore();
    empty.rows[0].cells[0].samples = Samples::default();
    let error = database
        .store_bench_run(measured(Uuid::now_v7(), empty))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("samples in a cell"), "{error}");
    let mut connection = connect(state.path(), "fleethold").await;
    for table in ["bench_run", "bench_series", "bench_sample", "bench_workload"] {
        assert_eq!(count(&mut connection, table).await, 0, "{table}");
    }
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_samples() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut matrix = sweep::restore();
    let mut samples = Samples::new(Some(7));
    for i in 0..MANY {
        let side = if (i * 7 % 11) % 2 == 0 {
            Side::Before
        } else {
            Side::After
        };
        samples.push(side, 1.0 + (i % 1000) as f64 / 1e6).unwrap();
    }
    matrix.rows[0].cells[0].samples = samples;
    let id = Uuid::now_v7();
    database
        .store_bench_run(measured(id, matrix.clone()))
        .await
        .unwrap();
    let Some(BenchContent::Matrix(found)) = database.bench_content(id).await.unwrap() else {
        panic!("no matrix");
    };
    assert!(*found == matrix);
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_filters() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let mut matrix = sweep::restore();
        matrix.parameters.insert("number".to_owned(), number.to_string());
        let mut run = new_run(Uuid::now_v7(), datetime!(2026-01-02 03:04:05 UTC), matrix);
        run.meta.complete = number != 2;
        run.meta.facts.insert("why".to_owned(), "a test".to_owned());
        ids.push(database.store_bench_run(run).await.unwrap().id);
    }
    ids.reverse();
    let all = BenchRunFilter::default();
    let first = database.bench_runs(&all, None, 3).await.unwrap();
    let second = database.bench_runs(&all, first.next_cursor, 3).await.unwrap();
    assert_eq!(second.next_cursor, None);
    let found: Vec<Uuid> = first
        .items
        .iter()
        .chain(&second.items)
        .map(|run| run.id)
        .collect();
    assert_eq!(found, ids);
    // A list has nothing that is long; one run has all.
    let (listed, whole) = (
        &first.items[0],
        database.bench_run(ids[0]).await.unwrap().unwrap(),
    );
    assert_eq!((listed.workload.text.as_str(), listed.facts.len()), ("", 0));
    assert_ne!(whole.workload.text, "");
    assert_eq!(whole.facts["why"], "a test");
    let partial = BenchRunFilter {
        complete: Some(false),
        ..all.clone()
    };
    assert_eq!(
        database.bench_runs(&partial, None, 9).await.unwrap().items.len(),
        1
    );
    let other = BenchRunFilter {
        workload: Some("lookup".to_owned()),
        ..all
    };
    assert_eq!(database.bench_runs(&other, None, 9).await.unwrap().items, []);
    assert!(database.pin_bench_run(ids[0], true).await.unwrap());
    assert!(database.bench_run(ids[0]).await.unwrap().unwrap().pinned);
    assert!(!database.pin_bench_run(Uuid::now_v7(), true).await.unwrap());
    database.stop().await;
}

#[test]
fn a_run_of_a_tagged_revision_is_pinned_and_knows_its_parent() {
    let mut matrix = sweep::restore();
    let (commit, parent) = ("ab".repeat(20), "cd".repeat(20));
    for (name, value) in [("revision", &commit), ("parent", &parent)] {
        let environment = &mut matrix.after.environment;
        environment.insert(name.to_owned(), value.clone());
    }
    let exported = |matrix: &Matrix| {
        let comparison = Comparison::judge(matrix).unwrap();
        export_of(&comparison, ExportFormat::Json, &Origin::default()).into_bytes()
    };
    let untagged = measured(Uuid::now_v7(), matrix.clone());
    assert!(!untagged.meta.pinned);
    assert!(!import_bytes("run.json", &exported(&matrix)).meta.pinned);
    let (_, after) = Revision::of_sides(&matrix);
    assert_eq!(after.unwrap().parent, Some(parent.clone()));

    let mut against_a_tag = matrix.clone();
    for side in [&mut against_a_tag.before, &mut matrix.after] {
        side.environment.insert("tag".to_owned(), "v1.0".to_owned());
    }
    // A run against the last release is one of many; one of the release itself stays, whoever brings it.
    assert!(!measured(Uuid::now_v7(), against_a_tag).meta.pinned);
    assert!(measured(Uuid::now_v7(), matrix.clone()).meta.pinned);
    let imported = import_bytes("run.json", &exported(&matrix));
    assert!(imported.meta.pinned);
    assert_eq!(imported.meta.after.unwrap().parent, Some(parent));
}

/// Who counts the bytes of a reply must not have all of them when they turn out to be wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_never_read_to_its_last_piece() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let id = Uuid::now_v7();
    let mut run = measured(id, sweep::restore());
    run.attachments.push(NewAttachment {
        kind: AttachmentKind::FlameGraph,
        side: Some(Side::After),
        name: "after.folded".to_owned(),
        bytes: b"main;read 7\n".repeat(60_000),
    });
    database.store_bench_run(run).await.unwrap();
    let file = database.attachments(id).await.unwrap().remove(0);
    let pieces = async || {
        let mut reader = database.open_attachment(file.id).await.unwrap().unwrap();
        let mut sizes = Vec::new();
        loop {
            match reader.next().await {
                Ok(Some(piece)) => sizes.push(piece.len() as u64),
                Ok(None) => return (sizes, None),
                Err(error) => return (sizes, Some(error.to_string())),
            }
        }
    };
    let (sizes, error) = pieces().await;
    assert_eq!((sizes.iter().sum::<u64>(), error), (file.size, None));
    assert!(sizes.len() > 1, "{sizes:?}");

    let mut connection = connect(state.path(), "fleethold").await;
    sqlx::raw_sql("UPDATE bench_attachment SET sha256 = repeat('0', 64)")
        .execute(&mut connection)
        .await
        .unwrap();
    let (sizes, error) = pieces().await;
    assert!(sizes.iter().sum::<u64>() < file.size, "{sizes:?}");
    let error = error.unwrap();
    assert!(
        error.contains("bench_attachment") && error.contains("720000 bytes"),
        "{error}"
    );
    database.stop().await;
}
