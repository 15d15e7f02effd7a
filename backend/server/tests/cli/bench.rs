//! `bench`: a small workload measured by the real binary, kept, printed and compared.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::harness::{Ran, World, text};

/// A workload of two fields on an image of 8 MiB. `extra` goes to its end.
fn workload(world: &World, sha256: &str, extra: &str) -> String {
    let file = format!(
        r#"
name = "small"
title = "A small restore"
source = "this test"
kind = "restore"
before = "one by one"
after = "several at once"

[knob]
name = "concurrency"
values = ["2", "4"]
default = "4"

[[scenario]]
name = "slow"
legend = "10 ms for each chunk"
parameters = {{ latency_ms = "10" }}

[[scenario]]
name = "limit"
legend = "the machine"
values = ["2"]
parameters = {{ limit = "yes" }}

[data]
fixture = "image"
size = 8388608
seed = 3
sha256 = "{sha256}"

[quick]
values = ["2"]
scenarios = ["slow"]

[[floor]]
metric = "cpu"
of = "before"
op = "<="
value = 100.0
why = "the test ends"

{extra}
"#
    );
    text(&world.write("small.toml", file)).to_owned()
}

/// SHA-256 of the image of [`workload`].
fn image_sha256(world: &World) -> String {
    let dir = world.path("image");
    world
        .run(&[
            "fixture",
            "image",
            "--dir",
            text(&dir),
            "--size",
            "8MiB",
            "--seed",
            "3",
        ])
        .ok();
    let file: Value = serde_json::from_slice(&std::fs::read(dir.join("image.json")).unwrap()).unwrap();
    file["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_is_measured_kept_printed_and_compared() {
    let world = World::new();
    let file = workload(&world, &image_sha256(&world), "");
    let run = |out: &str| {
        let args = [
            "bench",
            "run",
            &file,
            "--samples",
            "2",
            "--seed",
            "7",
            "--check",
            "--out",
            out,
        ];
        world.run(&args).ok()
    };
    let first = run("one.json");
    let table = first.out();
    assert!(table.lines().all(|line| line.is_ascii()), "{table}");
    assert!(
        table.contains("10 ms for each chunk") && table.contains("small"),
        "{table}"
    );
    assert!(table.ends_with("3 floors met, 0 missed\n"), "{table}");
    run("two.json");

    let kept: Value = serde_json::from_slice(&std::fs::read(world.path("one.json")).unwrap()).unwrap();
    let rows = kept["run"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in rows {
        for cell in row["cells"].as_array().unwrap() {
            let values = cell["samples"]["values"].as_array().unwrap();
            assert_eq!(values.len(), 4, "two a side: {cell}");
        }
    }

    for format in ["mail", "markdown", "csv", "json", "gobench", "html"] {
        let printed = world
            .run(&["bench", "export", "one.json", "--format", format])
            .ok();
        assert!(printed.out().contains("slow"), "{format}: {}", printed.out());
    }
    let compared = world.run(&["bench", "compare", "one.json", "two.json"]).ok();
    assert!(
        compared.out().contains("one.json") && compared.out().contains("two.json"),
        "{}",
        compared.out()
    );
}

#[test]
fn the_share_of_the_limit_is_a_figure_like_others() {
    let world = World::new();
    let file = workload(
        &world,
        &image_sha256(&world),
        "[share]\nmetric = \"limit_share\"\nof = \"rate\"\nlimit = \"limit\"\n[[floor]]\nmetric = \"limit_share\"\nscenario = \"slow\"\nop = \"<=\"\nvalue = 1.0\nwhy = \"10 ms a chunk\"",
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("scenarios = [\"slow\"]", "scenarios = [\"slow\", \"limit\"]");
    // Judged when the file says so.
    let text = text.replace("\n[knob]", "\njudged = [\"limit_share\"]\n[knob]");
    world.write("small.toml", text);
    let args = [
        "bench",
        "run",
        &file,
        "--quick",
        "--samples",
        "3",
        "--warm-up",
        "0",
        "--check",
        "--out",
        "run.json",
    ];
    let ran = world.run(&args).ok();
    assert!(
        ran.out().contains("met    limit_share slow concurrency=2 <= 1"),
        "{}",
        ran.out()
    );
    let kept: Value = serde_json::from_slice(&std::fs::read(world.path("run.json")).unwrap()).unwrap();
    let metrics = kept["run"]["metrics"].as_array().unwrap();
    let share = metrics
        .iter()
        .find(|metric| metric["name"] == "limit_share")
        .unwrap();
    assert_eq!(
        (&share["unit"], &share["better"], &share["judged"]),
        (&"ratio".into(), &"higher".into(), &true.into())
    );
    let judged = metrics.iter().filter(|metric| metric["judged"] == true);
    assert_eq!(judged.count(), 1, "{metrics:?}");
    // Of the field beside the limit: one a sample, and none of the limit itself.
    let shares: Vec<&Value> = kept["run"]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row["cells"].as_array().unwrap())
        .filter(|cell| cell["metric"] == "limit_share")
        .collect();
    assert_eq!(shares.len(), 1, "{shares:?}");
    let values = shares[0]["samples"]["values"].as_array().unwrap();
    assert_eq!(values.len(), 6);
    assert!(
        values
            .iter()
            .all(|value| (0.0..1.0).contains(&value.as_f64().unwrap())),
        "{values:?}"
    );
    for format in ["mail", "markdown", "csv", "gobench", "html"] {
        let printed = world
            .run(&["bench", "export", "run.json", "--format", format])
            .ok();
        // Markdown escapes the underscore.
        let text = printed.out().replace('\\', "");
        assert!(text.contains("limit_share"), "{format}: {text}");
    }
}

#[test]
fn a_missed_floor_is_exit_1() {
    let world = World::new();
    let missed = "[[floor]]\nmetric = \"cpu\"\nop = \"<=\"\nvalue = 0.0\nwhy = \"nothing is for nothing\"";
    let file = workload(&world, &image_sha256(&world), missed);
    let ran = world
        .run(&["bench", "run", &file, "--quick", "--samples", "1", "--check"])
        .ends(1);
    assert!(
        ran.out().contains("MISSED cpu") && ran.out().ends_with("1 floors met, 1 missed\n"),
        "{}",
        ran.out()
    );
}

#[test]
fn json_is_one_document_with_the_floors_that_other_commands_read() {
    let world = World::new();
    let none = "[[floor]]\nmetric = \"limit_share\"\nop = \">=\"\nvalue = 1.0\nwhy = \"nobody divides\"";
    let file = workload(&world, &image_sha256(&world), none);
    let args = [
        "bench",
        "run",
        &file,
        "--quick",
        "--samples",
        "1",
        "--warm-up",
        "0",
        "--check",
        "--json",
    ];
    // What a floor of this run speaks of was not measured.
    let ran = world.run(&args).ends(5);
    let document: Value = serde_json::from_str(ran.out()).unwrap();
    assert_eq!(document["format"], "fleethold-bench");
    let floors = document["floors"].as_array().unwrap();
    let states: Vec<&str> = floors
        .iter()
        .map(|floor| floor["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["met", "not-measured"], "{floors:?}");
    assert!(
        ran.stderr.contains("NONE   limit_share slow concurrency=2"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("1 floors met, 0 missed"), "{}", ran.stderr);
    world.write("printed.json", ran.out());
    let exported = world.run(&["bench", "export", "printed.json"]).ok();
    assert!(exported.out().contains("slow"), "{}", exported.out());
}

#[test]
fn a_file_that_cannot_be_written_loses_no_run() {
    let world = World::new();
    let file = workload(&world, &image_sha256(&world), "");
    let args = [
        "bench",
        "run",
        &file,
        "--quick",
        "--samples",
        "1",
        "--warm-up",
        "0",
        "--out",
        "nowhere/run.json",
    ];
    let ran = world.run(&args).ends(5);
    assert!(ran.stderr.contains("nowhere/run.json"), "{}", ran.stderr);
    assert!(ran.out().contains("slow"), "the table is printed all the same");
    let outbox = std::fs::read_dir(world.path("state/bench/outbox")).unwrap();
    assert_eq!(outbox.count(), 1, "{}", ran.stderr);
}

#[test]
fn an_interrupt_during_the_warm_up_keeps_nothing_and_says_so() {
    let world = World::new();
    let file = workload(&world, &image_sha256(&world), "");
    let args = ["bench", "run", &file, "--warm-up", "100", "--out", "part.json"];
    let child = world
        .command(&args)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // 600 samples of warm-up, of some 20 ms each.
    std::thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(killed.success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("interrupted before anything was measured"),
        "{}",
        ran.stderr
    );
    assert!(!world.path("part.json").exists());
}

#[test]
fn other_data_and_other_names_are_refused() {
    let world = World::new();
    let file = workload(&world, &"ab".repeat(32), "");
    world
        .run(&["bench", "run", &file])
        .fails(5, &["expected SHA-256 abab", "small"]);
    world
        .run(&["bench", "run", "restoer"])
        .fails(2, &["lookup, status, restore"]);
    world.run(&["bench", "export", &file]).fails(1, &["small.toml"]);
    world.write("broken.toml", "name = 1");
    world
        .run(&["bench", "run", "./broken.toml"])
        .fails(2, &["broken.toml", "line 1"]);
}

#[test]
fn workloads_are_listed() {
    let world = World::new();
    let list = world.run(&["bench", "list", "--json"]).ok().json();
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["lookup", "status", "restore"]);
    assert!(world.run(&["bench", "list"]).ok().out().contains("pve-devel"));
}

/// What was measured before an interrupt is kept.
#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let world = World::new();
    let file = workload(&world, &image_sha256(&world), "");
    let mut child = world
        .command(&[
            "bench",
            "run",
            &file,
            "--samples",
            "1000",
            "--warm-up",
            "0",
            "--out",
            "part.json",
        ])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Long enough for some of the 6,000 samples, of some 20 ms each, and far from all of them.
    std::thread::sleep(Duration::from_secs(3));
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let kept: Value = serde_json::from_slice(&std::fs::read(world.path("part.json")).unwrap()).unwrap();
    let matrix = &kept["run"];
    assert_eq!(matrix["parameters"]["complete"], "no");
    assert!(!matrix["rows"].as_array().unwrap().is_empty());
}

#[test]
fn the_machine_is_described_with_its_noise_and_this_build() {
    let world = World::new();
    let machine = world.run(&["bench", "machine", "--json"]).ok().json();
    assert!(!machine["class"].as_str().unwrap().is_empty());
    let facts = &machine["facts"];
    for fact in ["cores", "kernel", "noise", "fleethold"] {
        assert!(facts[fact].is_string(), "{fact} in {machine}");
    }
    let version = world.run(&["--version"]).ok();
    if let Some(revision) = facts["revision"].as_str() {
        assert!(version.out().contains(&revision[..12]), "{}", version.out());
    }
    assert!(
        world
            .run(&["bench", "machine"])
            .ok()
            .out()
            .contains("noise: cpu ")
    );
}

#[test]
fn two_builds_are_compared_in_one_run() {
    let world = World::new();
    let after = "[[floor]]\nmetric = \"time\"\nop = \">=\"\nvalue = 0.0\nwhy = \"it takes time\"";
    let file = workload(&world, &image_sha256(&world), after);
    let binary = env!("CARGO_BIN_EXE_fleethold");
    let args = [
        "bench",
        "run",
        &file,
        "--quick",
        "--samples",
        "1",
        "--warm-up",
        "0",
        "--against",
        binary,
        "--check",
        "--out",
        "two.json",
    ];
    let ran = world.run(&args).ok();
    assert!(
        ran.out()
            .contains("skip   cpu before <= 100: it speaks of the older idea, not of a build"),
        "{}",
        ran.out()
    );
    assert!(
        ran.out().contains("met    time slow concurrency=2 >= 0"),
        "{}",
        ran.out()
    );
    assert!(ran.out().ends_with("1 floors met, 0 missed\n"), "{}", ran.out());
    let kept: Value = serde_json::from_slice(&std::fs::read(world.path("two.json")).unwrap()).unwrap();
    let run = &kept["run"];
    assert_eq!(run["parameters"]["compared"], "the after code of two builds");
    // The same build twice: the same label and revision on both sides.
    assert_eq!(run["before"], run["after"]);
    let environment = &run["before"]["environment"];
    if environment["revision"].is_string() {
        assert!(environment["parent"].is_string(), "{environment}");
    }
    let values = run["rows"][0]["cells"][0]["samples"]["values"]
        .as_array()
        .unwrap();
    assert_eq!(values.len(), 2);

    let other = ["bench", "run", &file, "--quick", "--against", "/bin/false"];
    world.run(&other).fails(5, &["/bin/false"]);
}
