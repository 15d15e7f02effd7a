//! `go test -bench`: golang.org/design/14313-benchmark-format.

use std::collections::BTreeMap;

use crate::series::SeriesKey;
use crate::unit::{Direction, Unit};

use super::{Found, ImportError, Place};

/// Names for Go's own units; any other is `metric-unit`, such as `p99-ns/op`.
const OWN_UNITS: [(&str, &str); 5] = [
    ("ns/op", "time"),
    ("sec/op", "time"),
    ("B/op", "memory"),
    ("allocs/op", "allocations"),
    ("MB/s", "throughput"),
];

/// Words of a line at most.
const MAX_WORDS: usize = 1000;

/// Configuration that describes the machine, not what was measured.
const MACHINE: [&str; 3] = ["goos", "goarch", "cpu"];

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let source = found.source;
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    let mut directions: BTreeMap<&str, Direction> = BTreeMap::new();
    let mut machine: [&str; 3] = Default::default();
    for (number, line) in source.lines() {
        let place = Place::Line(number);
        let words: Vec<&str> = line.split_whitespace().take(MAX_WORDS + 1).collect();
        match words.as_slice() {
            ["Unit", unit, settings @ ..] => {
                for better in settings
                    .iter()
                    .filter_map(|setting| setting.strip_prefix("better="))
                {
                    let direction = better
                        .parse()
                        .map_err(|_| source.error(place.clone(), "better=lower or better=higher", better))?;
                    directions.insert(unit, direction);
                }
                found.fact(format!("line {number}"), line)?;
            }
            // A name without numbers is what `-v` prints before the result.
            [name, iterations, measurements @ ..] if is_benchmark(name) && !measurements.is_empty() => {
                if words.len() > MAX_WORDS {
                    return Err(source.error(place, format!("at most {MAX_WORDS} words"), "more"));
                }
                if iterations.parse::<u64>().is_err() {
                    return Err(source.error(place, "a number of iterations", iterations));
                }
                let mut key = key_of(name, &parameters);
                key.machine_class = class_of(machine);
                for pair in measurements.chunks(2) {
                    let [value, unit] = pair else {
                        return Err(source.error(place, "pairs of value and unit", line));
                    };
                    measurement(found, &key, &directions, value, unit, &place)?;
                }
                found.fact(format!("line {number} iterations"), *iterations)?;
            }
            _ => {
                if let Some((name, value)) = configuration(line) {
                    match MACHINE
                        .iter()
                        .zip(&mut machine)
                        .find(|(known, _)| **known == name)
                    {
                        Some((_, slot)) => *slot = value,
                        None => {
                            parameters.insert(name.to_owned(), value.to_owned());
                        }
                    }
                }
                if !line.trim().is_empty() {
                    found.fact(format!("line {number}"), line)?;
                }
            }
        }
    }
    Ok(())
}

/// The processor and what it runs, as far as the file says it: `AMD EPYC 7B13, linux/amd64`.
fn class_of([system, architecture, processor]: [&str; 3]) -> String {
    let platform = [system, architecture].map(|part| if part.is_empty() { "?" } else { part });
    match (processor, platform) {
        ("", ["?", "?"]) => String::new(),
        ("", platform) => platform.join("/"),
        (processor, ["?", "?"]) => processor.to_owned(),
        (processor, platform) => format!("{processor}, {}", platform.join("/")),
    }
}

fn is_benchmark(name: &str) -> bool {
    name.strip_prefix("Benchmark")
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
}

/// `key: value`, the key in lower case without spaces.
fn configuration(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let starts = name.starts_with(|c: char| c.is_lowercase());
    (starts && !name.contains(|c: char| c.is_whitespace() || c.is_uppercase()))
        .then_some((name, value.trim()))
}

/// `BenchmarkName/key=value/sub-8`: name, parameters by key or by position, processors behind the last hyphen.
fn key_of(name: &str, parameters: &BTreeMap<String, String>) -> SeriesKey {
    let (name, processors) = match name.rsplit_once('-') {
        Some((rest, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (rest, Some(digits))
        }
        _ => (name, None),
    };
    let mut parts = name.split('/');
    let workload = parts.next().unwrap_or_default();
    let mut key = SeriesKey::new(workload, "", Unit::Nanoseconds);
    key.parameters.clone_from(parameters);
    for (position, part) in (1..).zip(parts) {
        key = match part.split_once('=') {
            Some((name, value)) => key.with(name, value),
            None => key.with(format!("sub{position}"), part),
        };
    }
    match processors {
        Some(processors) => key.with("gomaxprocs", processors),
        None => key,
    }
}

fn measurement(
    found: &mut Found<'_>,
    key: &SeriesKey,
    directions: &BTreeMap<&str, Direction>,
    value: &str,
    unit_text: &str,
    place: &Place,
) -> Result<(), ImportError> {
    let number: f64 = value
        .parse()
        .map_err(|_| found.source.error(place.clone(), "a number", value))?;
    let own = OWN_UNITS.iter().find(|(unit, _)| *unit == unit_text);
    let (metric, unit) = match (own, unit_text.rsplit_once('-')) {
        (Some((unit, metric)), _) => (*metric, found.unit(unit, place)?),
        (None, Some((metric, unit))) => (metric, found.unit(unit, place)?),
        (None, None) => (unit_text, found.unit(unit_text, place)?),
    };
    let key = SeriesKey {
        metric: metric.to_owned(),
        unit,
        better: directions.get(unit_text).copied().unwrap_or(unit.better()),
        ..key.clone()
    };
    found.sample(key, number, || place.clone())
}
