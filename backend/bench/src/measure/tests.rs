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
