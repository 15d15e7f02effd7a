//! `/usr/bin/time -v`: one block of lines a run; blocks may follow each other and the program's own output.

use std::collections::BTreeSet;

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
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (number, line) in source.lines() {
        let text = line.trim();
        if let Some(quoted) = text.strip_prefix(FIRST) {
            if command.is_some() {
                return Err(source.error(Place::Line(number), "the rest of the block before", line));
            }
            let bare = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            command = Some(bare.unwrap_or(quoted));
            seen.clear();
            continue;
        }
        let known = LINES
            .iter()
            .find_map(|(prefix, metric, unit)| Some((text.strip_prefix(prefix)?, *metric, *unit)));
        if command.is_some()
            && let Some((_, metric, _)) = known
            && !seen.insert(metric)
        {
            return Err(source.error(Place::Line(number), "every line once in a block", line));
        }
        match (command, known) {
            // A run too short for a share of the processor.
            (Some(_), Some(("?%", "cpu", _))) => found.fact(format!("line {number}"), text)?,
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
    // Digits and a point: what Rust reads as well, such as `1e3` or `inf`, GNU time does not write.
    let plain = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = text.parse::<f64>().ok().filter(|_| is_number);
        number.ok_or_else(|| fail("a number of at least 0"))
    };
    match metric {
        "cpu" => plain(
            text.strip_suffix('%')
                .ok_or_else(|| fail("a share such as 97%, or ?%"))?,
        ),
        "time" => {
            let parts: Vec<&str> = text.split(':').take(4).collect();
            if !(2..=3).contains(&parts.len()) {
                return Err(fail("h:mm:ss or m:ss"));
            }
            parts.iter().enumerate().try_fold(0.0, |sum, (at, part)| {
                let value = plain(part)?;
                if at > 0 && value >= 60.0 {
                    return Err(fail("h:mm:ss or m:ss with minutes and seconds below 60"));
                }
                Ok(sum * 60.0 + value)
            })
        }
        _ => plain(text),
    }
}

#[cfg(test)]
mod tests {
    use crate::import::{Content, Format, import};

    fn block(elapsed: &str, cpu: &str, rest: &str) -> String {
        format!(
            "Command being timed: \"x\"\nElapsed (wall clock) time (h:mm:ss or m:ss): {elapsed}\n\
             Percent of CPU this job got: {cpu}\n{rest}Exit status: 0\n"
        )
    }

    fn error(text: &str) -> String {
        let error = import("t.txt", text.as_bytes(), Some(Format::GnuTime)).unwrap_err();
        error.to_string()
    }

    #[test]
    fn times_are_times() {
        let read = |elapsed: &str| {
            let imported = import("t", block(elapsed, "?%", "").as_bytes(), Some(Format::GnuTime)).unwrap();
            let Content::Series(series) = imported.content else {
                panic!("{elapsed}");
            };
            assert_eq!(series.len(), 1, "a share of ?% is none");
            series[0].values.clone()
        };
        assert_eq!(read("1:59:59"), [7199.0]);
        assert_eq!(read("90:00.25"), [5400.25]);
        for (elapsed, expected) in [
            ("1:60:99", "minutes and seconds below 60, found `1:60:99`"),
            ("0:61.00", "minutes and seconds below 60"),
            ("0:-1.00", "a number of at least 0, found `0:-1.00`"),
            ("0:1e3", "a number of at least 0"),
            ("0:inf", "a number of at least 0"),
            ("1:0:0:0", "h:mm:ss or m:ss"),
            ("5", "h:mm:ss or m:ss"),
        ] {
            let error = error(&block(elapsed, "?%", ""));
            assert!(
                error.starts_with("import t.txt, line 2: expected ") && error.contains(expected),
                "{error}"
            );
        }
    }

    #[test]
    fn shares_and_lines_that_are_none() {
        for cpu in ["12", "%", "12%%", "-3%", "??%"] {
            assert!(
                error(&block("0:01.00", cpu, "")).starts_with("import t.txt, line 3: "),
                "{cpu}"
            );
        }
        for rest in ["Swaps: ?%\n", "Swaps: -1\n", "Percent of CPU this job got: 5%\n"] {
            let error = error(&block("0:01.00", "5%", rest));
            assert!(error.starts_with("import t.txt, line 4: "), "{error}");
        }
    }
}
