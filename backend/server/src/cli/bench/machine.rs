//! `fleethold bench machine`: what a run measured here would say about the machine.

use clap::Args;
use fleethold_bench::environment::Environment;
use fleethold_history::bench::BenchMachine;
use serde_json::json;

use super::super::exit::{CliResult, Exit};
use super::super::output;
use crate::settings::Settings;

/// Describe this machine as runs keep it: its class, its fingerprint, its facts
///
/// Runs are compared within a class; the fingerprint tells one exact set-up from another.
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
    let environment = Environment::detect(&settings.state_dir.join("bench"), &crate::build::this());
    let machine = BenchMachine::new(environment.machine_class, environment.facts);
    if args.json {
        output::json(&json!({
            "class": machine.class,
            "fingerprint": machine.fingerprint,
            "facts": machine.facts,
        }))?;
        return Ok(Exit::Done);
    }
    output::line(&format!("class        {}", machine.class))?;
    output::line(&format!("fingerprint  {}", machine.fingerprint))?;
    for (name, value) in &machine.facts {
        output::line(&format!("  {name:<18} {value}"))?;
    }
    Ok(Exit::Done)
}
