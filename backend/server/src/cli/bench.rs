//! `fleethold bench`: every claim of speed is a workload that anyone can run again.

mod against;
mod compare;
mod export;
mod file;
mod list;
mod machine;
mod run;
mod sample;

use clap::Subcommand;

use super::exit::CliResult;
use crate::settings::Settings;

/// Measure: workloads with a before and an after side, on data made from a seed
#[derive(Subcommand)]
pub(super) enum BenchCommand {
    List(list::ListArgs),
    Run(run::RunArgs),
    Compare(compare::CompareArgs),
    Export(export::ExportArgs),
    Machine(machine::MachineArgs),
    /// Take one sample: what `bench run` starts for each
    #[command(hide = true)]
    Sample,
}

pub(super) fn run(settings: &Settings, command: BenchCommand) -> CliResult {
    match command {
        BenchCommand::List(args) => list::run(&args),
        BenchCommand::Run(args) => run::run(settings, &args),
        BenchCommand::Compare(args) => compare::run(&args),
        BenchCommand::Export(args) => export::run(&args),
        BenchCommand::Machine(args) => machine::run(settings, &args),
        BenchCommand::Sample => sample::run(),
    }
}
