//! `make test`: everything CI checks. Every step runs even if an earlier one failed, so that one run tells all;
//! the last line adds up the tests of all runners.

mod benchstat;
mod counts;
mod steps;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::clock::Stopwatch;
use crate::repo::Repo;
use crate::setup::{self, Purpose};
use crate::{tidy, web};
use counts::Counts;

/// Which part of the tests to run.
#[derive(Args)]
pub(crate) struct TestArgs {
    /// Only these steps; all of them if none is named
    #[arg(value_enum)]
    only: Vec<Step>,
}

/// One step; those that are no test runner count as one test.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
enum Step {
    /// The rules no compiler knows
    Tidy,
    /// Formatting
    Fmt,
    /// Lints, warnings are errors
    Clippy,
    /// The page's bundle
    Web,
    /// Unit and integration tests of all crates
    Cargo,
    /// Playwright in Chromium against the real server
    E2e,
    /// A PBS client that is not ours
    Proxmoxer,
    /// Go's benchstat on our export
    Benchstat,
}

/// Runs the steps and prints the closing lines.
pub(crate) fn run(repo: &Repo, args: &TestArgs) -> Result<()> {
    let clock = Stopwatch::start();
    setup::run(repo, Purpose::Test)?;
    let mut total = Counts::default();
    let mut report = Vec::new();
    for &step in Step::value_variants()
        .iter()
        .filter(|step| args.only.is_empty() || args.only.contains(step))
    {
        println!("\n== {step:?} ==");
        let clock = Stopwatch::start();
        let counts = perform(repo, step).unwrap_or_else(|error| {
            println!("{step:?}: {error:#}");
            Counts::one_failed()
        });
        report.push(format!(
            "{:<10} {counts}, {:.0} s",
            format!("{step:?}").to_lowercase(),
            clock.elapsed().as_secs_f64()
        ));
        total += counts;
    }
    println!("\n== after {:.0} s ==", clock.elapsed().as_secs_f64());
    for line in report {
        println!("{line}");
    }
    println!("{total}");
    if total.failed > 0 {
        bail!("{} failed", total.failed);
    }
    Ok(())
}

fn perform(repo: &Repo, step: Step) -> Result<Counts> {
    match step {
        Step::Tidy => tidy::run(repo).map(|()| Counts::one_passed()),
        Step::Fmt => steps::fmt(repo),
        Step::Clippy => steps::clippy(repo),
        Step::Web => web::run(repo, false).map(|()| Counts::one_passed()),
        Step::Cargo => steps::cargo(repo),
        Step::E2e => steps::playwright(repo),
        Step::Proxmoxer => steps::proxmoxer(repo),
        Step::Benchstat => benchstat::benchstat(repo),
    }
}
