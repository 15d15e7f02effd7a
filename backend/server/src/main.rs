//! The binary `fleethold`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fleethold_server::cli::run()
}
