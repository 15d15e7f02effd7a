//! The steps of `make test` that run another program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::counts::Counts;
use crate::golden;
use crate::node;
use crate::process;
use crate::repo::Repo;

/// What the tests are built from: everything but this program, whose tests are run on their own so that its
/// dependencies are not built a second time with other features.
const TESTED: [&str; 3] = ["--workspace", "--exclude", "xtask"];

pub(super) fn fmt(repo: &Repo) -> Result<Counts> {
    process::run(repo.cargo().args(["fmt", "--all", "--check"])).map(|()| Counts::one_passed())
}

pub(super) fn clippy(repo: &Repo) -> Result<Counts> {
    let lint = |packages: &[&str]| {
        let mut command = repo.cargo();
        command
            .arg("clippy")
            .args(packages)
            .args(["--all-targets", "--", "--deny", "warnings"]);
        process::run(&mut command)
    };
    lint(&TESTED)?;
    lint(&["--package", "xtask"])?;
    Ok(Counts::one_passed())
}

pub(super) fn cargo(repo: &Repo) -> Result<Counts> {
    let mut counts = Counts::default();
    for packages in [&TESTED[..], &["--package", "xtask"]] {
        let mut found = Counts::default();
        let mut command = repo.cargo();
        command.arg("test").args(packages).arg("--no-fail-fast");
        let well = process::run_watched(&mut command, |line| found.add_cargo_line(line))?;
        counts += found.ended(well);
    }
    Ok(counts)
}

pub(super) fn playwright(repo: &Repo) -> Result<Counts> {
    let report = repo.scratch("playwright.json");
    // An old report must not be taken for this run's.
    std::fs::create_dir_all(repo.scratch("")).context("creating the scratch folder")?;
    std::fs::write(&report, "").with_context(|| format!("writing {}", report.display()))?;
    // Playwright strips types without looking at them.
    process::run(
        node::command(repo, "node")
            .args(["node_modules/typescript/bin/tsc", "--project", "."])
            .current_dir(repo.path("e2e")),
    )?;
    let mut command = node::command(repo, "node");
    command
        .args(["node_modules/@playwright/test/cli.js", "test"])
        .current_dir(repo.path("e2e"))
        .env("PLAYWRIGHT_JSON_OUTPUT_NAME", &report);
    with_server(repo, &mut command)?;
    let well = process::run_watched(&mut command, |_| {})?;
    let text = std::fs::read_to_string(&report).with_context(|| format!("reading {}", report.display()))?;
    let counts = Counts::from_playwright(&text).context("Playwright wrote no report")?;
    Ok(counts.ended(well))
}

pub(super) fn proxmoxer(repo: &Repo) -> Result<Counts> {
    let requirements = repo.path("e2e/requirements.txt");
    let venv = repo.scratch("venv");
    let python = venv.join("bin/python");
    if !install_python_packages(&venv, &python, &requirements)? {
        if std::env::var_os("FLEETHOLD_OFFLINE").is_none() {
            bail!(
                "PyPI cannot be reached, so the check with proxmoxer cannot run; FLEETHOLD_OFFLINE=1 leaves it out"
            );
        }
        println!("!! SKIPPED: PyPI cannot be reached, so the check with proxmoxer did not run !!");
        return Ok(Counts::one_skipped());
    }
    let mut command = Command::new(&python);
    command.arg(repo.path("e2e/proxmoxer_check.py"));
    with_server(repo, &mut command)?;
    let mut counts = Counts::default();
    let well = process::run_watched(&mut command, |line| counts.add_closing_line(line))?;
    Ok(counts.ended(well))
}

/// A virtual environment with exactly what `requirements` names; `Ok(false)` if the index cannot be reached.
fn install_python_packages(venv: &Path, python: &Path, requirements: &Path) -> Result<bool> {
    let wanted =
        std::fs::read(requirements).with_context(|| format!("reading {}", requirements.display()))?;
    let stamp = venv.join("installed-requirements.txt");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(true);
    }
    process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    let mut command = Command::new(python);
    command
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ])
        .arg(requirements);
    println!("$ {}", process::display(&command));
    let output = command.output().context("could not start pip")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        std::fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
        return Ok(true);
    }
    println!("{}", said.trim_end());
    if is_offline(&said) {
        return Ok(false);
    }
    bail!("pip ended with {}", output.status)
}

/// Whether pip's words mean "no network" and not "no such package".
fn is_offline(said: &str) -> bool {
    [
        "NewConnectionError",
        "NameResolutionError",
        "ConnectTimeoutError",
        "ProxyError",
        "ReadTimeoutError",
    ]
    .iter()
    .any(|word| said.contains(word))
}

/// Tells a test runner which server to start and where the golden stores are.
fn with_server(repo: &Repo, command: &mut Command) -> Result<()> {
    let golden = repo.scratch("golden");
    golden::unpack(repo, &golden)?;
    command
        .env("FLEETHOLD_BIN", server_binary(repo)?)
        .env("FLEETHOLD_GOLDEN", golden);
    Ok(())
}

/// The server that `cargo test` has built for its own integration tests: asked for in the same words, so that
/// nothing is compiled again.
fn server_binary(repo: &Repo) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        executable: Option<PathBuf>,
        #[serde(default)]
        target: Option<Target>,
        #[serde(default)]
        profile: Option<Profile>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
        kind: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let mut command = repo.cargo();
    command
        .arg("test")
        .args(TESTED)
        .args(["--no-run", "--message-format=json-render-diagnostics"]);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    anyhow::ensure!(
        output.status.success(),
        "`{}` ended with {}",
        process::display(&command),
        output.status
    );
    let said = String::from_utf8(output.stdout).context("cargo's messages are not UTF-8")?;
    said.lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .find_map(|message| {
            let target = message.target?;
            let wanted = target.name == "fleethold" && target.kind.iter().any(|kind| kind == "bin");
            (wanted && !message.profile?.test).then_some(message.executable)?
        })
        .context("cargo test built no binary `fleethold`: the server has lost its integration tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_network_counts_as_offline() {
        assert!(is_offline(
            "Retrying: NewConnectionError(': Failed to establish a new connection')"
        ));
        assert!(!is_offline(
            "ERROR: No matching distribution found for proxmoxer==99"
        ));
    }
}
