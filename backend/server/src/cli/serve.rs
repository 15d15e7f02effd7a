//! `fleethold serve`: the server.

use std::path::PathBuf;

use clap::Args;

use super::exit::{CliResult, Exit};
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
}

pub(super) fn run(settings: Settings, args: ServeArgs) -> CliResult {
    crate::serve::start(
        settings,
        ServeOptions {
            ready_file: args.ready_file,
            worker: None,
            workloads: args.workloads,
        },
    )?;
    Ok(Exit::Done)
}
