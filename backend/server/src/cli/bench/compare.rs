//! `fleethold bench compare`: two kept runs, or two files of another tool.

use clap::Args;
use fleethold_bench_model::between::between;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::import::Content;
use fleethold_bench_model::matrix::{Matrix, Version};
use fleethold_bench_model::pair::pair;
use fleethold_bench_model::verdict::Rules;

use super::super::exit::{CliResult, Exit, Failure};
use super::super::output;
use super::database::HistoryFlags;
use super::kept::{self, Kept};
use crate::settings::Settings;

/// Compare what two runs measured as after, or two files of hyperfine, fio, Go's testing and others
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench compare old.json new.json
  fleethold bench compare before-hyperfine.json after-hyperfine.json --format markdown
  fleethold bench compare a.json b.json --min-effect 0.05 --no-holm
  fleethold bench compare 019a0c5e-7b1f-7cc1-8a1b-3f2a91c00001 new.json")]
pub(in crate::cli) struct CompareArgs {
    /// The older
    #[arg(value_name = "FILE|RUN", value_parser = Kept::parse)]
    before: Kept,
    /// The newer
    #[arg(value_name = "FILE|RUN", value_parser = Kept::parse)]
    after: Kept,
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
    #[command(flatten)]
    pub(super) history: HistoryFlags,
}

pub(super) fn run(settings: &Settings, args: &CompareArgs) -> CliResult {
    let mut rules = Rules::default();
    rules.min_effect_ratio = args.min_effect.unwrap_or(rules.min_effect_ratio);
    rules.holm = !args.no_holm;
    rules.across_machines = args.across_machines;
    let matrix = Matrix {
        rules,
        ..matrix(settings, args, rules)?
    };
    let comparison = Comparison::judge(&matrix)?;
    output::data(export(&comparison, args.format).trim_end())?;
    Ok(Exit::Done)
}

fn matrix(settings: &Settings, args: &CompareArgs, rules: Rules) -> CliResult<Matrix> {
    let mut found = kept::read(settings, &[&args.before, &args.after])?;
    let (Some(after), Some(before)) = (found.pop(), found.pop()) else {
        return Err(Failure::usage("expected two files or runs"));
    };
    match (before.content, after.content) {
        (Content::Matrix(first), Content::Matrix(second)) => {
            Ok(between((&before.name, &first), (&after.name, &second))?)
        }
        (Content::Series(first), Content::Series(second)) => {
            let side = |label: String| Version {
                label,
                ..Version::default()
            };
            Ok(pair(
                (side(before.name), &first),
                (side(after.name), &second),
                rules,
            )?)
        }
        _ => Err(Failure::usage(format!(
            "{} and {}: expected two runs of fleethold bench, or two files with measurements of other tools",
            before.name, after.name
        ))),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..10.0).contains(&share) => Ok(share),
        _ => Err("expected a share such as 0.02".to_owned()),
    }
}
