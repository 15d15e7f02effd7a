//! Sizes and durations as people write them: `64MiB`, `20ms`. Shared by the flags, the variables and `fleethold.toml`.

use std::time::Duration;

/// A value on the command line, in a variable or in the configuration file that does not say what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Not a whole number followed by a known unit of size.
    #[error("expected a size such as 1048576, 64MiB or 1GiB, found {found:?}")]
    Size {
        /// The text as given.
        found: String,
    },
    /// Not a number followed by a known unit of time.
    #[error("expected a duration such as 20ms, 1.5s or 2m, found {found:?}")]
    Duration {
        /// The text as given.
        found: String,
    },
    /// The value is well formed but larger than what can be counted.
    #[error("{found:?} is too large")]
    TooLarge {
        /// The text as given.
        found: String,
    },
}

/// Splits `64MiB` into `("64", "MiB")`; blanks around the unit are accepted.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// Reads a decimal such as `12` or `1.5` as an exact multiple of `unit`, rounded down to whole units of one.
///
/// Integer arithmetic throughout: `f64` cannot hold every byte count.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return None;
    }
    let mut total = whole.parse::<u128>().ok()?.checked_mul(unit)?;
    if !fraction.is_empty() {
        let digits = u32::try_from(fraction.len()).ok()?;
        let part = fraction.parse::<u128>().ok()?.checked_mul(unit)?;
        total = total.checked_add(part / 10u128.pow(digits))?;
    }
    Some(total)
}

/// Parses a size in bytes. Units: none or `B`, `KiB` `MiB` `GiB` `TiB` (also `K` `M` `G` `T`), and the decimal `kB` `MB` `GB` `TB`.
///
/// # Errors
/// [`ValueError::Size`] when the text has another form, [`ValueError::TooLarge`] above 2^63 bytes.
pub fn parse_size(text: &str) -> Result<u64, ValueError> {
    let bad = || ValueError::Size {
        found: text.to_owned(),
    };
    let (number, unit) = split_unit(text);
    let unit = match unit {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(bad()),
    };
    if number.is_empty() {
        return Err(bad());
    }
    let bytes = scaled(number, unit).ok_or_else(bad)?;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes <= i64::MAX as u64 => Ok(bytes),
        _ => Err(ValueError::TooLarge {
            found: text.to_owned(),
        }),
    }
}

/// Parses a duration: a number and `ns`, `us`, `ms`, `s`, `m`, `h`; a bare `0` is accepted, any other bare number is not.
///
/// # Errors
/// [`ValueError::Duration`] when the text has another form, [`ValueError::TooLarge`] above 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, ValueError> {
    let bad = || ValueError::Duration {
        found: text.to_owned(),
    };
    let (number, unit) = split_unit(text);
    let unit_ns = match unit {
        "" if number == "0" => 1,
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(bad()),
    };
    let ns = scaled(number, unit_ns).ok_or_else(bad)?;
    let ns = u64::try_from(ns).map_err(|_| ValueError::TooLarge {
        found: text.to_owned(),
    })?;
    Ok(Duration::from_nanos(ns))
}

/// Writes a byte count for people: three significant digits and a binary unit.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    for (name, unit) in UNITS {
        if bytes >= unit {
            let value = bytes as f64 / unit as f64;
            let digits = if value < 10.0 {
                2
            } else if value < 100.0 {
                1
            } else {
                0
            };
            return format!("{value:.digits$} {name}");
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("64MiB", 64 << 20),
            ("64 MiB", 64 << 20),
            ("64M", 64 << 20),
            ("1.5GiB", 3 << 29),
            ("0.1KiB", 102),
            ("4kB", 4000),
            ("1TB", 1_000_000_000_000),
            ("9007199254740993", 9_007_199_254_740_993),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "MiB",
            "-1",
            "64MIB",
            "1e6",
            "1.2.3",
            ".5G",
            "5.",
            "12 monkeys",
            "0x10",
        ] {
            assert!(matches!(parse_size(text), Err(ValueError::Size { .. })), "{text}");
        }
        assert!(matches!(
            parse_size("9000000TiB"),
            Err(ValueError::TooLarge { .. })
        ));
    }

    #[test]
    fn durations() {
        for (text, ns) in [
            ("0", 0),
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("7 us", 7_000),
            ("3h", 10_800_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        for text in ["", "20", "ms", "-1s", "1d", "1s2"] {
            assert!(
                matches!(parse_duration(text), Err(ValueError::Duration { .. })),
                "{text}"
            );
        }
        assert!(matches!(
            parse_duration("99999999999999h"),
            Err(ValueError::TooLarge { .. })
        ));
    }

    #[test]
    fn written_sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (30_015_488, "28.6 MiB"),
            (1 << 30, "1.00 GiB"),
            (200 << 30, "200 GiB"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }
}
