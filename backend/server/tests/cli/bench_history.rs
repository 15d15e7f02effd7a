//! `bench import`, `history`, `machine`, and runs by their id: with a database, without one, and after it came back.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use fleethold_history::{Database, DatabaseConfig, DbState};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::harness::World;

/// The private cluster of a state directory, as a server would run it.
struct Cluster {
    runtime: Runtime,
    database: Arc<Database>,
}

impl Cluster {
    fn start(world: &World) -> Self {
        // The service user has to reach the cluster.
        std::fs::set_permissions(world.path(""), std::fs::Permissions::from_mode(0o711)).unwrap();
        let runtime = Runtime::new().unwrap();
        let database = {
            let _inside = runtime.enter();
            Database::start(DatabaseConfig::Private {
                state_dir: world.path("state"),
            })
        };
        let mut state = database.state();
        runtime.block_on(async {
            let ready = state.wait_for(|state| *state == DbState::Ready);
            tokio::time::timeout(Duration::from_secs(90), ready)
                .await
                .expect("the private cluster")
                .unwrap();
        });
        Self { runtime, database }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.runtime.block_on(self.database.stop());
    }
}

/// Six runs a side around `after` seconds, as our own JSON.
fn run_json(after: f64, label: &str) -> String {
    let values: Vec<String> = (0..6)
        .flat_map(|i| {
            let step = 1.0 + f64::from(i) / 1000.0;
            [format!("{}", 10.0 * step), format!("{}", after * step)]
        })
        .collect();
    format!(
        r#"{{"format": "fleethold-bench", "version": 1, "run": {{
            "workload": "small", "knob": "concurrency",
            "parameters": {{"seed": "7", "quiet": "yes", "complete": "yes"}},
            "scenarios": [{{"name": "slow", "legend": "a test"}}],
            "metrics": [{{"name": "time", "unit": "s", "better": "lower", "judged": true}}],
            "rows": [{{"scenario": "slow", "value": "4", "control": true, "cells": [
                {{"metric": "time", "samples": {{"order_seed": 7, "order": "BABABABABABA", "values": [{}]}}}}]}}],
            "before": {{"label": "one by one", "machine_class": "a class"}},
            "after": {{"label": "{label}", "machine_class": "a class"}},
            "data_sha256": "{}"}}}}"#,
        values.join(", "),
        "ab".repeat(32)
    )
}

fn imported(world: &World, args: &[&str]) -> Vec<Value> {
    let all: Vec<&str> = ["bench", "import", "--json"]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    let ran = world.run(&all).ok();
    let value: Value = serde_json::from_slice(&ran.stdout).unwrap();
    value["items"].as_array().unwrap().clone()
}

#[test]
fn files_become_runs_that_export_and_compare_find_by_id() {
    let world = World::new();
    let _cluster = Cluster::start(&world);
    world.write("old.json", run_json(8.0, "old"));
    world.write("new.json", run_json(5.0, "new"));
    world.write(
        "go.txt",
        "BenchmarkRead-2 100 2000 ns/op\nBenchmarkRead-2 100 2100 ns/op\n",
    );

    let dry = imported(&world, &["old.json", "--dry-run"]);
    assert_eq!(
        (&dry[0]["run"], &dry[0]["dry_run"]),
        (&Value::Null, &Value::Bool(true))
    );
    assert_eq!((&dry[0]["series"], &dry[0]["samples"]), (&2.into(), &12.into()));
    let stored = imported(&world, &["old.json", "new.json", "go.txt"]);
    assert_eq!(stored[0]["known"], false, "a dry run stores nothing");
    let again = imported(&world, &["old.json"]);
    assert_eq!(
        (&again[0]["known"], &again[0]["run"]),
        (&Value::Bool(true), &stored[0]["run"])
    );
    let text = world.run(&["bench", "import", "go.txt"]).ok();
    assert!(
        text.out().contains("gobench") && text.out().contains("has it already"),
        "{text:?}"
    );

    let [old, new, go] = [0, 1, 2].map(|at: usize| stored[at]["run"].as_str().unwrap().to_owned());
    let from_file = world
        .run(&["bench", "export", "old.json", "--format", "csv"])
        .ok();
    let from_history = world.run(&["bench", "export", &old, "--format", "csv"]).ok();
    assert_eq!(from_history.out(), from_file.out(), "the same to the last digit");
    let compared = world.run(&["bench", "compare", &old, &new]).ok();
    assert!(compared.out().contains('*'), "{}", compared.out());
    let mixed = world
        .run(&["bench", "compare", &old, "new.json", "--format", "json"])
        .ok();
    assert!(mixed.out().contains("\"faster\""), "{}", mixed.out());
    let one_side = world.run(&["bench", "export", &go]).ends(2);
    assert!(
        one_side.stderr.contains("expected a run of fleethold bench"),
        "{one_side:?}"
    );
    let unknown = world
        .run(&["bench", "export", "019a0c5e-7b1f-7cc1-8a1b-3f2a91c00001"])
        .ends(1);
    assert!(unknown.stderr.contains("not in the history"), "{unknown:?}");

    let listed = world.run(&["bench", "history", "small", "--json"]).ok();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let after = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["side"] == "after")
        .unwrap();
    assert_eq!((&after["runs"], &after["metric"]), (&2.into(), &"time".into()));
    assert_eq!(after["parameters"]["concurrency"], "4");
    let id = after["id"].to_string();
    let series = world.run(&["bench", "history", "--series", &id]).ok();
    assert!(
        series.out().contains(&old) && series.out().contains("8.02 s"),
        "{}",
        series.out()
    );
    assert!(world.run(&["bench", "history"]).ok().out().contains("Read"));
    world.run(&["bench", "history", "--series", "999"]).ends(2);
}

