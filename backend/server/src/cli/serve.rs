//! `fleethold serve`: the server.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use fleethold_bench::profile::Profile;
use fleethold_bench::server_state;

use super::exit::{CliResult, Exit, Failure};
use crate::serve::ServeOptions;
use crate::settings::{ServerFlags, Settings};

/// Serve the page, REST and the PBS face over TLS
///
/// Starts with no datastore, too: register one with `fleethold store add`. On the first start a user admin@pbs is made; its password is
/// in the file <state>/admin-password.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold serve
  fleethold serve --listen [::]:8007 --tls-cert cert.pem --tls-key key.pem
  fleethold serve --restore-root /srv/restore --allow-device /dev/vg0/vm-100 --memory 1GiB
  DATABASE_URL=postgres://fleethold@db/fleethold fleethold serve --log-format json")]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) server: ServerFlags,
    /// Write {url, fingerprint, pid, user, password_file} to this file once the server answers
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Offer this workload file, too, to whoever may start benchmark runs (can be given more than once)
    #[arg(long = "workload", value_name = "FILE")]
    workloads: Vec<PathBuf>,
    /// How datastores are found, for servers that `bench` starts; refused on any state but theirs
    #[arg(long, value_name = "HOW", hide = true)]
    bench_lookup: Option<BenchLookup>,
    /// Write the folded stacks of the server's life to this file at its end
    #[arg(long, value_name = "FILE", hide = true, requires = "bench_lookup")]
    bench_stacks: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum BenchLookup {
    /// As always
    Cached,
    /// As PBS did before it kept the parsed configuration
    Reparse,
}

pub(super) fn run(settings: Settings, args: ServeArgs) -> CliResult {
    if args.bench_lookup.is_some() {
        server_state::check(&settings.state_dir, &settings.config_dir, &settings.run_dir)
            .map_err(|error| Failure::usage(error.to_string()))?;
        // A benchmark that is killed takes its server along.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
            .context("asking to end with the benchmark")?;
    }
    let profile = match &args.bench_stacks {
        Some(_) => Some(Profile::start()?),
        None => None,
    };
    crate::serve::start(
        settings,
        ServeOptions {
            ready_file: args.ready_file,
            worker: None,
            bench_lock: None,
            workloads: args.workloads,
            reparse: matches!(args.bench_lookup, Some(BenchLookup::Reparse)),
        },
    )?;
    if let (Some(profile), Some(path)) = (profile, &args.bench_stacks) {
        std::fs::write(path, profile.finish()?.to_string())
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(Exit::Done)
}
