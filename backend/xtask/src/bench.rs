//! `make bench`: the quick set of all workloads, this tree against the last tagged revision, or the commit before this one
//! when nothing is tagged.
//!
//! ```text
//! older revision ─▶ worktree ─▶ target/bench/REV/fleethold ─┐
//! this tree ─▶ target/PROFILE/fleethold ────────────────────┴▶ bench run --against: interleaved ─▶ target/bench/results
//! ```
//! A revision is built once. Between two commits without changes on top, a kept result of this machine is printed instead
//! of measured again; `--again` measures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::process::{output, run};
use crate::repo::Repo;

/// Digits of a commit in names of files.
const SHORT: usize = 12;

/// What to measure against what.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Revision to measure against [default: the last tag, else the commit before this one]
    #[arg(long, value_name = "REV")]
    against: Option<String>,
    /// Only these workloads
    #[arg(long = "workload", value_name = "NAME")]
    workloads: Vec<String>,
    /// Samples a side of each field [default: six]
    #[arg(long, value_name = "N")]
    samples: Option<u16>,
    /// Cargo profile of both builds
    #[arg(long, default_value = "release")]
    profile: String,
    /// Measure although a result is kept
    #[arg(long)]
    again: bool,
}

/// A built revision.
struct Build {
    binary: PathBuf,
    /// The commit's first digits, with `-dirty` when the tree had changes.
    name: String,
}

pub(crate) fn bench(repo: &Repo, args: &BenchArgs) -> Result<()> {
    let place = repo.target().join("bench");
    let older = older(repo, &place, args)?;
    let newer = newer(repo, args)?;
    println!("bench: {} against {}", newer.name, older.name);
    let machine = machine(&newer.binary)?;
    let (all, known) = (workloads(&newer.binary)?, workloads(&older.binary));
    let mut chosen = all.clone();
    if !args.workloads.is_empty() {
        chosen = args.workloads.iter().cloned().collect();
        let unknown: Vec<_> = chosen.difference(&all).cloned().collect();
        ensure!(
            unknown.is_empty(),
            "no workload is called {}; there are {}",
            unknown.join(", "),
            all.iter().cloned().collect::<Vec<_>>().join(", ")
        );
    }
    let results = place.join("results");
    std::fs::create_dir_all(&results).with_context(|| format!("creating {}", results.display()))?;
    for workload in &chosen {
        let against = match &known {
            Ok(known) if known.contains(workload) => Some(&older),
            Ok(_) => {
                println!(
                    "bench: {} has no workload {workload}: measured against its own before side",
                    older.name
                );
                None
            }
            Err(error) => {
                println!(
                    "bench: {} has no benchmarks ({error:#}): {workload} is measured against its own before side",
                    older.name
                );
                None
            }
        };
        let file = results.join(file_name(&newer, against, &machine, workload, &args.profile));
        measure(&newer, against, workload, &file, &place, args)?;
    }
    Ok(())
}

/// Runs one workload, or prints what is kept of it.
fn measure(
    newer: &Build,
    against: Option<&Build>,
    workload: &str,
    file: &Path,
    place: &Path,
    args: &BenchArgs,
) -> Result<()> {
    if file.is_file() && newer.is_clean() && !args.again {
        println!("bench: kept in {} (--again measures)", file.display());
        let mut export = Command::new(&newer.binary);
        export
            .args(["bench", "export"])
            .arg(file)
            .args(["--format", "mail"]);
        return run(&mut export);
    }
    let mut command = Command::new(&newer.binary);
    command.args(["bench", "run", workload, "--quick", "--state-dir"]);
    command
        .arg(place.join("state"))
        .arg("--data-dir")
        .arg(place.join("data"));
    // Under another name first: what was interrupted is never taken for a result.
    let fresh = file.with_extension("part.json");
    command.arg("--out").arg(&fresh);
    if let Some(older) = against {
        command.arg("--against").arg(&older.binary);
    }
    if let Some(samples) = args.samples {
        command.args(["--samples", &samples.to_string()]);
    }
    run(&mut command)?;
    std::fs::rename(&fresh, file).with_context(|| format!("renaming {}", fresh.display()))
}

impl Build {
    fn is_clean(&self) -> bool {
        !self.name.ends_with("-dirty")
    }
}

/// One result a pair of revisions, machine, workload and profile.
fn file_name(newer: &Build, against: Option<&Build>, machine: &str, workload: &str, profile: &str) -> String {
    let older = against.map_or("before", |older| older.name.as_str());
    format!("{workload}-{}-{older}-{machine}-{profile}.json", newer.name)
}

