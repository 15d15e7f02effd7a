//! A run that was measured here on its way into the history: into the outbox first, always; from there into the
//! database when it is there, else with the next command or the server's start.

use fleethold_bench::definition::Definition;
use fleethold_bench::measure::Outcome;
use fleethold_format::hash::Sha256;
use fleethold_history::bench::outbox;
use fleethold_history::bench::{
    AttachmentKind, BenchLoad, BenchMachine, BenchMeta, NewAttachment, NewBenchRun, Revision, WorkloadFile,
};
use time::OffsetDateTime;
use uuid::Uuid;

use super::super::exit::CliResult;
use super::super::options;
use super::super::output;
use super::database;
use crate::clock;
use crate::settings::Settings;

/// What the history wants to know beside the measurements.
pub(super) struct About<'a> {
    pub(super) definition: &'a Definition,
    /// The workload file.
    pub(super) text: &'a str,
    /// When measuring began.
    pub(super) started_at: OffsetDateTime,
    pub(super) reason: &'a str,
}

/// Keeps the run. The database may be away: then it waits.
pub(super) fn keep(settings: &Settings, about: &About<'_>, outcome: &Outcome) -> CliResult<()> {
    let run = new_run(about, outcome);
    let id = run.meta.id;
    let dir = outbox::dir(&settings.state_dir);
    outbox::put(&dir, &run)?;
    let joined = options::runtime()?.block_on(async {
        let Some(database) = database::join(settings).await? else {
            return Ok(false);
        };
        database.stop().await;
        CliResult::Ok(true)
    });
    match joined {
        Ok(true) => output::note(&format!("run {id} is in the history")),
        Ok(false) => output::note(&format!(
            "run {id} waits in {} until a server or a command finds the history",
            dir.display()
        )),
        Err(failure) => output::note(&format!(
            "run {id} waits in {}: {}",
            dir.display(),
            output::sentence(&failure.error)
        )),
    }
    Ok(())
}

fn new_run(about: &About<'_>, outcome: &Outcome) -> NewBenchRun {
    let (options, measured, build) = (&outcome.options, &outcome.measurements, crate::build::this());
    let (before, after) = Revision::of_sides(&outcome.matrix);
    let meta = BenchMeta {
        id: Uuid::now_v7(),
        source: "run".to_owned(),
        created_at: about.started_at,
        started_at: Some(about.started_at),
        finished_at: Some(clock::now()),
        workload: WorkloadFile {
            name: about.definition.name.clone(),
            file_sha256: hex::encode(Sha256::digest(about.text.as_bytes())),
            data_sha256: outcome.data.sha256.clone(),
            text: about.text.to_owned(),
        },
        before,
        after,
        machine: Some(BenchMachine::new(
            outcome.environment.machine_class.clone(),
            outcome.environment.facts.clone(),
        )),
        cold: options.cold,
        quick: options.quick,
        complete: measured.complete,
        seed: Some(options.seed),
        samples: u32::try_from(options.samples).unwrap_or(u32::MAX),
        operator: database::operator(),
        reason: about.reason.to_owned(),
        load: Some(BenchLoad {
            others: measured.load.others,
            steal: measured.load.steal,
            quiet: measured.load.quiet,
        }),
        tool_version: build.version,
        facts: [("warm_up".to_owned(), options.warm_up.to_string())].into(),
        floors: None,
    };
    let stacks = measured.attachments.iter().map(|stacks| NewAttachment {
        kind: AttachmentKind::FlameGraph,
        side: Some(stacks.side),
        name: format!("{} {}.folded", stacks.cell, stacks.side.name()),
        bytes: stacks.folded.to_string().into_bytes(),
    });
    NewBenchRun::measured(meta, outcome.matrix.clone(), stacks.collect())
}
