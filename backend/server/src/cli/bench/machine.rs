//! `fleethold bench machine`: what a run on this machine will say about it, and how evenly it works.

use clap::Args;
use fleethold_bench::environment::Environment;
use serde_json::json;

use super::super::exit::{CliResult, Exit};
use super::super::output;
use crate::settings::Settings;

/// Describe this machine as runs do, with the spread of equal work
///
/// Runs of machines of another class are not compared unless asked for.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench machine
  fleethold bench machine --json")]
pub(in crate::cli) struct MachineArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(settings: &Settings, args: &MachineArgs) -> CliResult {
    let found = Environment::detect(&settings.state_dir, &crate::build::this()).probed();
    if args.json {
        output::json(&json!({"class": found.machine_class, "facts": found.facts}))?;
        return Ok(Exit::Done);
    }
    output::line(&format!("class: {}", found.machine_class))?;
    for (name, value) in &found.facts {
        output::line(&format!("{name}: {value}"))?;
    }
    Ok(Exit::Done)
}
