//! The log of `qmrestore` from a Proxmox Backup Server (proxmox-backup-qemu, `pbs-restore`).
//!
//! Each image has lines of progress and one at its end. Its `MB/s` are 1024^2 bytes per second.

use crate::series::SeriesKey;
use crate::unit::Unit;

use super::{Found, ImportError, Place};

const DONE: &str = "restore image complete (";
const PROGRESS: &str = "progress ";

/// The fields of the last line: text before `=`, metric, unit, suffix of the value. A newer version has them all.
const FIELDS: [(&str, &str, Unit, &str); 6] = [
    ("bytes", "bytes", Unit::Bytes, ""),
    ("duration", "time", Unit::Seconds, "s"),
    ("speed", "throughput", Unit::MebibytesPerSecond, "MB/s"),
    ("avg fetch time", "fetch-time", Unit::Milliseconds, "ms"),
    (
        "avg time per nonzero write",
        "write-time",
        Unit::Milliseconds,
        "ms",
    ),
    (
        "storage nonzero total write time",
        "storage-write-time",
        Unit::Seconds,
        "s",
    ),
];

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let source = found.source;
    let mut images = 0;
    let mut name: Option<&str> = None;
    let mut open = false;
    for (number, line) in source.lines() {
        let text = line.trim();
        let image = |images: i32, name: Option<&str>| {
            let key = SeriesKey::new("qmrestore", "", Unit::Bytes).with("number", images.to_string());
            match name {
                Some(name) => key.with("image", name),
                None => key,
            }
        };
        if let Some(at) = text.find(DONE) {
            images += 1;
            let rest = text.get(at + DONE.len()..).unwrap_or_default();
            done(found, &image(images, name), rest, number)?;
            (open, name) = (false, None);
        } else if let Some(rest) = text.strip_prefix(PROGRESS) {
            open = true;
            progress(found, &image(images + 1, name), rest, number)?;
        } else if !text.is_empty() {
            // The command line names the image.
            name = text
                .split_whitespace()
                .find(|word| word.ends_with(".img.fidx"))
                .or(name);
            found.fact(format!("line {number}"), text)?;
        }
    }
    if open {
        return Err(source.error(Place::End, "restore image complete", "progress only"));
    }
    Ok(())
}

fn done(found: &mut Found<'_>, key: &SeriesKey, rest: &str, line: usize) -> Result<(), ImportError> {
    let place = Place::Line(line);
    let inner = rest
        .strip_suffix(')')
        .ok_or_else(|| found.source.error(place.clone(), "a closing bracket", rest))?;
    let mut seen = 0;
    for part in inner.split(", ") {
        let known = part.split_once('=').and_then(|(name, value)| {
            let field = FIELDS.iter().find(|(known, ..)| *known == name)?;
            Some((field, value))
        });
        let Some((&(_, metric, unit, suffix), value)) = known else {
            return Err(found.source.error(place, "bytes=, duration= or speed=", part));
        };
        let number = value
            .strip_suffix(suffix)
            .and_then(|digits| digits.parse::<f64>().ok())
            .ok_or_else(|| {
                found
                    .source
                    .error(place.clone(), format!("a number with `{suffix}`"), value)
            })?;
        // No non-zero chunk at all: the averages are 0 / 0, as the program prints them.
        if number.is_nan() && metric.ends_with("-time") {
            found.fact(format!("line {line} {metric}"), value)?;
            continue;
        }
        let key = SeriesKey {
            metric: metric.to_owned(),
            unit,
            better: unit.better(),
            ..key.clone()
        };
        found.sample(key, number, || place.clone())?;
        seen += usize::from(matches!(metric, "bytes" | "time" | "throughput"));
    }
    if seen < 3 {
        return Err(found.source.error(place, "bytes, duration and speed", inner));
    }
    Ok(())
}

/// `12% (read 503316480 bytes, zeroes = 40% (201326592 bytes), duration 3 sec)`; zeroes and more may be missing.
fn progress(found: &mut Found<'_>, key: &SeriesKey, rest: &str, line: usize) -> Result<(), ImportError> {
    let place = Place::Line(line);
    let between = |start: &str, end: &str| {
        let from = rest.split_once(start)?.1;
        from.split_once(end)?.0.parse::<f64>().ok()
    };
    let read = between("(read ", " bytes");
    let duration = between("duration ", " sec)");
    let (Some(read), Some(duration)) = (read, duration) else {
        return Err(found
            .source
            .error(place, "N% (read N bytes, …, duration N sec)", rest));
    };
    let zeroes = rest.split_once("zeroes = ").and_then(|(_, rest)| {
        let (_, inner) = rest.split_once('(')?;
        inner.split_once(" bytes)")?.0.parse::<f64>().ok()
    });
    for (metric, unit, value) in [
        ("progress-bytes", Unit::Bytes, Some(read)),
        ("progress-time", Unit::Seconds, Some(duration)),
        ("progress-zeroes", Unit::Bytes, zeroes),
        ("progress-writes", Unit::Count, between("nonzero writes = ", ",")),
        ("progress-chunks", Unit::Count, between("chunks fetched = ", ",")),
    ] {
        if let Some(value) = value {
            let key = SeriesKey {
                metric: metric.to_owned(),
                unit,
                better: unit.better(),
                ..key.clone()
            };
            found.sample(key, value, || place.clone())?;
        }
    }
    Ok(())
}
