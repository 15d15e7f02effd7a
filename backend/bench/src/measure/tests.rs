//! A whole run whose samples come from a script.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Mutex;

use fleethold_bench_model::sample::Side;
use sha2::{Digest, Sha256};

use super::*;
use crate::data::hex;
use crate::workloads::lookup::config_text;

/// Says the same of every sample.
const SCRIPT: &str = r#"#!/bin/sh
cat > /dev/null
cat << 'END'
{"measured":{"figures":{"time":{"unit":"s","value":1.5},"cpu":{"unit":"cpu-s","value":0.5}},
"notes":{"counters":"not available: a script"},"stacks":"main;work 3\n"}}
END
"#;

struct Ground {
    dir: tempfile::TempDir,
    definition: Definition,
    workers: Workers,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("worker");
        std::fs::write(&script, SCRIPT).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let sha256 = hex(&Sha256::digest(config_text(3, 1)));
        let (_, text) = Definition::load("lookup").unwrap();
        let mut definition: Definition = toml::from_str(&text).unwrap();
        definition.scenarios.truncate(1);
        definition.scenarios[0]
            .parameters
            .insert("stores".to_owned(), "3".to_owned());
        definition.knob.values.truncate(2);
        definition.data = DataSpec::Config {
            seed: 1,
            sha256: [("3".to_owned(), sha256)].into(),
        };
        Self {
            dir,
            definition,
            workers: Workers::new(script),
        }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    async fn run(
        &self,
        options: &RunOptions,
        cancel: &CancellationToken,
    ) -> (Result<Outcome, BenchError>, Vec<RunEvent>) {
        let events = Mutex::new(Vec::new());
        let note = |event: &RunEvent| events.lock().unwrap().push(event.clone());
        let build = Build::new("1.2.3", "");
        let root = self.root();
        let done = measure(
            &self.definition,
            options,
            &root,
            &build,
            &self.workers,
            &note,
            cancel,
        )
        .await;
        (done, events.into_inner().unwrap())
    }
}

fn two_samples() -> RunOptions {
    RunOptions {
        samples: 2,
        flamegraph: true,
        ..RunOptions::new(false, 7)
    }
}

#[tokio::test]
async fn events_tell_what_comes_and_then_what_came_of_it() {
    let ground = Ground::new();
    let (outcome, events) = ground.run(&two_samples(), &CancellationToken::new()).await;
    let outcome = outcome.unwrap();

    let of_phase = |wanted: Phase| {
        let is = move |event: &&RunEvent| matches!(event, RunEvent::Progress(progress) if progress.phase == wanted);
        events.iter().filter(is).count()
    };
    let first = events.iter().take(of_phase(Phase::Data));
    assert!(of_phase(Phase::Data) > 0);
    for event in first {
        assert!(
            matches!(event, RunEvent::Progress(progress) if progress.phase == Phase::Data),
            "{event:?}"
        );
    }
    // Three rounds of two fields and two sides, the first of them warm-up, and the end.
    assert_eq!(of_phase(Phase::Measure), 3 * 2 * 2 + 1);
    let mut announced = None;
    let mut numbers = Vec::new();
    for event in &events {
        match event {
            RunEvent::Progress(progress) => announced.clone_from(&progress.next),
            RunEvent::Sample {
                cell, side, number, ..
            } => {
                assert_eq!(announced, Some((cell.clone(), *side)));
                numbers.push(*number);
            }
        }
    }
    let expected: Vec<usize> = (0..8).flat_map(|number| [number, number]).collect();
    assert_eq!(numbers, expected, "two figures of each of eight samples");
    let Some(RunEvent::Progress(end)) = events.last() else {
        panic!("{:?}", events.last());
    };
    assert_eq!((end.done, end.total, &end.next), (12, 12, &None));

    // What the samples said beside their figures is kept.
    assert_eq!(outcome.matrix.parameters["counters"], "not available: a script");
    assert_eq!(outcome.matrix.parameters["cache"], "warm");
    assert!(outcome.matrix.after.environment.contains_key("noise"));
    let attachments = &outcome.measurements.attachments;
    assert_eq!(attachments.len(), 4, "two fields, two sides");
    assert!(
        attachments.iter().all(|one| one.folded.total() == 6),
        "two samples a side and field, without the warm-up: {attachments:?}"
    );
    assert_eq!(
        attachments.iter().filter(|one| one.side == Side::Before).count(),
        2
    );
}

#[tokio::test]
async fn who_cancels_early_measures_nothing_and_other_data_are_refused() {
    let mut ground = Ground::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (outcome, events) = ground.run(&two_samples(), &cancel).await;
    assert!(matches!(outcome, Err(BenchError::Cancelled)), "{outcome:?}");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, RunEvent::Sample { .. }))
    );

    ground.definition.data = DataSpec::Config {
        seed: 2,
        sha256: [("3".to_owned(), "ab".repeat(32))].into(),
    };
    let (outcome, _) = ground.run(&two_samples(), &CancellationToken::new()).await;
    assert!(matches!(outcome, Err(BenchError::Data { .. })), "{outcome:?}");
}

