//! `fleethold bench list`: the workloads there are.

use clap::Args;
use fleethold_bench::definition::Definition;
use serde_json::json;

use super::super::exit::{CliResult, Exit};
use super::super::output;

/// List the workloads, with what they compare
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench list
  fleethold bench run restore --quick")]
pub(in crate::cli) struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ListArgs) -> CliResult {
    let workloads = Definition::built_in()?;
    if args.json {
        let items: Vec<_> = workloads.iter().map(describe).collect();
        output::json(&json!({ "items": items }))?;
        return Ok(Exit::Done);
    }
    for workload in &workloads {
        output::line(&format!("{}: {}", workload.name, workload.title))?;
        output::line(&format!("  before     {}", workload.before))?;
        output::line(&format!("  after      {}", workload.after))?;
        output::line(&format!(
            "  {:<10} {}",
            workload.knob.name,
            workload.knob.values.join(", ")
        ))?;
        for scenario in &workload.scenarios {
            output::line(&format!("  {:<18} {}", scenario.name, scenario.legend))?;
        }
        output::line(&format!("  source     {}", workload.source))?;
        output::line("")?;
    }
    Ok(Exit::Done)
}

fn describe(workload: &Definition) -> serde_json::Value {
    let scenarios: Vec<_> = workload
        .scenarios
        .iter()
        .map(|scenario| json!({"name": scenario.name, "legend": scenario.legend}))
        .collect();
    json!({
        "name": workload.name,
        "title": workload.title,
        "source": workload.source,
        "before": workload.before,
        "after": workload.after,
        "knob": {"name": workload.knob.name, "values": workload.knob.values, "default": workload.knob.default},
        "scenarios": scenarios,
        "judged": workload.judged,
        "floors": workload.floors.len(),
    })
}
