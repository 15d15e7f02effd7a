//! Go's `benchstat` itself on our Go benchmark text: what it says is what is kept beside it, and cargo's tests compare
//! that with our own medians and verdicts.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::counts::Counts;
use crate::process;
use crate::repo::Repo;

/// The version of golang.org/x/perf that is asked.
const VERSION: &str = "v0.0.0-20250813145418-2f7363a06fe1";
/// Our export, and what benchstat made of it.
const DATA: &str = "backend/bench-model/tests/data";
/// Where Go's own installer puts it.
const USUAL_GO: &str = "/usr/local/go/bin/go";

pub(super) fn benchstat(repo: &Repo) -> Result<Counts> {
    let Some(go) = find_go() else {
        println!("!! SKIPPED: Go is not installed, so the check with benchstat did not run !!");
        return Ok(Counts::one_skipped());
    };
    let Some(tool) = install(repo, &go)? else {
        println!(
            "!! SKIPPED: the Go module proxy cannot be reached, so the check with benchstat did not run !!"
        );
        return Ok(Counts::one_skipped());
    };
    let data = repo.path(DATA);
    let said = process::output(
        Command::new(tool)
            .args(["-format", "csv", "-col", "side", "benchstat.go.txt"])
            .current_dir(&data),
    )?;
    let kept = data.join("benchstat.csv");
    let expected = std::fs::read_to_string(&kept).with_context(|| format!("reading {}", kept.display()))?;
    if let Some(difference) = first_difference(&said, &expected) {
        bail!("benchstat {VERSION}: {}, {difference}", kept.display());
    }
    println!("benchstat {VERSION} says what {} says", kept.display());
    Ok(Counts::one_passed())
}

/// The line where what was said is not what was expected.
fn first_difference(said: &str, expected: &str) -> Option<String> {
    let (mut said, mut expected) = (said.lines(), expected.lines());
    (1..).find_map(|number| match (said.next(), expected.next()) {
        (None, None) => Some(None),
        (said, expected) if said == expected => None,
        (said, expected) => {
            let word = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
            Some(Some(format!(
                "line {number}: expected `{}`, found `{}`",
                word(expected),
                word(said)
            )))
        }
    })?
}

/// Go of the path, or where it usually lies.
fn find_go() -> Option<PathBuf> {
    let runs = |go: &Path| {
        Command::new(go)
            .arg("version")
            .output()
            .is_ok_and(|out| out.status.success())
    };
    [PathBuf::from("go"), PathBuf::from(USUAL_GO)]
        .into_iter()
        .find(|go| runs(go))
}

/// The tool, built once: the version is part of its place. `None` if the module proxy cannot be reached.
fn install(repo: &Repo, go: &Path) -> Result<Option<PathBuf>> {
    let home = repo.target().join(format!("benchstat-{VERSION}"));
    let tool = home.join("benchstat");
    if tool.is_file() {
        return Ok(Some(tool));
    }
    let mut command = Command::new(go);
    command
        .arg("install")
        .arg(format!("golang.org/x/perf/cmd/benchstat@{VERSION}"))
        .env("GOBIN", &home)
        .env("GOFLAGS", "-mod=mod");
    println!("$ {}", process::display(&command));
    let output = command.output().context("could not start go")?;
    if output.status.success() {
        return Ok(Some(tool));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    println!("{}", said.trim_end());
    if is_offline(&said) {
        return Ok(None);
    }
    bail!("go install ended with {}", output.status)
}

/// Whether Go's words mean "no network" and not "no such module".
fn is_offline(said: &str) -> bool {
    [
        "dial tcp",
        "no such host",
        "i/o timeout",
        "TLS handshake timeout",
        "connection refused",
    ]
    .iter()
    .any(|word| said.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_other_line_is_told() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        for (said, expected, told) in [
            ("a\nc\n", "a\nb\n", "line 2: expected `b`, found `c`"),
            ("a\n", "a\nb\n", "line 2: expected `b`, found `(the end)`"),
            ("a\nb\n", "a\n", "line 2: expected `(the end)`, found `b`"),
        ] {
            assert_eq!(first_difference(said, expected).as_deref(), Some(told));
        }
    }

    #[test]
    fn only_a_missing_network_counts_as_offline() {
        assert!(is_offline(
            "Get \"https://proxy.golang.org/…\": dial tcp: lookup proxy.golang.org: no such host"
        ));
        assert!(!is_offline("invalid version: unknown revision 2f7363a06fe2"));
    }
}
