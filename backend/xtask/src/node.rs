//! Node.js for the page's tools: the machine's own if it is new enough, else the pinned one from the npm registry.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use crate::process;
use crate::repo::Repo;
use crate::setup::SetupMissing;

/// The oldest major version Playwright runs on. `.node-version` names the one we use ourselves.
const MINIMUM_MAJOR: u32 = 20;

/// Makes sure that [`command`] finds a Node.js that is new enough.
pub(crate) fn set_up(repo: &Repo) -> Result<()> {
    let found = process::output(command(repo, "node").arg("--version"))?;
    if major(&found).is_some_and(|major| major >= MINIMUM_MAJOR) {
        return Ok(());
    }
    let pinned = std::fs::read_to_string(repo.path(".node-version")).context("reading .node-version")?;
    let pinned = pinned.trim();
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => {
            return Err(SetupMissing::new(format!(
                "Node.js {} is too old and there is no package of {pinned} for {other}: install at least {MINIMUM_MAJOR}",
                found.trim()
            ))
            .into());
        }
    };
    println!(
        "Node.js {} is too old for the page's tools: installing {pinned} beside it",
        found.trim()
    );
    let package = format!("node-linux-{arch}");
    process::run(
        Command::new("npm")
            .args([
                "install",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--no-save",
                "--prefix",
            ])
            .arg(repo.scratch("node"))
            .arg(format!("{package}@{pinned}")),
    )?;
    let installed = process::output(command(repo, "node").arg("--version"))?;
    if major(&installed).is_some_and(|major| major >= MINIMUM_MAJOR) {
        return Ok(());
    }
    Err(anyhow!(
        "installed Node.js {pinned}, but `node --version` answers {}",
        installed.trim()
    ))
}

/// A command that finds the right Node.js first on its path.
pub(crate) fn command(repo: &Repo, program: &str) -> Command {
    let own = ["x64", "arm64"].map(|arch| {
        repo.scratch("node")
            .join(format!("node_modules/node-linux-{arch}/bin"))
    });
    let mut path: Vec<PathBuf> = own.into_iter().filter(|bin| bin.join("node").is_file()).collect();
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let program = path
        .iter()
        .map(|dir| dir.join(program))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| PathBuf::from(program));
    let mut command = Command::new(program);
    if let Ok(joined) = std::env::join_paths(&path) {
        command.env("PATH", joined);
    }
    command
}

/// `v20.20.2` → 20.
fn major(version: &str) -> Option<u32> {
    version
        .trim()
        .trim_start_matches('v')
        .split('.')
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_nodes_version() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("18.0.0"), Some(18));
        assert_eq!(major("nonsense"), None);
    }
}
