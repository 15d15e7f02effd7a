//! Running other programs, loudly: what is run is printed, and a failure names the whole command.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The command as a person would type it.
pub(crate) fn display(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command with our standard streams and fails unless it exits with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", display(command));
    let status = command
        .status()
        .with_context(|| format!("could not start `{}`", display(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", display(command));
    }
    Ok(())
}

/// Runs a command whose standard output is shown and handed over line by line; `Ok(false)` means it ran
/// and ended with another code than 0.
pub(crate) fn run_watched(command: &mut Command, mut each_line: impl FnMut(&str)) -> Result<bool> {
    println!("$ {}", display(command));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start `{}`", display(command)))?;
    if let Some(stdout) = child.stdout.take() {
        let mut out = std::io::stdout();
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.with_context(|| format!("reading the output of `{}`", display(command)))?;
            let line = String::from_utf8_lossy(&line);
            writeln!(out, "{line}")?;
            each_line(&line);
        }
    }
    Ok(child
        .wait()
        .with_context(|| format!("waiting for `{}`", display(command)))?
        .success())
}

/// Runs a command and returns its standard output; what it says on standard error is shown only in the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("could not start `{}`", display(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` ended with {}: {}",
            display(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of `{}` is not UTF-8", display(command)))
}
