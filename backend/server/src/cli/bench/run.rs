//! `fleethold bench run`: measures one workload.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use fleethold_bench::definition::{Definition, FloorOf};
use fleethold_bench::environment::Environment;
use fleethold_bench::floors::{self, FloorOutcome, FloorResult};
use fleethold_bench::runner::{self, Measurements, RunOptions, RunProgress};
use fleethold_bench::worker::Workers;
use fleethold_bench::{BenchError, Cell, data, record};
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::verdict::default_runs;
use indicatif::{ProgressBar, ProgressStyle};
use rand::Rng;
use tokio_util::sync::CancellationToken;

use super::super::archive;
use super::super::exit::{CliResult, Exit, Failure};
use super::super::options;
use super::super::output;
use super::super::progress::counting_bar;
use crate::settings::Settings;

/// Samples a side of a quick run.
const QUICK_SAMPLES: usize = 6;

/// Measure one workload, before and after interleaved in random order
///
/// Each sample is a process of its own. Ctrl-C keeps what was measured.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench run restore
  fleethold bench run lookup --quick --check
  fleethold bench run ./mine.toml --samples 12 --seed 7

Exit codes: 0 measured, 1 a floor was missed (--check), 5 could not measure, 130 interrupted.")]
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
    /// Where the data is made [default: bench/ in the state directory]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Keep the run in this file, as JSON that export and compare read
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the run as one JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// Print each floor with its value and margin; end with 1 when one is missed
    #[arg(long)]
    check: bool,
}

pub(super) fn run(settings: &Settings, args: &RunArgs) -> CliResult {
    match measure(settings, args) {
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

fn measure(settings: &Settings, args: &RunArgs) -> CliResult {
    let (definition, _text) = match Definition::load(&args.workload) {
        Ok(loaded) => loaded,
        Err(error @ (BenchError::UnknownWorkload { .. } | BenchError::Workload { .. })) => {
            return Err(Failure::usage(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let quick = args.quick.then_some(&definition.quick);
    let cells = Cell::all(&definition, quick);
    let root = args
        .data_dir
        .clone()
        .unwrap_or_else(|| settings.state_dir.join("bench"));
    let spec = quick
        .and_then(|quick| quick.data.as_ref())
        .unwrap_or(&definition.data);
    let making = counting_bar("data");
    let set = data::provide(&definition.name, spec, &cells, &root, &|progress| {
        making.set_length(progress.total);
        making.set_position(progress.done);
    })?;
    making.finish_and_clear();

    let options = RunOptions {
        quick: args.quick,
        samples: args
            .samples
            .map_or(default_samples(args.quick, cells.len()), usize::from),
        seed: args.seed.unwrap_or_else(|| rand::rng().random_range(0..1 << 32)),
        warm_up: usize::from(args.warm_up),
    };
    output::note(&format!(
        "{}{}: {} fields, {} + {} samples each, seed {}, data {}",
        definition.name,
        if args.quick { " (quick)" } else { "" },
        cells.len(),
        options.samples,
        options.samples,
        options.seed,
        set.sha256.get(..16).unwrap_or(&set.sha256),
    ));
    let workers = Workers::new(std::env::current_exe().context("finding this binary")?);
    let cancel = CancellationToken::new();
    let runtime = options::runtime()?;
    let bar = bar();
    let measured = runtime.block_on(async {
        archive::cancel_on_signals(&cancel)?;
        let show = |progress: &RunProgress| show(&bar, progress);
        anyhow::Ok(runner::run(&definition, set.dir.clone(), &options, &workers, show, &cancel).await?)
    })?;
    bar.finish_and_clear();
    let environment = Environment::detect(&root, env!("CARGO_PKG_VERSION"));
    let matrix = record::matrix(&definition, &options, &set, &environment, &measured);
    keep(args, &matrix)?;
    report(&definition, &measured, args)
}

/// Writes the run to its file and to stdout.
fn keep(args: &RunArgs, matrix: &Matrix) -> CliResult<()> {
    let text = |format| {
        let comparison = Comparison::judge(matrix)?;
        anyhow::Ok(export(&comparison, format))
    };
    if let Some(path) = &args.out {
        std::fs::write(path, text(ExportFormat::Json)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    if args.json {
        return output::json(matrix);
    }
    for line in text(ExportFormat::Mail)?.lines() {
        output::line(line)?;
    }
    Ok(())
}

/// The fewest that can show a difference after the correction for that many fields.
fn default_samples(quick: bool, fields: usize) -> usize {
    if quick {
        QUICK_SAMPLES
    } else {
        default_runs(fields * record::JUDGED.len())
    }
}

fn report(definition: &Definition, measured: &Measurements, args: &RunArgs) -> CliResult {
    if let Some(objection) = measured.load.objection() {
        output::note(&objection);
    }
    if !measured.complete {
        return Ok(Exit::Cancelled);
    }
    if !args.check {
        return Ok(Exit::Done);
    }
    let results = floors::check(definition, measured);
    for result in &results {
        output::line(&floor_line(result))?;
    }
    let (met, missed) = floors::tally(&results);
    output::line(&format!("{met} floors met, {missed} missed"))?;
    Ok(if missed == 0 { Exit::Done } else { Exit::Failed })
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
            "{} {wanted}: {value:.4}, margin {:+.1} %",
            if met { "met   " } else { "MISSED" },
            margin * 100.0
        ),
        FloorOutcome::Skipped => format!("skip   {wanted}: the machine is busy"),
        FloorOutcome::NotMeasured => format!("skip   {wanted}: not measured in this run"),
    }
}

fn show(bar: &ProgressBar, progress: &RunProgress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
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
