//! `fleethold bench export`: a kept run in another form.

use clap::Args;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export_of};

use super::super::exit::{CliResult, Exit};
use super::super::output;
use super::database::HistoryFlags;
use super::kept::{self, Kept};
use crate::settings::Settings;

/// Print a kept run as text to mail, Markdown, CSV, JSON, Go benchmark text or one HTML file
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench export run.json
  fleethold bench export run.json --format gobench | benchstat -col side /dev/stdin
  fleethold bench export run.json --format html > run.html")]
pub(in crate::cli) struct ExportArgs {
    /// A run of the history by its id, a file of bench run --out, or our CSV or Go text
    #[arg(value_name = "FILE|RUN", value_parser = Kept::parse)]
    run: Kept,
    /// mail, markdown, csv, json, gobench or html
    #[arg(long, default_value = "mail")]
    format: ExportFormat,
    #[command(flatten)]
    pub(super) history: HistoryFlags,
}

pub(super) fn run(settings: &Settings, args: &ExportArgs) -> CliResult {
    let (matrix, origin) = kept::matrix(settings, &args.run)?;
    let comparison = Comparison::judge(&matrix)?;
    output::data(export_of(&comparison, args.format, &origin).trim_end())?;
    Ok(Exit::Done)
}
