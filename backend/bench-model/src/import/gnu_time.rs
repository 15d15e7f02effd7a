//! `/usr/bin/time -v`: one block of lines a run; blocks may follow each other and the program's own output.

use crate::series::SeriesKey;
use crate::unit::Unit;

use super::{Found, ImportError, Place, Source};

/// The lines of a block that are measurements: text before the value, metric, unit.
const LINES: [(&str, &str, Unit); 13] = [
    ("User time (seconds): ", "user", Unit::CpuSeconds),
    ("System time (seconds): ", "system", Unit::CpuSeconds),
    ("Percent of CPU this job got: ", "cpu", Unit::Percent),
    (
        "Elapsed (wall clock) time (h:mm:ss or m:ss): ",
        "time",
        Unit::Seconds,
    ),
    ("Maximum resident set size (kbytes): ", "max-rss", Unit::Kibibytes),
    (
        "Average resident set size (kbytes): ",
        "average-rss",
        Unit::Kibibytes,
    ),
    ("Major (requiring I/O) page faults: ", "major-faults", Unit::Count),
    (
        "Minor (reclaiming a frame) page faults: ",
        "minor-faults",
        Unit::Count,
    ),
    ("Voluntary context switches: ", "voluntary-switches", Unit::Count),
    (
        "Involuntary context switches: ",
        "involuntary-switches",
        Unit::Count,
    ),
    ("Swaps: ", "swaps", Unit::Count),
    ("File system inputs: ", "inputs", Unit::Count),
    ("File system outputs: ", "outputs", Unit::Count),
];

const FIRST: &str = "Command being timed: ";
const LAST: &str = "Exit status: ";

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let source = found.source;
    let mut command: Option<&str> = None;
    for (number, line) in source.lines() {
        let text = line.trim();
        if let Some(quoted) = text.strip_prefix(FIRST) {
            if command.is_some() {
                return Err(source.error(Place::Line(number), "the rest of the block before", line));
            }
            let bare = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            command = Some(bare.unwrap_or(quoted));
            continue;
        }
        let known = LINES
            .iter()
            .find_map(|(prefix, metric, unit)| Some((text.strip_prefix(prefix)?, *metric, *unit)));
        match (command, known) {
            // A run too short for a share of the processor.
            (Some(_), Some(("?%", ..))) => found.fact(format!("line {number}"), text)?,
            (Some(command), Some((value, metric, unit))) => {
                let number_of = value_of(source, number, metric, value)?;
                found.sample(SeriesKey::new(command, metric, unit), number_of, || {
                    Place::Line(number)
                })?;
            }
            _ if text.is_empty() => {}
            _ => found.fact(format!("line {number}"), text)?,
        }
        // The status is the last line of a block.
        if text.starts_with(LAST) {
            command = None;
        }
    }
    match command {
        Some(command) => Err(source.error(Place::End, "Exit status", command)),
        None => Ok(()),
    }
}

fn value_of(source: &Source<'_>, line: usize, metric: &str, text: &str) -> Result<f64, ImportError> {
    let fail = |expected: &str| source.error(Place::Line(line), expected, text);
    let plain = |text: &str| text.parse::<f64>().map_err(|_| fail("a number"));
    match metric {
        "cpu" => plain(text.trim_end_matches('%')),
        "time" => {
            let parts: Vec<&str> = text.split(':').take(4).collect();
            if !(2..=3).contains(&parts.len()) {
                return Err(fail("h:mm:ss or m:ss"));
            }
            parts.iter().try_fold(0.0, |sum, part| {
                let value = plain(part)?;
                if value < 0.0 {
                    return Err(fail("a time of at least 0"));
                }
                Ok(sum * 60.0 + value)
            })
        }
        _ => plain(text),
    }
}
