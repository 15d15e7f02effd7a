//! `fleethold bench compare`: two kept runs, or two files of another tool.

use std::path::{Path, PathBuf};

use clap::Args;
use fleethold_bench_model::between::between;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::import::{Content, ImportedSeries};
use fleethold_bench_model::matrix::{Matrix, Version};
use fleethold_bench_model::pair::pair;
use fleethold_bench_model::verdict::Rules;

use super::super::exit::{CliResult, Exit, Failure};
use super::super::output;
use super::file;

/// Compare what two runs measured as after, or two files of hyperfine, fio, Go's testing and others
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench compare old.json new.json
  fleethold bench compare before-hyperfine.json after-hyperfine.json --format markdown
  fleethold bench compare a.json b.json --min-effect 0.05 --no-holm")]
pub(in crate::cli) struct CompareArgs {
    /// The older
    before: PathBuf,
    /// The newer
    after: PathBuf,
    /// mail, markdown, csv, json, gobench or html
    #[arg(long, default_value = "mail")]
    format: ExportFormat,
    /// Smallest change worth a verdict, as a share: 0.02 is 2 %
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_effect: Option<f64>,
    /// Do not correct for the number of comparisons
    #[arg(long)]
    no_holm: bool,
    /// Compare runs of different machines all the same; the result says so
    #[arg(long)]
    across_machines: bool,
}

pub(super) fn run(args: &CompareArgs) -> CliResult {
    let mut rules = Rules::default();
    rules.min_effect_ratio = args.min_effect.unwrap_or(rules.min_effect_ratio);
    rules.holm = !args.no_holm;
    rules.across_machines = args.across_machines;
    let matrix = Matrix {
        rules,
        ..matrix(args, rules)?
    };
    let comparison = Comparison::judge(&matrix)?;
    output::line(export(&comparison, args.format).trim_end())?;
    Ok(Exit::Done)
}

fn matrix(args: &CompareArgs, rules: Rules) -> CliResult<Matrix> {
    let (before, after) = (file::read(&args.before)?, file::read(&args.after)?);
    let (before_name, after_name) = (name(&args.before), name(&args.after));
    match (before.content, after.content) {
        (Content::Matrix(before), Content::Matrix(after)) => {
            Ok(between((&before_name, &before), (&after_name, &after))?)
        }
        (Content::Series(before), Content::Series(after)) => {
            let side = |label: String| Version {
                label,
                ..Version::default()
            };
            let (before, after): (Vec<ImportedSeries>, Vec<ImportedSeries>) = (before, after);
            Ok(pair(
                (side(before_name), &before),
                (side(after_name), &after),
                rules,
            )?)
        }
        _ => Err(Failure::usage(format!(
            "{} and {}: expected two runs of fleethold bench, or two files with measurements of other tools",
            args.before.display(),
            args.after.display()
        ))),
    }
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..10.0).contains(&share) => Ok(share),
        _ => Err("expected a share such as 0.02".to_owned()),
    }
}