/// The same, until its third sample that counts: that one fails. `$0.count` counts.
const FAILING: &str = r#"#!/bin/sh
cat > /dev/null
echo >> "$0.count"
[ "$(wc -l < "$0.count")" -lt 7 ] || { echo '{"failed":"the disk is gone"}'; exit; }
echo '{"measured":{"figures":{"time":{"unit":"s","value":1.5}}}}'
"#;

#[tokio::test]
async fn a_sample_that_fails_throws_nothing_away() {
    let ground = Ground::new();
    std::fs::write(ground.dir.path().join("worker"), FAILING).unwrap();
    let (outcome, _) = ground.run(&two_samples(), &CancellationToken::new()).await;
    let outcome = outcome.unwrap();
    // Four of warm-up, two that count, and the one that failed.
    let samples: usize = outcome
        .measurements
        .series
        .iter()
        .map(|one| one.samples.len())
        .sum();
    assert_eq!((samples, outcome.measurements.complete), (2, false));
    let failure = outcome.measurements.failure.unwrap();
    assert!(failure.ends_with("failed: the disk is gone"), "{failure}");
    assert_eq!(outcome.matrix.parameters["complete"], "no");
    assert_eq!(outcome.matrix.parameters["failure"], failure);

    // Now the first fails: there is nothing to keep.
    let (outcome, _) = ground.run(&two_samples(), &CancellationToken::new()).await;
    assert!(matches!(outcome, Err(BenchError::Sample { .. })), "{outcome:?}");
}

/// Its fifth answer, the first that counts, is sound; the sixth was timed by a clock that was set back.
const BACKWARDS: &str = r#"#!/bin/sh
cat > /dev/null
echo >> "$0.count"
value=1.5
[ "$(wc -l < "$0.count")" -lt 6 ] || value=-0.25
echo '{"measured":{"figures":{"time":{"unit":"s","value":'$value'}}}}'
"#;

#[tokio::test]
async fn a_clock_that_goes_backwards_is_told_and_spoils_nothing() {
    let ground = Ground::new();
    std::fs::write(ground.dir.path().join("worker"), BACKWARDS).unwrap();
    let (outcome, _) = ground.run(&two_samples(), &CancellationToken::new()).await;
    let measured = outcome.unwrap().measurements;
    let values: Vec<f64> = measured
        .series
        .iter()
        .flat_map(|one| one.samples.iter().map(|(_, value)| value))
        .collect();
    assert_eq!((values, measured.complete), (vec![1.5], false));
    let failure = measured.failure.unwrap();
    assert!(
        failure.contains("-0.25") && failure.contains("a clock went backwards"),
        "{failure}"
    );
}

#[tokio::test]
async fn who_cancels_during_the_warm_up_has_measured_nothing() {
    let ground = Ground::new();
    let cancel = CancellationToken::new();
    let build = Build::new("1.2.3", "");
    let stop = |event: &RunEvent| {
        if matches!(event, RunEvent::Progress(progress) if progress.phase == Phase::Measure && progress.done == 2)
        {
            cancel.cancel();
        }
    };
    let outcome = measure(
        &ground.definition,
        &two_samples(),
        &ground.root(),
        &build,
        &ground.workers,
        &stop,
        &cancel,
    )
    .await;
    assert!(matches!(outcome, Err(BenchError::Cancelled)), "{outcome:?}");
}

/// Its sleep stands for a server that a sample started.
const LASTING: &str = r#"#!/bin/sh
cat > /dev/null
sleep 600 &
echo "$! $(cut -d ' ' -f 5 /proc/$$/stat)" > "$0.ids"
wait
"#;

#[tokio::test]
async fn a_stopped_sample_and_what_it_started_are_gone_and_no_signal_of_the_terminal_reached_it() {
    let ground = Ground::new();
    let script = ground.dir.path().join("worker");
    std::fs::write(&script, LASTING).unwrap();
    let ids = ground.dir.path().join("worker.ids");
    let (options, cancel) = (two_samples(), CancellationToken::new());
    let both = async {
        let written = async {
            loop {
                match std::fs::read_to_string(&ids) {
                    Ok(text) if text.ends_with('\n') => return text,
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        let text = tokio::time::timeout(Duration::from_secs(60), written)
            .await
            .unwrap();
        cancel.cancel();
        text
    };
    let ((outcome, _), text) = tokio::join!(ground.run(&options, &cancel), both);
    assert!(matches!(outcome, Err(BenchError::Cancelled)), "{outcome:?}");
    let (sleeper, group) = text.trim().split_once(' ').unwrap();
    assert_ne!(
        group.trim(),
        nix::unistd::getpgrp().to_string(),
        "a group of its own"
    );
    let gone = || {
        let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    let end = clock::now() + Duration::from_secs(60);
    while !gone() {
        assert!(clock::now() < end, "{sleeper} lives");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
