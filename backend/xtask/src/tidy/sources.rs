//! Rules about the text of tracked files: length, left-over notes, names of places outside the project.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Finding;
use crate::repo::Repo;

/// Above this, a file has a second subject.
const MAX_LINES: usize = 500;

/// Source in the sense of the length rule.
const SOURCE_EXTENSIONS: [&str; 7] = ["rs", "ts", "js", "mjs", "css", "py", "sql"];

/// Longer files, each with the reason why it is one subject all the same.
const LONG_FILES: [(&str, &str); 1] = [(
    "frontend/static/app.css",
    "the page's one hand-written sheet: its layers share tokens and are read together",
)];

/// Notes that say a file is not finished. Written in halves: this file is tracked, too.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Places that exist on a developer's machine and in no checkout.
const FOREIGN_PLACES: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("../", "shared"),
    concat!("/fa", "rm/"),
];

/// Reads every tracked text file and applies the rules.
pub(crate) fn check(repo: &Repo, files: &[PathBuf]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files {
        let bytes = std::fs::read(repo.path(path)).with_context(|| format!("reading {}", path.display()))?;
        // Archives, images and lock files are nobody's prose.
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        findings.extend(check_text(path, text));
    }
    Ok(findings)
}

fn check_text(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let source = path
        .extension()
        .is_some_and(|ext| SOURCE_EXTENSIONS.iter().any(|known| ext == *known));
    if source {
        findings.extend(check_length(path, text.lines().count()));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let place = || format!("{}:{number}", path.display());
        if let Some(note) = NOTES.iter().find(|note| source && has_word(line, note)) {
            findings.push(Finding::new(
                place(),
                format!("{note}: finish it, or write an issue"),
            ));
        }
        if let Some(name) = FOREIGN_PLACES.iter().find(|name| line.contains(*name)) {
            findings.push(Finding::new(
                place(),
                format!("names {name}, which is no part of the project"),
            ));
        }
    }
    findings
}

fn check_length(path: &Path, lines: usize) -> Option<Finding> {
    let listed = LONG_FILES.iter().find(|(name, _)| path == Path::new(name));
    match (lines > MAX_LINES, listed) {
        (true, None) => Some(Finding::new(
            path.display(),
            format!("{lines} lines, more than {MAX_LINES}: what is the second subject?"),
        )),
        (false, Some(_)) => Some(Finding::new(
            path.display(),
            "listed as a long file, but it is not long any more; take it off the list",
        )),
        _ => None,
    }
}

/// Whether `word` stands in `line` with no letter, digit or underscore beside it.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check_text(Path::new(path), text)
            .iter()
            .map(Finding::to_string)
            .collect()
    }

    #[test]
    fn a_left_over_note_is_found_with_its_line() {
        for note in NOTES {
            let found = findings("backend/a.rs", &format!("fn a() {{}}\n// {note}: later\n"));
            assert_eq!(found.len(), 1, "{note}");
            assert!(found[0].starts_with("backend/a.rs:2: "), "{}", found[0]);
        }
    }

    #[test]
    fn a_word_inside_another_is_no_note() {
        assert_eq!(
            findings("a.rs", concat!("let MASTO", "DON = \".", "XX", "XX", ".part\";")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_foreign_place_is_found_in_any_text() {
        for place in FOREIGN_PLACES {
            assert_eq!(
                findings("README.md", &format!("see {place}x")).len(),
                1,
                "{place}"
            );
        }
    }

    #[test]
    fn a_long_source_needs_a_reason_and_a_reason_needs_a_long_source() {
        let long = "x\n".repeat(MAX_LINES + 1);
        assert_eq!(findings("backend/a.rs", &long).len(), 1);
        assert_eq!(findings("backend/a.rs", &"x\n".repeat(MAX_LINES)).len(), 0);
        assert_eq!(findings("CHANGELOG.md", &long).len(), 0);
        assert_eq!(findings(LONG_FILES[0].0, &long).len(), 0);
        assert_eq!(findings(LONG_FILES[0].0, "x\n").len(), 1);
    }
}