/// This tree, built as it is.
fn newer(repo: &Repo, args: &BenchArgs) -> Result<Build> {
    let mut cargo = repo.cargo();
    run(cargo.args([
        "build",
        "--package",
        "fleethold-server",
        "--profile",
        &args.profile,
    ]))?;
    let commit = git(repo, &["rev-parse", "HEAD"])?;
    let changes = git(repo, &["status", "--porcelain", "--untracked-files=no"])?;
    let dirty = if changes.is_empty() { "" } else { "-dirty" };
    Ok(Build {
        binary: repo.target().join(folder(&args.profile)).join("fleethold"),
        name: format!("{}{dirty}", short(&commit)),
    })
}

/// The revision to measure against, built once in a worktree that is gone afterwards.
fn older(repo: &Repo, place: &Path, args: &BenchArgs) -> Result<Build> {
    let wanted = match &args.against {
        Some(revision) => revision.clone(),
        // With a tag on this very commit, that is this tree before its changes: then the changes are what is measured.
        None => git(repo, &["describe", "--tags", "--abbrev=0"]).unwrap_or_else(|_| "HEAD~1".to_owned()),
    };
    let commit = git(repo, &["rev-parse", "--verify", &format!("{wanted}^{{commit}}")])
        .with_context(|| format!("bench: there is no revision {wanted}"))?;
    let name = short(&commit).to_owned();
    let home = place.join(&name).join(&args.profile);
    let binary = home.join("fleethold");
    if !binary.is_file() {
        println!("bench: building {wanted} ({name}), once");
        let tree = place.join(&name).join("src");
        remove_worktree(repo, &tree);
        git(
            repo,
            &[
                "worktree",
                "add",
                "--detach",
                "--force",
                &tree.to_string_lossy(),
                &commit,
            ],
        )?;
        // One build directory for all revisions: what did not change between them is compiled once.
        let target = place.join("build");
        let built = run(repo
            .cargo()
            .current_dir(&tree)
            .env("CARGO_TARGET_DIR", &target)
            .env("FLEETHOLD_COMMIT", &commit)
            .args([
                "build",
                "--package",
                "fleethold-server",
                "--profile",
                &args.profile,
            ]));
        remove_worktree(repo, &tree);
        built?;
        std::fs::create_dir_all(&home).with_context(|| format!("creating {}", home.display()))?;
        let made = target.join(folder(&args.profile)).join("fleethold");
        // Under another name first: a copy cut short is never taken for a binary.
        let fresh = home.join("fleethold.new");
        std::fs::copy(&made, &fresh).with_context(|| format!("copying {}", made.display()))?;
        std::fs::rename(&fresh, &binary).with_context(|| format!("renaming {}", fresh.display()))?;
    }
    Ok(Build { binary, name })
}

fn remove_worktree(repo: &Repo, tree: &Path) {
    if tree.exists() {
        let removed = git(repo, &["worktree", "remove", "--force", &tree.to_string_lossy()]);
        if let Err(error) = removed {
            println!("bench: {error:#}");
        }
    }
}

/// Cargo's folder of a profile.
fn folder(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

fn git(repo: &Repo, arguments: &[&str]) -> Result<String> {
    let text = output(Command::new("git").args(arguments).current_dir(repo.path(".")))?;
    Ok(text.trim().to_owned())
}

/// The workloads that a binary knows.
fn workloads(binary: &Path) -> Result<BTreeSet<String>> {
    let text = output(Command::new(binary).args(["bench", "list", "--json"]))?;
    let list: Value = serde_json::from_str(&text).context("`bench list --json`")?;
    let items = list.get("items").and_then(Value::as_array);
    let names = items
        .into_iter()
        .flatten()
        .filter_map(|item| item.get("name")?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// A short name of this machine's class.
fn machine(binary: &Path) -> Result<String> {
    let text = output(Command::new(binary).args(["bench", "machine", "--json"]))?;
    let machine: Value = serde_json::from_str(&text).context("`bench machine --json`")?;
    let class = machine.get("class").and_then(Value::as_str).unwrap_or_default();
    Ok(hex::encode(Sha256::digest(class)).chars().take(8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_belongs_to_both_builds_the_machine_and_the_profile() {
        let build = |name: &str| Build {
            binary: PathBuf::new(),
            name: name.to_owned(),
        };
        let (new, old) = (build("aaaa"), build("bbbb"));
        let name = |new: &Build, old: Option<&Build>, machine: &str, profile: &str| {
            file_name(new, old, machine, "status", profile)
        };
        let one = name(&new, Some(&old), "m1", "release");
        assert_eq!(one, "status-aaaa-bbbb-m1-release.json");
        let others = [
            name(&old, Some(&old), "m1", "release"),
            name(&new, None, "m1", "release"),
            name(&new, Some(&old), "m2", "release"),
            name(&new, Some(&old), "m1", "dev"),
        ];
        assert!(others.iter().all(|other| *other != one));
        assert!(new.is_clean() && !build("aaaa-dirty").is_clean());
        assert_eq!((folder("dev"), folder("release")), ("debug", "release"));
    }
}
