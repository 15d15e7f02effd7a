//! `fleethold bench machine`: what a run on this machine will say about it, and how evenly it works.

use clap::Args;
use fleethold_bench::environment::Environment;
use fleethold_history::bench::BenchMachine;
use serde_json::json;

use super::super::exit::{CliResult, Exit};
use super::super::output;
use crate::settings::Settings;

/// Describe this machine as runs do, with its fingerprint and the spread of equal work
///
/// Runs of machines of another class are not compared unless asked for; the fingerprint tells one exact set-up from
/// another.
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
    let found = Environment::detect(&settings.state_dir.join("bench"), &crate::build::this()).probed();
    let machine = BenchMachine::new(found.machine_class, found.facts);
    if args.json {
        output::json(&json!({
            "class": machine.class,
            "fingerprint": machine.fingerprint,
            "facts": machine.facts,
        }))?;
        return Ok(Exit::Done);
    }
    output::line(&format!("class: {}", machine.class))?;
    output::line(&format!("fingerprint: {}", machine.fingerprint))?;
    for (name, value) in &machine.facts {
        output::line(&format!("{name}: {value}"))?;
    }
    Ok(Exit::Done)
}
