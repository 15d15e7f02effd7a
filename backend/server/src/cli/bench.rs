//! `fleethold bench`: every claim of speed is a workload that anyone can run again.

mod against;
mod compare;
mod database;
mod export;
mod file;
mod history;
mod import;
mod interrupt;
mod kept;
mod list;
mod machine;
mod run;
mod sample;
mod store;

use clap::Subcommand;

use super::exit::CliResult;
use crate::settings::{ServerFlags, Settings};

/// Measure: workloads with a before and an after side, on data made from a seed
#[derive(Subcommand)]
pub(super) enum BenchCommand {
    List(list::ListArgs),
    Run(run::RunArgs),
    Compare(compare::CompareArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    History(history::HistoryArgs),
    Machine(machine::MachineArgs),
    /// Take one sample: what `bench run` starts for each
    #[command(hide = true)]
    Sample,
}

impl BenchCommand {
    /// Settings of the server that the command takes as flags, too.
    pub(super) fn server_flags(&self) -> ServerFlags {
        match self {
            Self::Run(args) => args.history.server_flags(),
            Self::Compare(args) => args.history.server_flags(),
            Self::Export(args) => args.history.server_flags(),
            Self::Import(args) => args.history.server_flags(),
            Self::History(args) => args.history.server_flags(),
            Self::List(_) | Self::Machine(_) | Self::Sample => ServerFlags::default(),
        }
    }
}

pub(super) fn run(settings: &Settings, command: BenchCommand) -> CliResult {
    match command {
        BenchCommand::List(args) => list::run(&args),
        BenchCommand::Run(args) => run::run(settings, &args),
        BenchCommand::Compare(args) => compare::run(settings, &args),
        BenchCommand::Export(args) => export::run(settings, &args),
        BenchCommand::Import(args) => import::run(settings, &args),
        BenchCommand::History(args) => history::run(settings, &args),
        BenchCommand::Machine(args) => machine::run(settings, &args),
        BenchCommand::Sample => sample::run(),
    }
}
