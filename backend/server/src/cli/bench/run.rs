//! `fleethold bench run`: measures one workload.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use fleethold_bench::BenchError;
use fleethold_bench::definition::{Definition, FloorOf};
use fleethold_bench::floors::{self, FloorOutcome, FloorResult};
use fleethold_bench::measure::{self, Outcome, cells};
use fleethold_bench::runner::{Measurements, Phase, RunEvent, RunOptions, RunProgress};
use fleethold_bench::worker::Workers;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, Origin, export, export_json_with_floors};
use fleethold_bench_model::flame::Folded;
use fleethold_bench_model::sample::Side;
use indicatif::{ProgressBar, ProgressStyle};
use rand::Rng;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::super::exit::{CliResult, Exit, Failure};
use super::super::options;
use super::super::output;
use super::super::progress::counting_bar;
use super::against::Older;
use super::database::HistoryFlags;
use super::interrupt::Interrupts;
use super::store::{self, About};
use crate::clock;
use crate::services::bench::floors::{reports, sides_of};
use crate::services::bench::lock::{self, MeasureLock};
use crate::settings::Settings;

/// Measure one workload, before and after interleaved in random order
///
/// Each sample is a process of its own. Ctrl-C keeps what was measured; a second one does not wait for the history.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench run restore
  fleethold bench run lookup --quick --check
  fleethold bench run ./mine.toml --samples 12 --seed 7
  fleethold bench run status --against ../old/fleethold

The run goes into the history: at once while the server runs, else when one of the next commands or the server finds it.

Exit codes: 0 measured, 1 a floor was missed (--check), 5 could not measure all of it, 130 interrupted.")]
pub(in crate::cli) struct RunArgs {
    /// Name of a workload (fleethold bench list), or a workload file
    #[arg(value_name = "NAME|FILE")]
    workload: String,
    /// The short version: fewer values and scenarios, less data
    #[arg(long)]
    quick: bool,
    /// Samples a side of each field [default: the fewest that can show a difference]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    samples: Option<u16>,
    /// Rounds before the first that counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=100))]
    warm_up: u16,
    /// Seed of the order [default: drawn]
    #[arg(long)]
    seed: Option<u64>,
    /// Empty the page cache of the data before each sample
    #[arg(long)]
    cold: bool,
    /// In a cold run empty all caches of the machine; needs root
    #[arg(long, requires = "cold")]
    drop_caches: bool,
    /// Keep the stacks of each side as NAME.before.folded and NAME.after.folded, beside --out or here
    #[arg(long)]
    flamegraph: bool,
    /// Compare this build with another one, at this path, instead of with the older idea; of the floors those of the after
    /// side count
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
    /// Where the data is made [default: bench/ in the state directory]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Keep the run in this file, as JSON that export and compare read
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the run, with its floors, as the JSON that export, compare and import read, instead of the table
    #[arg(long)]
    json: bool,
    /// Print each floor with its value and margin; end with 1 when one is missed
    #[arg(long)]
    check: bool,
    /// Why it is run, for the history
    #[arg(long, default_value = "")]
    reason: String,
    /// Keep it out of the history
    #[arg(long)]
    no_store: bool,
    #[command(flatten)]
    pub(super) history: HistoryFlags,
}

pub(super) fn run(settings: &Settings, args: &RunArgs) -> CliResult {
    let runtime = options::runtime()?;
    let measured = measure(settings, args, &runtime);
    // Nothing is left that is worth waiting for.
    runtime.shutdown_background();
    match measured {
        Ok(exit) => Ok(exit),
        Err(Failure {
            exit: Exit::Failed,
            error,
        }) => Err(Failure {
            exit: Exit::NotMeasured,
            error,
        }),
        Err(other) => Err(other),
    }
}

