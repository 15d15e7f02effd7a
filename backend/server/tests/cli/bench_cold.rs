//! `bench run --cold --flamegraph`: each leaves its mark on what is kept.

use serde_json::Value;

use super::harness::{World, text};

/// One field of lookups, which keep the processor busy long enough for the timer.
const WORKLOAD: &str = r#"
name = "small-lookup"
title = "Some lookups"
source = "this test"
kind = "lookup"
before = "reads"
after = "knows"

[knob]
name = "MxN"
values = ["10x100"]
default = "10x100"

[[scenario]]
name = "direct"
legend = "1,000 stores"
parameters = { stores = "1000", drop = "direct", before_lookups = "50" }

[data]
fixture = "config"
seed = 1
sha256 = { 1000 = "baed9b4a3ddfd9ccd0a0e6806a330d0c427b7c3894b6171e48047a72464bcb91" }

[quick]
values = ["10x100"]
scenarios = ["direct"]
"#;

#[test]
fn a_cold_run_says_so_and_its_stacks_name_the_workload() {
    // `/tmp` may be in memory, and what is there cannot be cold.
    let on_disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let world = World::new();
    let file = world.write("small-lookup.toml", WORKLOAD);
    let args = [
        "bench",
        "run",
        text(&file),
        "--samples",
        "1",
        "--warm-up",
        "0",
        "--cold",
        "--flamegraph",
        "--out",
        "cold.json",
        "--data-dir",
        text(on_disk.path()),
    ];
    world.run(&args).ok();
    let kept: Value = serde_json::from_slice(&std::fs::read(world.path("cold.json")).unwrap()).unwrap();
    let parameters = &kept["run"]["parameters"];
    assert_eq!(parameters["cache"], "cold");
    let method = parameters["cache_emptied_by"].as_str().unwrap();
    assert!(method.contains("mincore"), "{method}");
    // Counted, or said why not.
    let counters = parameters["counters"].as_str().unwrap();
    let metrics = kept["run"]["metrics"].as_array().unwrap();
    let counted = metrics.iter().any(|metric| metric["name"] == "instructions");
    assert_ne!(counted, counters.starts_with("not available: "), "{counters}");
    let stacks = |side: &str| std::fs::read_to_string(world.path(&format!("cold.{side}.folded"))).unwrap();
    let (before, after) = (stacks("before"), stacks("after"));
    assert!(before.contains("ReparseLookup"), "{before}");
    assert!(
        after.contains("workloads::lookup::") && !after.contains("ReparseLookup"),
        "{after}"
    );
    let each_has_a_count = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().is_ok();
    assert!(before.lines().chain(after.lines()).all(each_has_a_count));
}
