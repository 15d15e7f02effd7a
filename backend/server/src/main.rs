//! The binary `fleethold`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fleethold_server::allocator::give_large_buffers_back();
    fleethold_server::cli::run()
}