#[test]
fn what_cannot_be_read_stores_nothing_and_names_the_file() {
    let world = World::new();
    let _cluster = Cluster::start(&world);
    world.write("good.json", run_json(8.0, "old"));
    world.write(
        "bad.json",
        run_json(8.0, "old").replace("\"values\": [", "\"values\": [-"),
    );
    let refused = world.run(&["bench", "import", "good.json", "bad.json"]).ends(1);
    assert!(refused.stderr.contains("bad.json"), "{refused:?}");
    let listed = world.run(&["bench", "history", "--json"]).ok();
    assert_eq!(listed.out().trim(), r#"{"items":[]}"#);
}

#[test]
fn without_a_database_it_says_what_to_do() {
    let world = World::new();
    world.write("old.json", run_json(8.0, "old"));
    let refused = world.run(&["bench", "import", "old.json"]).ends(3);
    assert!(
        refused
            .stderr
            .contains("start it (fleethold serve) or name a database"),
        "{refused:?}"
    );
    let dry = imported(&world, &["old.json", "--dry-run"]);
    assert_eq!(dry[0]["workload"], "small");
    let away = world
        .run(&[
            "bench",
            "history",
            "--database-url",
            "postgres://nobody@127.0.0.1:1/x",
        ])
        .ends(3);
    assert!(
        away.stderr.contains("cannot use the history database"),
        "{away:?}"
    );
}

#[test]
fn a_run_waits_for_the_database_and_arrives_once() {
    let world = World::new();
    let measured = world
        .run(&[
            "bench",
            "run",
            "lookup",
            "--quick",
            "--samples",
            "1",
            "--reason",
            "a try",
            "--out",
            "run.json",
        ])
        .ok();
    assert!(measured.stderr.contains("waits in"), "{measured:?}");
    let outbox = world.path("state/bench/outbox");
    let waiting = || std::fs::read_dir(&outbox).unwrap().count();
    assert_eq!(waiting(), 1);
    // What waits is a run like any other.
    let file = std::fs::read_dir(&outbox)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    world.run(&["bench", "export", file.to_str().unwrap()]).ok();

    let _cluster = Cluster::start(&world);
    let listed = world.run(&["bench", "history", "lookup", "--json"]).ok();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(!listed["items"].as_array().unwrap().is_empty());
    assert_eq!(waiting(), 0);
    let same = imported(&world, &["run.json"]);
    assert_eq!(same[0]["known"], true, "the same run by another way");
    let id = same[0]["run"].as_str().unwrap();
    assert_eq!(
        file.file_stem().unwrap(),
        id,
        "its id was given when it was measured"
    );
}

#[test]
fn this_machine() {
    let world = World::new();
    let shown = world.run(&["bench", "machine", "--json"]).ok();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["fingerprint"].as_str().unwrap().len(), 64);
    assert!(shown["facts"]["kernel"].as_str().unwrap().starts_with("Linux"));
    let text = world.run(&["bench", "machine"]).ok();
    assert!(text.out().contains(shown["class"].as_str().unwrap()), "{text:?}");
}
