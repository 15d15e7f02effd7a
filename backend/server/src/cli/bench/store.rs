//! A run that was measured here on its way into the history: into the outbox first, always; from there into the
//! database when it is there, else with the next command or the server's start.

use std::path::PathBuf;

use fleethold_bench::definition::Definition;
use fleethold_bench::measure::Outcome;
use fleethold_format::hash::Sha256;
use fleethold_history::bench::outbox;
use fleethold_history::bench::{
    AttachmentKind, BenchLoad, BenchMachine, BenchMeta, NewAttachment, NewBenchRun, Revision, WorkloadFile,
};
use time::OffsetDateTime;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::super::exit::CliResult;
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

/// Keeps the run. The database may be away: then it waits. The outbox may be full, too: then it is drained, and
/// without a database the run is in a file of its own.
/// Who is in a hurry does not wait for the database.
pub(super) fn keep(
    settings: &Settings,
    about: &About<'_>,
    outcome: &Outcome,
    runtime: &Runtime,
    hurry: &CancellationToken,
) -> CliResult<()> {
    let run = new_run(about, outcome);
    let id = run.meta.id;
    let dir = outbox::dir(&settings.state_dir);
    // On disk before anything that can take time or go wrong.
    let waits = outbox::put(&dir, &run);
    let store = async {
        let Some(database) = database::join(settings).await? else {
            return Ok(false);
        };
        // It had no room beside those that have just been stored.
        let stored = match &waits {
            Ok(_) => Ok(()),
            Err(_) => database.store_bench_run(run.clone()).await.map(drop),
        };
        database.stop().await;
        stored?;
        CliResult::Ok(true)
    };
    let joined = runtime.block_on(async {
        tokio::select! {
            biased;
            () = hurry.cancelled() => Ok(false),
            joined = store => joined,
        }
    });
    let reason = match &joined {
        Ok(true) => {
            output::note(&format!("run {id} is in the history"));
            return Ok(());
        }
        Ok(false) => " until a server or a command finds the history".to_owned(),
        Err(failure) => format!(": {}", output::sentence(&failure.error)),
    };
    match waits {
        Ok(_) => output::note(&format!("run {id} waits in {}{reason}", dir.display())),
        Err(error) => {
            let path = put_aside(&run)?;
            output::note(&format!(
                "run {id} is in {}: {error}; keep it with: fleethold bench import {}",
                path.display(),
                path.display()
            ));
        }
    }
    Ok(())
}

/// Into the working directory, or the one for temporary files.
fn put_aside(run: &NewBenchRun) -> CliResult<PathBuf> {
    let name = format!("bench-{}.json", run.meta.id);
    let here = PathBuf::from(&name);
    if outbox::put_aside(&here, run).is_ok() {
        return Ok(here);
    }
    let there = std::env::temp_dir().join(name);
    outbox::put_aside(&there, run)?;
    Ok(there)
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
        pinned: false,
    };
    let stacks = measured.attachments.iter().map(|stacks| NewAttachment {
        kind: AttachmentKind::FlameGraph,
        side: Some(stacks.side),
        name: format!("{} {}.folded", stacks.cell, stacks.side.name()),
        bytes: stacks.folded.to_string().into_bytes(),
    });
    NewBenchRun::measured(meta, outcome.matrix.clone(), stacks.collect())
}
