//! What a file looks like, by words that only its format has.

use crate::export::{CSV_MAGIC, GO_MAGIC, JSON_FORMAT};

use super::Format;

/// How much of a file is looked at.
const HEAD: usize = 64 << 10;

/// The format that `bytes` look like. `None` when nothing fits, and for files of github-action-benchmark: they do
/// not say which way is better, so their format has to be named.
pub fn sniff(bytes: &[u8]) -> Option<Format> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let head = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    let text = head.trim_start();
    if text.starts_with(CSV_MAGIC) {
        return Some(Format::OwnCsv);
    }
    if text.starts_with(GO_MAGIC) {
        return Some(Format::GoBench);
    }
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    if text.starts_with('[') {
        return None;
    }
    // fio may print notes before its document.
    if has(&["\"fio version\"", "\"jobs\""]) {
        return Some(Format::Fio);
    }
    // perf begins with the time of the run in a comment.
    if has(&["\"counter-value\"", "\"event\""]) {
        return Some(Format::PerfStat);
    }
    if text.starts_with('{') {
        let own = format!("\"{JSON_FORMAT}\"");
        let known = [
            (has(&["\"format\"", &own]), Format::OwnJson),
            (has(&["\"reason\"", "-complete\""]), Format::Criterion),
            (
                has(&["\"results\"", "\"command\"", "\"mean\""]),
                Format::Hyperfine,
            ),
            (has(&["\"sha256\"", "\"compress\"", "\"top\""]), Format::PbsClient),
            (has(&["\"value\""]), Format::Bencher),
        ];
        return known.iter().find(|(fits, _)| *fits).map(|(_, format)| *format);
    }
    if has(&["Command being timed:"]) {
        return Some(Format::GnuTime);
    }
    if has(&["restore image complete (bytes="]) || has(&["progress ", "% (read ", " bytes"]) {
        return Some(Format::Qmrestore);
    }
    if text.lines().any(is_go_line) {
        return Some(Format::GoBench);
    }
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(20)
        .peekable();
    let folded = lines.peek().is_some() && lines.all(is_folded_line);
    folded.then_some(Format::Folded)
}

fn is_go_line(line: &str) -> bool {
    line.strip_prefix("Benchmark").is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_lowercase()) && rest.split_whitespace().count() >= 4
    })
}

fn is_folded_line(line: &str) -> bool {
    line.rsplit_once(' ').is_some_and(|(stack, count)| {
        !stack.is_empty() && !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit())
    })
}
