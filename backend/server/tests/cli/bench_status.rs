//! `bench run` of the workload `status`: real servers, real TLS, a small fleet.

use serde_json::Value;

use super::harness::{World, text};

/// SHA-256 of a fleet of 12 stores with seed 1.
const FLEET: &str = "29d340d6ff3c8459f998c971154157d0d0c36111f0fe5cce6bbe497ae759b5ad";

fn workload(world: &World, sha256: &str) -> String {
    let file = format!(
        r#"
name = "small-status"
title = "A small fleet"
source = "this test"
kind = "status"
before = "reads"
after = "knows"

[knob]
name = "stores"
values = ["6", "12"]
default = "12"

[[scenario]]
name = "kept"
legend = "connections are kept"
parameters = {{ requests = "24", before_requests = "10" }}

[[scenario]]
name = "each"
legend = "a connection each, by token"
parameters = {{ connection = "each", login = "token" }}

[[scenario]]
name = "login"
legend = "cookie and token"
values = ["12"]
parameters = {{ compare = "login" }}

[data]
fixture = "fleet"
stores = 12
seed = 1
sha256 = "{sha256}"

[quick]
values = ["12"]
scenarios = ["kept", "each", "login"]
parameters = {{ asked = "3" }}

[[floor]]
metric = "cpu"
of = "before"
op = ">="
value = 0.0
why = "the server's time was counted"

[[floor]]
metric = "cpu"
scenario = "kept"
op = "<="
value = 0.000000001
why = "nobody reaches this"
"#
    );
    text(&world.write("small-status.toml", file)).to_owned()
}

#[test]
fn both_servers_answer_over_tls_and_floors_are_reported() {
    let world = World::new();
    let file = workload(&world, FLEET);
    let args = [
        "bench",
        "run",
        &file,
        "--quick",
        "--samples",
        "1",
        "--warm-up",
        "0",
        "--seed",
        "1",
        "--check",
        "--out",
        "run.json",
    ];
    let ran = world.run(&args).ends(1);
    assert!(ran.out().contains("MISSED cpu kept stores=12"), "{}", ran.out());
    assert!(ran.out().ends_with("3 floors met, 1 missed\n"), "{}", ran.out());

    let kept: Value = serde_json::from_slice(&std::fs::read(world.path("run.json")).unwrap()).unwrap();
    let rows = kept["run"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in rows {
        for metric in ["time", "cpu", "rate", "cold", "warm", "p50", "p99", "rss_peak"] {
            let cells = row["cells"].as_array().unwrap();
            let cell = cells.iter().find(|cell| cell["metric"] == metric).unwrap();
            let values = cell["samples"]["values"].as_array().unwrap();
            assert_eq!(values.len(), 2, "one a side: {cell}");
            assert!(values.iter().all(|value| value.as_f64().unwrap() > 0.0), "{cell}");
        }
    }
    assert_eq!(kept["run"]["parameters"]["quick_asked"], "3");
    // The servers are gone, and so is what they kept.
    let servers = world.path("state/bench/servers");
    assert_eq!(std::fs::read_dir(servers).unwrap().count(), 0);
}

#[test]
fn another_fleet_is_refused() {
    let world = World::new();
    let other = workload(&world, &"ab".repeat(32));
    world
        .run(&["bench", "run", &other, "--quick"])
        .fails(5, &["expected SHA-256 abab", FLEET]);
    // What was changed after it was made, too.
    let file = workload(&world, FLEET);
    let fleet = world.path("state/bench/fleet-12-1");
    let first = std::fs::read_dir(&fleet)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    std::fs::write(first.join("added"), "x").unwrap();
    world
        .run(&["bench", "run", &file, "--quick"])
        .fails(5, &["expected SHA-256", "could not be compared"]);
}

#[test]
fn the_older_lookup_is_for_servers_of_a_benchmark_only() {
    let world = World::new();
    for directory in ["state", "state/etc", "state/run"] {
        std::fs::create_dir(world.path(directory)).unwrap();
    }
    let (state, etc, run) = (
        world.path("state"),
        world.path("state/etc"),
        world.path("state/run"),
    );
    for how in ["reparse", "cached"] {
        let args = [
            "serve",
            "--bench-lookup",
            how,
            "--listen",
            "127.0.0.1:0",
            "--state-dir",
            text(&state),
            "--config-dir",
            text(&etc),
            "--run-dir",
            text(&run),
        ];
        world
            .run(&args)
            .fails(2, &["--bench-lookup is for servers that a benchmark starts"]);
    }
    assert_eq!(std::fs::read_dir(&etc).unwrap().count(), 0, "nothing was made");
    let help = world.run(&["serve", "--help"]).ok();
    assert!(!help.out().contains("bench-lookup"), "{}", help.out());
}
