//! Writing to stdout and stderr. A reader that went away (`fleethold ls | head`) is no error.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use super::exit::{CliResult, Failure};

/// Writes one line to stdout.
pub(super) fn line(text: &str) -> CliResult<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to stdout").into())
        }
        _ => Ok(()),
    }
}

/// Writes one object as one line to stdout.
pub(super) fn json(value: &impl Serialize) -> CliResult<()> {
    line(&serde_json::to_string(value)?)
}

/// Writes one line to stderr. Nobody can be told when that fails.
pub(super) fn note(text: &str) {
    let _unheard = writeln!(io::stderr().lock(), "{text}");
}

/// Writes an error to stderr as one sentence.
pub(super) fn error(failure: &Failure) {
    note(&format!("fleethold: {}", sentence(&failure.error)));
}

/// An error and its causes, each said once: many of our errors hold their cause in their own text.
pub(super) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if text.is_empty() {
            text = words;
        } else if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
    }
    text
}

/// Lines up columns, two blanks apart; columns in `right` are numbers.
pub(super) fn table(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> Vec<String> {
    let head: Vec<String> = head.iter().map(|&title| title.to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(rows).collect();
    let width = |column: usize| {
        all.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    all.iter()
        .map(|row| {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| {
                    if right.contains(&column) {
                        format!("{cell:>width$}")
                    } else {
                        format!("{cell:<width$}")
                    }
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let io = || io::Error::other("disk on fire");
        let plain = anyhow::Error::new(io()).context("cannot open /x");
        assert_eq!(sentence(&plain), "cannot open /x: disk on fire");
        let own_words = anyhow::Error::new(io()).context("cannot open /x: disk on fire");
        assert_eq!(sentence(&own_words), "cannot open /x: disk on fire");
    }

    #[test]
    fn columns() {
        let rows = [
            vec!["a".to_owned(), "10".to_owned()],
            vec!["long name".to_owned(), "9".to_owned()],
        ];
        assert_eq!(
            table(&["NAME", "N"], &[1], &rows),
            ["NAME        N", "a          10", "long name   9"]
        );
    }
}
