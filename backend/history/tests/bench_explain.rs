//! The plans of what a page waits for, with ten million samples: EXPLAIN.md is what this prints.
//!
//! ```text
//! UPDATE_EXPLAIN=1 cargo test -p fleethold-history --test bench_explain -- --ignored
//! ```

#![expect(
    clippy::unwrap_used,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::*;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

/// 1,000 runs of 50 cells, both sides of each with 100 samples.
const FILL: &str = "
SET session_replication_role = replica; -- the rows are consistent by their making: no look-ups of keys
INSERT INTO bench_workload (name, file_sha256, data_sha256, text) VALUES ('restore', '', repeat('ab', 32), '');
INSERT INTO bench_series (key_sha256, workload, parameters, metric, unit, better, machine_class, side)
    SELECT n::text, 'restore', jsonb_build_object('scenario', 'fast', 'concurrency', n::text), 'time', 's', 'lower',
        'a class', CASE n % 2 WHEN 0 THEN 'after' ELSE 'before' END
    FROM generate_series(1, 100) AS n;
INSERT INTO bench_run (id, workload, source, created_at, started_at, machine_class, cold, quick, complete, quiet,
        samples, operator, reason, tool_version, digest, content, frame, facts)
    SELECT lpad(n::text, 32, '0')::uuid, 1, 'run', '2026-01-01'::timestamptz + n * interval '1 hour',
        '2026-01-01'::timestamptz + n * interval '1 hour', 'a class', false, false, true, true, 100, 'ann@pbs', '',
        '0.1.0', n::text, 'matrix', '{}', '{}'
    FROM generate_series(1, 1000) AS n;
INSERT INTO bench_summary (series, run, ordinal, judged, measured_at, n, min, lower_quartile, median, upper_quartile,
        max, mad, bins)
    SELECT series.id, run.id, series.id - 1, true, run.measured_at, 100, 1, 2, 3, 4, 5, 0.5, '{}'
    FROM bench_run AS run, bench_series AS series;
INSERT INTO bench_sample (series, run, position, value)
    SELECT series.id, run.id, position, 1 + (position * 7919 % 1000) / 1000.0
    FROM bench_run AS run, bench_series AS series, generate_series(0, 99) AS position
    ORDER BY series.id, run.id, position;
SET session_replication_role = origin;
";

/// A statement of the crate, found by a part of it, with arguments.
struct Statement {
    what: &'static str,
    part: &'static str,
    arguments: &'static str,
}

const RUN: &str = "00000000-0000-0000-0000-000000000777";
const STATEMENTS: [Statement; 7] = [
    Statement {
        what: "All samples of a run, for its comparison: the index alone",
        part: "SELECT series, position, value FROM bench_sample",
        arguments: "'RUN', 'SERIES'",
    },
    Statement {
        what: "A series over time, for the history page: bounded by the points that are shown",
        part: "SELECT point.run, point.measured_at, point.n",
        arguments: "42, NULL, NULL, 2000",
    },
    Statement {
        what: "The noise of the series of a run: at most 400 points of each are looked at, from the index",
        part: "SELECT wanted.id AS \"series!\"",
        arguments: "'SERIES', '2026-02-02', 'RUN', 100, 400",
    },
    Statement {
        what: "The series of a run's cells",
        part: "SELECT ordinal, series FROM bench_summary WHERE run = $1 ORDER BY ordinal",
        arguments: "'RUN'",
    },
    Statement {
        what: "What a run is compared with, for its alerts: each series back to the newest comparable run",
        part: "AS baseline ON true",
        arguments: "'RUN', NULL",
    },
    Statement {
        what: "A page of runs",
        part: "SELECT run.id, run.source, workload.name",
        arguments: "NULL, NULL, NULL, NULL, NULL, 'RUN', 51",
    },
    Statement {
        what: "The samples of one run on their way out",
        part: "DELETE FROM bench_sample USING bench_summary",
        arguments: "'RUN'",
    },
];

/// The text of a statement as it was checked at compile time.
fn text_of(part: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.sqlx");
    let texts = std::fs::read_dir(dir).unwrap().map(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        value.get("query").unwrap().as_str().unwrap().to_owned()
    });
    let found: Vec<String> = texts.filter(|text| text.contains(part)).collect();
    let [one] = found.as_slice() else {
        panic!("{} statements with {part:?}", found.len());
    };
    one.clone()
}

async fn plan(connection: &mut PgConnection, statement: &Statement) -> String {
    let text = text_of(statement.part);
    let series: Vec<String> = (1..=100).map(|id: i32| id.to_string()).collect();
    let series = format!("{{{}}}", series.join(","));
    let arguments = statement.arguments.replace("RUN", RUN).replace("SERIES", &series);
    connection
        .execute(AssertSqlSafe(format!("PREPARE asked AS {text}")))
        .await
        .unwrap();
    let explain =
        format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS) EXECUTE asked ({arguments})");
    let lines: Vec<String> = sqlx::query_scalar(AssertSqlSafe(explain))
        .fetch_all(&mut *connection)
        .await
        .unwrap();
    connection.execute("DEALLOCATE asked").await.unwrap();
    // Whether a page came from the disk or the cache is chance.
    let mut plan = String::new();
    for line in lines
        .iter()
        .filter(|line| !line.contains("Buffers:") && !line.contains("Planning:"))
    {
        writeln!(plan, "{}", line.replace(&series, "{1,2,...,100}")).unwrap();
    }
    plan
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "ten million rows take minutes; UPDATE_EXPLAIN=1 renews EXPLAIN.md"]
async fn plans_with_ten_million_samples() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let mut connection = connect(state.path(), "fleethold").await;
    sqlx::raw_sql(FILL).execute(&mut connection).await.unwrap();
    for table in ["bench_sample", "bench_summary", "bench_run", "bench_series"] {
        let vacuum = format!("VACUUM (ANALYZE) {table}");
        connection.execute(AssertSqlSafe(vacuum)).await.unwrap();
    }
    assert_eq!(count(&mut connection, "bench_sample").await, 10_000_000);
    let version: String = sqlx::query_scalar("SHOW server_version")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let mut page = format!(
        "# Plans with ten million samples\n\n\
         1,000 runs of 50 cells, both sides of each with 100 samples; PostgreSQL {version} with its defaults. The\n\
         statements are those of the crate, taken from `.sqlx`. Made by\n\n\
         ```\nUPDATE_EXPLAIN=1 cargo test -p fleethold-history --test bench_explain -- --ignored\n```\n\n\
         which fails when the samples are not read from their index, or a table of samples or summaries is read whole.\n"
    );
    for statement in &STATEMENTS {
        let plan = plan(&mut connection, statement).await;
        for table in ["bench_sample", "bench_summary"] {
            assert!(
                !plan.contains(&format!("Seq Scan on {table}")),
                "{}:\n{plan}",
                statement.what
            );
        }
        if statement.part.starts_with("SELECT series, position") {
            assert!(plan.contains("Index Only Scan using bench_sample_pkey"), "{plan}");
            assert!(plan.contains("Heap Fetches: 0"), "{plan}");
        }
        write!(page, "\n## {}\n\n```\n{plan}```\n", statement.what).unwrap();
    }
    if std::env::var_os("UPDATE_EXPLAIN").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("EXPLAIN.md"), page).unwrap();
    } else {
        println!("{page}");
    }
    database.stop().await;
}
