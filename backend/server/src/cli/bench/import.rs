//! `fleethold bench import`: files of other tools, and our own, into the history.

use std::path::PathBuf;

use clap::Args;
use fleethold_api_types::bench::ImportReport;
use fleethold_bench_model::import::{Format, import};
use fleethold_history::Database;
use fleethold_history::bench::{NewBenchRun, NewContent};
use serde_json::json;
use uuid::Uuid;

use super::super::exit::{CliResult, Exit, Failure};
use super::super::options;
use super::super::output;
use super::database::{self, HistoryFlags};
use super::file;
use crate::clock;
use crate::settings::Settings;

/// Keep files of hyperfine, cargo-criterion, Go, fio and others in the history, or runs of our own
///
/// Nothing is lost: the file is kept beside its series. The same file twice is one run.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench import old.json new.json
  fleethold bench import fio-*.json --dry-run
  fleethold bench import log.txt --format qmrestore --reason 'the new disks'

Formats: json, csv, gobench, hyperfine, criterion, fio, customSmallerIsBetter, customBiggerIsBetter, bencher,
gnu-time, perf-stat, pbs-client, qmrestore, folded. Without --format the file tells, but for the two custom ones: they
look alike.")]
pub(in crate::cli) struct ImportArgs {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How they are read
    #[arg(long)]
    format: Option<Format>,
    /// Say what would be stored, and store nothing
    #[arg(long)]
    dry_run: bool,
    /// Why, for the history
    #[arg(long, default_value = "")]
    reason: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) history: HistoryFlags,
}

pub(super) fn run(settings: &Settings, args: &ImportArgs) -> CliResult {
    // All are read before one is stored: a typing error stores nothing.
    let mut runs = Vec::new();
    for path in &args.files {
        let (name, bytes) = file::bytes(path)?;
        let imported = import(&name, &bytes, args.format)?;
        let mut run = NewBenchRun::imported(
            Uuid::now_v7(),
            clock::now(),
            &database::operator(),
            &name,
            bytes,
            imported,
        );
        run.meta.reason.clone_from(&args.reason);
        run.check()?;
        runs.push((name, run));
    }
    let reports = options::runtime()?.block_on(async {
        // A dry run says what is known already, when there is somebody to ask.
        let database = if args.dry_run {
            database::join(settings).await?
        } else {
            Some(database::needed(settings).await?)
        };
        let mut reports = Vec::new();
        for (name, run) in runs {
            let report = one(database.as_deref(), run, args.dry_run).await?;
            if !args.json {
                output::line(&text(&name, &report))?;
            }
            reports.push(report);
        }
        if let Some(database) = database {
            database.stop().await;
        }
        Ok::<_, Failure>(reports)
    })?;
    if args.json {
        output::json(&json!({ "items": reports }))?;
    }
    Ok(Exit::Done)
}

async fn one(database: Option<&Database>, run: NewBenchRun, dry_run: bool) -> CliResult<ImportReport> {
    let (series, samples) = size(&run.content);
    let mut report = ImportReport {
        run: None,
        known: false,
        dry_run,
        format: run.meta.source.clone(),
        workload: run.meta.workload.name.clone(),
        series,
        samples,
        facts: run.meta.facts.clone(),
    };
    match database {
        Some(database) if dry_run => {
            report.run = database.rehearse_bench_run(run).await?;
            report.known = report.run.is_some();
        }
        Some(database) => {
            let stored = database.store_bench_run(run).await?;
            (report.run, report.known) = (Some(stored.id), stored.known);
        }
        None => {}
    }
    Ok(report)
}

/// Series and samples of a file.
fn size(content: &NewContent) -> (u64, u64) {
    let (series, samples) = match content {
        NewContent::Matrix(matrix) => {
            let cells = || matrix.rows.iter().flat_map(|row| &row.cells);
            let sides = |cell: &fleethold_bench_model::matrix::Cell| {
                fleethold_bench_model::sample::Side::BOTH
                    .into_iter()
                    .filter(|side| cell.samples.iter().any(|(of, _)| of == *side))
                    .count()
            };
            (
                cells().map(sides).sum(),
                cells().map(|cell| cell.samples.len()).sum(),
            )
        }
        NewContent::Series(list) => (list.len(), list.iter().map(|series| series.values.len()).sum()),
        NewContent::Stacks => (0, 0),
    };
    (series as u64, samples as u64)
}

fn text(name: &str, report: &ImportReport) -> String {
    let what = format!(
        "{name}: {}, workload {}, {} series, {} samples",
        report.format, report.workload, report.series, report.samples
    );
    match (report.run, report.known, report.dry_run) {
        (Some(id), true, _) => format!("{what}: run {id} has it already"),
        (Some(id), false, _) => format!("{what}: run {id}"),
        (None, ..) => format!("{what}: not stored, a dry run"),
    }
}
