//! The command line of `fleethold`.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failed |
//! | 2 | used wrongly |
//! | 3 | the set-up is missing or broken: settings, configuration files |
//! | 4 | incomplete, or what is stored failed verification |
//! | 5 | could not measure |
//! | 130 | cancelled |
//!
//! With `--json` the last line of stdout is one object; errors and progress go to stderr.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::settings::{CommonFlags, ServerFlags, Settings, Surroundings};

mod accounts;
mod acl;
mod archive;
mod bench;
mod check;
mod config;
mod exit;
mod fixture;
mod key;
mod logging;
mod ls;
mod options;
mod output;
mod place;
mod progress;
mod restore;
mod secret;
mod serve;
mod store;
mod target;
mod token;
mod user;
pub mod values;

use exit::{CliResult, Exit, Failure};

/// Restores from Proxmox Backup Server datastores: from the browser, from REST and from the shell.
#[derive(Parser)]
#[command(
    name = "fleethold",
    version = crate::build::VERSION.as_str(),
    propagate_version = true,
    after_help = "\
Examples:
  fleethold restore --store /mnt/datastore/main --snapshot vm/100/2024-05-01T10:00:00Z \\
      --archive drive-scsi0.img --to /tmp/disk.raw
  fleethold ls /mnt/datastore/main
  fleethold check /mnt/datastore/main
  fleethold store add main /mnt/datastore/main && fleethold serve

Each command has a --help of its own, with examples."
)]
struct Cli {
    #[command(flatten)]
    common: CommonFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
    Restore(restore::RestoreArgs),
    Check(check::CheckArgs),
    Ls(ls::LsArgs),
    #[command(subcommand)]
    Store(store::StoreCommand),
    #[command(subcommand)]
    User(user::UserCommand),
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Acl(acl::AclCommand),
    #[command(subcommand)]
    Fixture(fixture::FixtureCommand),
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
}

/// Runs the command of this process's arguments to its end.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Also --help and --version, which clap counts as success.
        Err(error) => {
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            return match error.print() {
                Ok(()) => exit.into(),
                Err(_) => Exit::Failed.into(),
            };
        }
    };
    match dispatch(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::error(&failure);
            failure.exit.into()
        }
    }
}

/// What commands log unless told otherwise. A broken configuration is their own error to report, once.
const QUIET: &str = "warn,fleethold_fleet=error";

/// What the server logs unless told otherwise: its own doings, and of its libraries what went wrong.
const SERVING: &str = "info,actix_server=warn,sqlx::postgres::notice=warn";

fn dispatch(cli: Cli) -> CliResult {
    let Cli { common, command } = cli;
    let (server, default_filter) = match &command {
        Command::Serve(args) => (args.server.clone(), SERVING),
        Command::Config(config::ConfigCommand::Show(args)) => (args.server.clone(), QUIET),
        Command::Restore(args) => (args.resources.server_flags(), QUIET),
        Command::Check(args) => (args.resources.server_flags(), QUIET),
        Command::Bench(command) => (command.server_flags(), QUIET),
        _ => (ServerFlags::default(), QUIET),
    };
    let settings = Settings::load(&common, &server, &Surroundings::of_this_process()).map_err(|error| {
        if error.is_usage() {
            Failure::usage(error.to_string())
        } else {
            Failure::setup(error)
        }
    })?;
    logging::start(&settings, default_filter)?;
    match command {
        Command::Serve(args) => serve::run(settings, args),
        Command::Restore(args) => restore::run(&settings, args),
        Command::Check(args) => check::run(&settings, args),
        Command::Ls(args) => ls::run(&settings, args),
        Command::Store(command) => store::run(&settings, command),
        Command::User(command) => user::run(&settings, command),
        Command::Token(command) => token::run(&settings, command),
        Command::Acl(command) => acl::run(&settings, command),
        Command::Bench(command) => bench::run(&settings, command),
        Command::Fixture(command) => fixture::run(command),
        Command::Config(command) => config::run(&settings, command),
    }
}