fn measure(settings: &Settings, args: &RunArgs, runtime: &Runtime) -> CliResult {
    let (mut definition, text) = match Definition::load(&args.workload) {
        Ok(loaded) => loaded,
        Err(error @ (BenchError::UnknownWorkload { .. } | BenchError::Workload { .. })) => {
            return Err(Failure::usage(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let fields = cells(&definition, args.quick).len();
    let options = RunOptions {
        samples: args.samples.map_or(0, usize::from),
        warm_up: usize::from(args.warm_up),
        cold: args.cold,
        drop_caches: args.drop_caches,
        flamegraph: args.flamegraph,
        ..RunOptions::new(
            args.quick,
            args.seed.unwrap_or_else(|| rand::rng().random_range(0..1 << 32)),
        )
    }
    .settled(&definition);
    let root = args
        .data_dir
        .clone()
        .unwrap_or_else(|| settings.state_dir.join("bench"));
    let mut workers = Workers::new(std::env::current_exe().context("finding this binary")?);
    let older = args.against.as_deref().map(Older::ask).transpose()?;
    if let Some(older) = &older {
        workers = workers.against(older.binary.clone());
        older.name_sides(&mut definition);
    }
    let interrupts = {
        let _inside = runtime.enter();
        Interrupts::listen().context("listening for signals")?
    };
    let cancel = interrupts.stop.clone();
    let bar = bar();
    let show = |event: &RunEvent| match event {
        RunEvent::Progress(progress) => show(&bar, progress),
        RunEvent::Sample { .. } => {}
    };
    let started_at = clock::now();
    let measured = runtime.block_on(async {
        let build = crate::build::this();
        let Some(_lock) = wait_for_turn(&definition.name, &cancel).await? else {
            return Ok(Err(BenchError::Cancelled));
        };
        anyhow::Ok(measure::measure(&definition, &options, &root, &build, &workers, &show, &cancel).await)
    })?;
    bar.finish_and_clear();
    let mut outcome = match measured {
        Err(BenchError::Cancelled) => {
            output::note("interrupted before anything was measured: nothing is kept");
            return Ok(Exit::Cancelled);
        }
        measured => measured?,
    };
    if let Some(older) = &older {
        older.note(&mut outcome.matrix);
    }
    output::note(&format!(
        "{}{}: {fields} fields, {} + {} samples each, seed {}, data {}",
        definition.name,
        if args.quick { " (quick)" } else { "" },
        options.samples,
        options.samples,
        options.seed,
        outcome.data.sha256.get(..16).unwrap_or(&outcome.data.sha256),
    ));
    // Into the outbox first: whatever else goes wrong, what was measured is not lost.
    let stored = if args.no_store {
        Ok(())
    } else {
        let about = About {
            definition: &definition,
            text: &text,
            started_at,
            reason: &args.reason,
        };
        store::keep(settings, &about, &outcome, runtime, &interrupts.hurry)
    };
    let results = floors::check_run(
        &definition,
        &outcome.measurements,
        &cells(&definition, args.quick),
        sides_of(&outcome.matrix),
    );
    let (written, shown) = match document(&outcome, &definition, &results, started_at) {
        Ok(document) => (
            write_files(args, &outcome, &document),
            print(args, &outcome, &document, &results),
        ),
        Err(error) => (Err(error.into()), Ok(())),
    };
    let exit = report(&outcome.measurements, &results, args);
    // Each was tried; the first that failed is the command's error, the others are said.
    let mut failures = [stored, written, shown].into_iter().filter_map(Result::err);
    let first = failures.next();
    failures.for_each(|failure| output::error(&failure));
    first.map_or(Ok(exit), Err)
}

/// Waits until nothing else measures on this machine: a server does, too. `None`: cancelled.
async fn wait_for_turn(workload: &str, cancel: &CancellationToken) -> anyhow::Result<Option<MeasureLock>> {
    let note = format!("{workload} of the command line");
    let mut told = String::new();
    loop {
        let note = note.clone();
        let taken = tokio::task::spawn_blocking(move || lock::try_take(&lock::name(), &note)).await?;
        match taken.context("taking the lock of the machine")? {
            Ok(lock) => return Ok(Some(lock)),
            Err(holder) if holder != told => {
                output::note(&format!("waiting: {holder} measures on this machine"));
                told = holder;
            }
            Err(_) => {}
        }
        tokio::select! {
            () = cancel.cancelled() => return Ok(None),
            () = tokio::time::sleep(lock::POLL) => {}
        }
    }
}

/// The run as JSON that export, compare and import read, with its floors for readers.
fn document(
    outcome: &Outcome,
    definition: &Definition,
    results: &[FloorResult],
    started_at: OffsetDateTime,
) -> anyhow::Result<String> {
    let floors = serde_json::to_value(reports(definition, results))?;
    // An import of the file elsewhere keeps its date.
    let origin = Origin {
        run_id: None,
        started_at: started_at.format(&Rfc3339).ok(),
    };
    let comparison = Comparison::judge(&outcome.matrix)?;
    Ok(export_json_with_floors(&comparison, &origin, &floors))
}

fn write_files(args: &RunArgs, outcome: &Outcome, document: &str) -> CliResult<()> {
    if let Some(path) = &args.out {
        std::fs::write(path, document).with_context(|| format!("writing {}", path.display()))?;
    }
    if args.flamegraph {
        keep_stacks(args, outcome)?;
    }
    Ok(())
}

/// Writes the run to stdout. JSON stands there alone: its floors are inside, and their lines go to stderr.
fn print(args: &RunArgs, outcome: &Outcome, document: &str, results: &[FloorResult]) -> CliResult<()> {
    let lines = if args.check && outcome.measurements.complete {
        floor_lines(results)
    } else {
        Vec::new()
    };
    if args.json {
        output::json_text(document.trim_end())?;
        lines.iter().for_each(|line| output::note(line));
        return Ok(());
    }
    let comparison = Comparison::judge(&outcome.matrix).map_err(anyhow::Error::from)?;
    let table = export(&comparison, ExportFormat::Mail);
    table
        .lines()
        .chain(lines.iter().map(String::as_str))
        .try_for_each(output::line)
}

/// Writes the stacks of each side, those of all fields together.
fn keep_stacks(args: &RunArgs, outcome: &Outcome) -> CliResult<()> {
    let name = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(&outcome.matrix.workload));
    for side in Side::BOTH {
        let mut all = Folded::default();
        let stacks = &outcome.measurements.attachments;
        for one in stacks.iter().filter(|one| one.side == side) {
            let left_out = all.merge(&one.folded);
            if left_out > 0 {
                output::note(&format!(
                    "{left_out} samples of {side} left out: too many different stacks"
                ));
            }
        }
        let path = name.with_extension(format!("{side}.folded"));
        std::fs::write(&path, all.to_string()).with_context(|| format!("writing {}", path.display()))?;
        output::note(&format!("{} stacks in {}", all.total(), path.display()));
    }
    Ok(())
}

/// Says what is to be known about the run, and how the command ends.
fn report(measured: &Measurements, results: &[FloorResult], args: &RunArgs) -> Exit {
    if let Some(objection) = measured.load.objection() {
        output::note(&objection);
    }
    if let Some(failure) = &measured.failure {
        output::note(&format!("{failure}; what was measured before it is kept"));
        return Exit::NotMeasured;
    }
    if !measured.complete {
        output::note("interrupted: what was measured is kept");
        return Exit::Cancelled;
    }
    if !args.check {
        return Exit::Done;
    }
    let (_, missed) = floors::tally(results);
    let missing = floors::missing(results);
    if missed > 0 {
        Exit::Failed
    } else if missing > 0 {
        output::note(&format!(
            "{missing} floors could not be judged: nothing was measured"
        ));
        Exit::NotMeasured
    } else {
        Exit::Done
    }
}

/// Each floor with its value and margin; how many are met and missed at last.
fn floor_lines(results: &[FloorResult]) -> Vec<String> {
    let (met, missed) = floors::tally(results);
    let tally = format!("{met} floors met, {missed} missed");
    results.iter().map(floor_line).chain([tally]).collect()
}

fn floor_line(result: &FloorResult) -> String {
    let floor = &result.floor;
    let place = result
        .cell
        .as_ref()
        .map_or_else(String::new, |cell| format!(" {cell}"));
    let of = match floor.of {
        FloorOf::After => "",
        FloorOf::Before => " before",
        FloorOf::Gain => " gain",
    };
    let wanted = format!("{}{of}{place} {} {}", floor.metric, floor.op.sign(), floor.value);
    match result.outcome {
        FloorOutcome::Judged { value, margin, met } => format!(
            "{} {wanted}: {}, margin {:+.1} %",
            if met { "met   " } else { "MISSED" },
            figure(value),
            margin * 100.0
        ),
        FloorOutcome::Skipped => format!("skip   {wanted}: the machine is busy"),
        FloorOutcome::TwoBuilds => format!("skip   {wanted}: it speaks of the older idea, not of a build"),
        FloorOutcome::NotMeasured if result.cell.is_some() => {
            format!("NONE   {wanted}: nothing was measured")
        }
        FloorOutcome::NotMeasured => format!("skip   {wanted}: not part of this run"),
    }
}

/// Four digits behind the point, and small numbers by their power of ten: CPU seconds of one request are millionths.
fn figure(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 {
        format!("{value:.3e}")
    } else {
        format!("{value:.4}")
    }
}

fn show(bar: &ProgressBar, progress: &RunProgress) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
    if progress.phase == Phase::Data {
        bar.set_message("data");
    }
    if let Some((cell, side)) = &progress.next {
        let eta = progress
            .eta
            .map_or_else(String::new, |eta| format!("  ETA {} s", eta.as_secs()));
        bar.set_message(format!("{cell} {side}{eta}"));
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}");
    counting_bar("").with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_floors_keep_their_digits() {
        assert_eq!(figure(15_348.259_7), "15348.2597");
        assert_eq!(figure(0.000_659_2), "6.592e-4");
        assert_eq!(figure(0.0), "0.0000");
    }
}
