//! Writing to stdout and stderr. A reader that went away (`fleethold ls | head`) is no error.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;

use super::exit::{CliResult, Failure};

/// Writes text to stdout, as lines. What would steer a terminal is escaped: names come from files of strangers.
pub(super) fn line(text: &str) -> CliResult<()> {
    bare(&tame(text))
}

/// Writes a text that a program reads. What would steer a terminal is escaped when it goes to one.
pub(super) fn data(text: &str) -> CliResult<()> {
    if io::stdout().is_terminal() {
        line(text)
    } else {
        bare(text)
    }
}

fn bare(text: &str) -> CliResult<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to stdout").into())
        }
        _ => Ok(()),
    }
}

/// Writes one object as one line to stdout. What would steer a terminal is escaped as JSON has it.
pub(super) fn json(value: &impl Serialize) -> CliResult<()> {
    json_text(&serde_json::to_string(value)?)
}

/// Writes JSON to stdout as [`json`] does.
pub(super) fn json_text(text: &str) -> CliResult<()> {
    bare(&escaped(text, json_escape))
}

/// Only texts hold characters that steer, and all of them are of the basic plane.
fn json_escape(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

/// Writes one line to stderr, as [`line`] does. Nobody can be told when that fails.
pub(super) fn note(text: &str) {
    let _unheard = writeln!(io::stderr().lock(), "{}", tame(text));
}

/// `text` with what would steer a terminal escaped.
fn tame(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.escape_unicode().to_string())
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for c in text.chars() {
        if steers(c) {
            out.push_str(&escape(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Control characters but for line ends and tabs, and those that turn the direction of what follows.
fn steers(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n' && c != '\t')
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
    fn a_strangers_text_steers_no_terminal() {
        let foreign = "a\u{1b}[2J\u{7}\u{9b}1m\u{202e}b\r\tc\nd\u{e4}";
        assert_eq!(
            tame(foreign),
            "a\\u{1b}[2J\\u{7}\\u{9b}1m\\u{202e}b\\u{d}\tc\nd\u{e4}"
        );
        assert!(matches!(tame("plain \u{e4}\n"), Cow::Borrowed(_)));
        let text = serde_json::to_string(foreign).unwrap();
        let json = escaped(&text, json_escape);
        assert!(!json.contains(steers), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), foreign);
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
