//! Set-up: what a bare machine needs before the first build. Checks first, installs only what is missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;

use crate::node;
use crate::process;
use crate::repo::Repo;

/// What the machine will be used for.
#[derive(Copy, Clone, Eq, PartialEq, ValueEnum)]
pub(crate) enum Purpose {
    /// Build and run the server
    Run,
    /// Also run the tests: a browser and Python
    Test,
}

/// Something only a person can install is missing; exit code 3.
#[derive(Debug)]
pub(crate) struct SetupMissing(String);

impl SetupMissing {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl std::fmt::Display for SetupMissing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupMissing {}

/// Installs or checks everything; prints one line when all is there.
pub(crate) fn run(repo: &Repo, purpose: Purpose) -> Result<()> {
    system_packages(repo, purpose)?;
    node::set_up(repo)?;
    rust_components(repo)?;
    npm_packages(repo)?;
    println!("set-up: complete");
    Ok(())
}

fn system_packages(repo: &Repo, purpose: Purpose) -> Result<()> {
    let purpose = match purpose {
        Purpose::Run => "run",
        Purpose::Test => "test",
    };
    let status = Command::new("sh")
        .arg(repo.path("backend/xtask/packages.sh"))
        .arg(purpose)
        .status()
        .context("could not start sh")?;
    match status.code() {
        Some(0) => Ok(()),
        Some(3) => Err(SetupMissing::new("system packages are missing").into()),
        _ => Err(anyhow!("installing system packages ended with {status}")),
    }
}

/// A rustup that reads `rust-toolchain.toml` has installed all of this already; a distribution's may not have.
fn rust_components(repo: &Repo) -> Result<()> {
    let sysroot = process::output(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(repo.path("")),
    )?;
    let wasm = Path::new(sysroot.trim()).join("lib/rustlib/wasm32-unknown-unknown/lib");
    if !wasm.is_dir() {
        process::run(
            Command::new("rustup")
                .args(["target", "add", "wasm32-unknown-unknown"])
                .current_dir(repo.path("")),
        )
        .map_err(|error| {
            SetupMissing::new(format!(
                "the Rust target wasm32-unknown-unknown is missing ({error:#}); install it and run this again"
            ))
        })?;
    }
    Ok(())
}

/// `npm ci` in `e2e/` when the lock file is another one than the one installed last.
fn npm_packages(repo: &Repo) -> Result<()> {
    let e2e = repo.path("e2e");
    let lock = std::fs::read(e2e.join("package-lock.json")).context("reading e2e/package-lock.json")?;
    let stamp = e2e.join("node_modules/.installed-lock.json");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    // No package of ours needs an install script, and none gets to run one.
    process::run(
        Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&e2e),
    )?;
    std::fs::write(&stamp, lock).with_context(|| format!("writing {}", stamp.display()))
}
