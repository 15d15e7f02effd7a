//! Runs as the history keeps them, and back.

use std::collections::BTreeMap;

use fleethold_api_types::bench::{
    Attachment, AttachmentKind as ApiKind, BenchRun, BenchState, Load, Machine,
};
use fleethold_bench::guard::LoadReport;
use fleethold_bench::measure::Outcome;
use fleethold_format::hash::Sha256;
use fleethold_history::bench::{
    AttachmentKind, BenchAttachment, BenchLoad, BenchMachine, BenchMachineRow, BenchMeta, BenchRunRow,
    NewAttachment, NewBenchRun, Revision, WorkloadFile,
};

use super::floors;
use super::lab::Lab;
use super::table::BenchCell;

/// Name of the fact that holds the command to measure the same again.
pub const COMMAND: &str = "command";

/// What a run measured, as it is kept. Takes the processor for a while.
#[must_use]
pub fn of_outcome(lab: &Lab, cell: &BenchCell, outcome: &Outcome) -> NewBenchRun {
    let (run, plan) = (cell.run(), &cell.plan);
    let floors = floors::of_measurements(&plan.workload.definition, &outcome.measurements);
    let file_sha256 = hex::encode(Sha256::digest(plan.workload.text.as_bytes()));
    let load = outcome.measurements.load;
    let facts = [
        (COMMAND, plan.command()),
        ("warm_up", outcome.options.warm_up.to_string()),
        ("workload_sha256", file_sha256.clone()),
        ("data_sha256", outcome.data.sha256.clone()),
    ];
    let meta = BenchMeta {
        id: run.id,
        source: run.source,
        created_at: run.created_at,
        started_at: run.started_at,
        finished_at: run.finished_at,
        workload: WorkloadFile {
            name: run.workload,
            file_sha256,
            data_sha256: outcome.data.sha256.clone(),
            text: plan.workload.text.to_string(),
        },
        before: None,
        after: lab.build.revision.clone().map(|commit| Revision {
            repository: "fleethold".to_owned(),
            commit,
            dirty: lab.build.dirty,
            parent: lab.build.parent.clone(),
        }),
        machine: Some(BenchMachine::new(
            outcome.environment.machine_class.clone(),
            outcome.environment.facts.clone(),
        )),
        cold: run.cold,
        quick: run.quick,
        complete: outcome.measurements.complete,
        seed: Some(run.seed),
        samples: run.samples,
        operator: run.operator,
        reason: run.reason,
        load: Some(BenchLoad {
            others: load.others,
            steal: load.steal,
            quiet: load.quiet,
        }),
        tool_version: lab.build.version.clone(),
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        floors: serde_json::to_value(floors).ok(),
        pinned: run.pinned,
    };
    let stacks = outcome
        .measurements
        .attachments
        .iter()
        .map(|stacks| NewAttachment {
            kind: AttachmentKind::FlameGraph,
            side: Some(stacks.side),
            name: format!("{} {}.folded", stacks.cell, stacks.side.name()),
            bytes: stacks.folded.to_string().into_bytes(),
        });
    NewBenchRun::measured(meta, outcome.matrix.clone(), stacks.collect())
}

/// A kept run as lists show it.
#[must_use]
pub fn run_of(row: &BenchRunRow) -> BenchRun {
    let after = row.after.as_ref();
    BenchRun {
        id: row.id,
        workload: row.workload.name.clone(),
        state: if row.complete {
            BenchState::Ok
        } else {
            BenchState::Partial
        },
        error: None,
        waits_for: None,
        stored: true,
        source: row.source.clone(),
        created_at: row.created_at,
        started_at: row.started_at,
        finished_at: row.finished_at,
        quick: row.quick,
        cold: row.cold,
        seed: row.seed.unwrap_or(0),
        samples: row.samples,
        revision: after.map(|after| after.commit.clone()).unwrap_or_default(),
        dirty: after.is_some_and(|after| after.dirty),
        machine_class: row.machine_class.clone(),
        machine: row.machine.clone().unwrap_or_default(),
        operator: row.operator.clone(),
        reason: row.reason.clone(),
        verdicts: row.verdicts,
        progress: None,
        rolled_up: row.rolled_up_at.is_some(),
        pinned: row.pinned,
    }
}

/// Facts of a kept run for people.
#[must_use]
pub fn facts_of(row: &BenchRunRow) -> BTreeMap<String, String> {
    let mut facts = row.facts.clone();
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            facts.insert(name.to_owned(), value.to_owned());
        }
    };
    add("fleethold", &row.tool_version);
    add("data_sha256", &row.workload.data_sha256);
    add("workload_sha256", &row.workload.file_sha256);
    if let Some(before) = &row.before {
        add("revision_before", &before.commit);
    }
    facts
}

/// A machine; `here` is the fingerprint of this one.
#[must_use]
pub fn machine_of(row: BenchMachineRow, here: &str) -> Machine {
    Machine {
        this: row.machine.fingerprint == here,
        fingerprint: row.machine.fingerprint,
        class: row.machine.class,
        facts: row.machine.facts,
        first_seen: row.first_seen,
        runs: row.runs,
        last_run_at: row.last_run_at,
    }
}

/// A file kept with a run.
#[must_use]
pub fn attachment_of(file: BenchAttachment) -> Attachment {
    Attachment {
        id: file.id,
        kind: match file.kind {
            AttachmentKind::FlameGraph => ApiKind::FlameGraph,
            AttachmentKind::PerfStat => ApiKind::PerfStat,
            AttachmentKind::Log => ApiKind::Log,
            AttachmentKind::Original => ApiKind::Original,
        },
        side: file.side.map(|side| side.name().to_owned()).unwrap_or_default(),
        name: file.name,
        size: file.size,
        sha256: file.sha256,
    }
}

/// The kind of a file.
#[must_use]
pub fn kind_of(kind: ApiKind) -> AttachmentKind {
    match kind {
        ApiKind::FlameGraph => AttachmentKind::FlameGraph,
        ApiKind::PerfStat => AttachmentKind::PerfStat,
        ApiKind::Log => AttachmentKind::Log,
        ApiKind::Original => AttachmentKind::Original,
    }
}

/// The load as the API shows it.
#[must_use]
pub fn load(of: LoadReport) -> Load {
    Load {
        others: of.others,
        steal: of.steal,
        quiet: of.quiet,
    }
}

/// The load as it was kept.
#[must_use]
pub fn kept_load(of: BenchLoad) -> LoadReport {
    LoadReport {
        others: of.others,
        steal: of.steal,
        quiet: of.quiet,
    }
}
