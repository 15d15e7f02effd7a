//! Ctrl-C while `bench run` makes data, measures, and keeps what it measured.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::harness::{Ran, World, text};

/// Two minutes of looks, 5 ms apart.
const TRIES: u32 = 24_000;

fn workload(world: &World, size: u64, sha256: &str) -> String {
    let file = format!(
        r#"
name = "long"
title = "A restore that takes long"
source = "this test"
kind = "restore"
before = "one by one"
after = "several at once"

[knob]
name = "concurrency"
values = ["2"]
default = "2"

[[scenario]]
name = "slow"
legend = "50 ms for each chunk"
parameters = {{ latency_ms = "50" }}

[data]
fixture = "image"
size = {size}
seed = 3
sha256 = "{sha256}"

[quick]
values = ["2"]
scenarios = ["slow"]
"#
    );
    text(&world.write("long.toml", file)).to_owned()
}

fn start(world: &World, args: &[&str]) -> Child {
    world
        .command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
}

#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..TRIES {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: not after {TRIES} looks");
}

/// The children of a process that live now.
fn children(of: &Child) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // Behind the name in parentheses: the state, then the parent.
        let parent = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(1));
        if parent == Some(&of.id().to_string()) {
            found.push(name);
        }
    }
    found
}

#[test]
fn data_that_are_being_made_are_made_no_further() {
    let world = World::new();
    let file = workload(&world, 2 << 30, &"ab".repeat(32));
    let child = start(&world, &["bench", "run", &file]);
    let image = world.path("state/bench/image-2147483648-3");
    until("the first chunks", || image.join(".chunks").exists());
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("interrupted before anything was measured"),
        "{}",
        ran.stderr
    );
    assert!(!image.join("image.json").exists(), "the whole image was made");
}

#[test]
fn a_second_interrupt_keeps_what_was_measured_too() {
    let world = World::new();
    let dir = world.path("state/bench/image-8388608-3");
    let file = workload(&world, 8 << 20, &image_sha256(&world, &dir));
    let args = [
        "bench",
        "run",
        &file,
        "--samples",
        "1000",
        "--warm-up",
        "0",
        "--out",
        "part.json",
    ];
    let child = start(&world, &args);
    // A sample is a child of its own: when the third is there, two are measured.
    let mut seen = std::collections::BTreeSet::new();
    until("three samples", || {
        seen.extend(children(&child));
        seen.len() >= 3
    });
    interrupt(&child);
    // The sample is gone before anything is kept.
    until("the end of the sample", || children(&child).is_empty());
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    let kept: Value = serde_json::from_slice(&std::fs::read(world.path("part.json")).unwrap()).unwrap();
    assert_eq!(kept["run"]["parameters"]["complete"], "no");
    assert!(!kept["run"]["rows"].as_array().unwrap().is_empty());
    let outbox = std::fs::read_dir(world.path("state/bench/outbox")).unwrap();
    assert_eq!(outbox.count(), 1, "{}", ran.stderr);
}

/// Makes the image where the run looks for it.
fn image_sha256(world: &World, dir: &Path) -> String {
    let missing = workload(world, 8 << 20, &"ab".repeat(32));
    // The run makes it and refuses it, for its hash is another.
    world
        .run(&["bench", "run", &missing])
        .fails(5, &["expected SHA-256 abab"]);
    let file: Value = serde_json::from_slice(&std::fs::read(dir.join("image.json")).unwrap()).unwrap();
    file["sha256"].as_str().unwrap().to_owned()
}
