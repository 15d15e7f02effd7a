//! What the Makefile calls. Every command says what it does, may be run again at any time, and is quick
//! when there is nothing to do.
//!
//! ```text
//! setup ─▶ web ─▶ build ─▶ run        what a person sees
//!   └────▶ tidy, fmt, clippy, web, cargo test, Playwright, proxmoxer ─▶ one closing line     what CI sees
//! ```
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool speaks on its standard streams"
)]

mod bench;
mod clock;
mod demo;
mod golden;
mod install;
mod node;
mod process;
mod repo;
mod setup;
mod test;
mod tidy;
mod web;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::repo::Repo;
use crate::setup::{Purpose, SetupMissing};

/// Builds, runs, tests and installs Fleethold from this checkout.
#[derive(Parser)]
#[command(name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install or check what the build needs: system packages, Rust components, the page's npm tools
    Setup {
        /// What the machine will be used for; tests also need a browser and Python
        #[arg(long = "for", value_enum, default_value_t = Purpose::Test)]
        purpose: Purpose,
    },
    /// Build the page into frontend/dist: wasm-bindgen, wasm-opt, hashed names, .br and .gz beside each file
    Web {
        /// Build even if no input has changed
        #[arg(long)]
        force: bool,
    },
    /// Build the page and the release binary that embeds it
    Build,
    /// Build everything, make the demo's datastores and serve them until Ctrl-C
    Run(demo::RunArgs),
    /// Everything CI checks, closing with one line `N passed, N failed`
    Test(test::TestArgs),
    /// The quick set of all workloads, this tree against the last tagged revision
    Bench(bench::BenchArgs),
    /// The rules no compiler knows: crate edges, migration pairs, file lengths, left-over notes
    Tidy,
    /// Unpack the golden datastores of fixtures/golden.tar.zst into a directory
    Golden {
        /// Where to; replaced if it holds an older unpacked copy
        #[arg(long)]
        dir: std::path::PathBuf,
    },
    /// Copy the release binary, the systemd unit and an example configuration to DESTDIR and PREFIX
    Install(install::InstallArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = Repo::find().and_then(|repo| match cli.command {
        Command::Setup { purpose } => setup::run(&repo, purpose),
        Command::Web { force } => web::run(&repo, force),
        Command::Build => demo::build(&repo).map(|binary| println!("built {}", binary.display())),
        Command::Run(args) => demo::run(&repo, &args),
        Command::Test(args) => test::run(&repo, &args),
        Command::Bench(args) => bench::bench(&repo, &args),
        Command::Tidy => tidy::run(&repo),
        Command::Golden { dir } => golden::unpack(&repo, &dir),
        Command::Install(args) => install::run(&repo, &args),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            // 3: set-up missing, as everywhere in Fleethold.
            if error.is::<SetupMissing>() {
                ExitCode::from(3)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}
