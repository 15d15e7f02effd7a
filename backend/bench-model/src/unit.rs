//! The closed list of units: each with its name on the wire, its dimension, its better direction and its scale.
//!
//! A number without a unit of this list is refused, never guessed: a verdict needs to know which way is better.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::{quote, significant};

/// Which way a number of a metric has to move to be an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A smaller number is an improvement, as for times.
    Lower,
    /// A larger number is an improvement, as for throughput.
    Higher,
}

impl Direction {
    /// The word on the wire: `lower` or `higher`, as in Go's `better=`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Direction {
    type Err = UnknownDirection;

    fn from_str(text: &str) -> Result<Self, UnknownDirection> {
        match text {
            "lower" => Ok(Self::Lower),
            "higher" => Ok(Self::Higher),
            _ => Err(UnknownDirection { found: quote(text) }),
        }
    }
}

/// A text that is neither `lower` nor `higher`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("better direction `{found}`: expected `lower` or `higher`")]
pub struct UnknownDirection {
    /// What stood there, shortened.
    pub found: String,
}

/// What a unit measures. Numbers of one dimension can be converted into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dimension {
    /// Time on the wall; base second.
    Time,
    /// Time of processors, user and system; base second.
    CpuTime,
    /// Amount of data; base byte.
    Size,
    /// Data per second; base byte per second.
    Throughput,
    /// Events per second; base one per second.
    Rate,
    /// Processor cycles.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Things counted: system calls, faults, context switches.
    Count,
    /// A share or a quotient; base one.
    Ratio,
    /// Energy; base joule.
    Energy,
}

macro_rules! units {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $dimension:ident, $scale:expr, $better:ident;)+) => {
        /// One unit of the closed list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Unit { $($(#[$doc])* $variant,)+ }

        impl Unit {
            /// Every unit, in the order of the list.
            pub const ALL: &[Unit] = &[$(Unit::$variant,)+];

            /// The name on the wire and in files: ASCII, without spaces.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it measures.
            pub fn dimension(self) -> Dimension {
                match self { $(Self::$variant => Dimension::$dimension,)+ }
            }

            /// How many base units of the dimension one of it is.
            pub fn scale(self) -> f64 {
                match self { $(Self::$variant => $scale,)+ }
            }

            /// Which way is an improvement unless the metric says otherwise.
            pub fn better(self) -> Direction {
                match self { $(Self::$variant => Direction::$better,)+ }
            }
        }
    };
}

units! {
    /// Seconds on the wall.
    Seconds = "s", Time, 1.0, Lower;
    /// Thousandths of a second on the wall.
    Milliseconds = "ms", Time, 1e-3, Lower;
    /// Millionths of a second on the wall.
    Microseconds = "us", Time, 1e-6, Lower;
    /// Billionths of a second on the wall.
    Nanoseconds = "ns", Time, 1e-9, Lower;
    /// Seconds of processor time.
    CpuSeconds = "cpu-s", CpuTime, 1.0, Lower;
    /// Thousandths of a second of processor time.
    CpuMilliseconds = "cpu-ms", CpuTime, 1e-3, Lower;
    /// Bytes.
    Bytes = "B", Size, 1.0, Lower;
    /// 1024 bytes.
    Kibibytes = "KiB", Size, 1024.0, Lower;
    /// 1024^2 bytes.
    Mebibytes = "MiB", Size, 1_048_576.0, Lower;
    /// Bytes per second.
    BytesPerSecond = "B/s", Throughput, 1.0, Higher;
    /// 1024 bytes per second.
    KibibytesPerSecond = "KiB/s", Throughput, 1024.0, Higher;
    /// 10^6 bytes per second, as Go's `testing` writes.
    MegabytesPerSecond = "MB/s", Throughput, 1e6, Higher;
    /// 1024^2 bytes per second.
    MebibytesPerSecond = "MiB/s", Throughput, 1_048_576.0, Higher;
    /// Requests per second.
    RequestsPerSecond = "req/s", Rate, 1.0, Higher;
    /// Operations per second.
    OperationsPerSecond = "ops/s", Rate, 1.0, Higher;
    /// Processor cycles.
    Cycles = "cycles", Cycles, 1.0, Lower;
    /// Instructions retired.
    Instructions = "instructions", Instructions, 1.0, Lower;
    /// A number of things.
    Count = "count", Count, 1.0, Lower;
    /// A number of allocations, as Go's `testing` writes.
    Allocations = "allocs", Count, 1.0, Lower;
    /// A quotient or a share of one.
    Ratio = "ratio", Ratio, 1.0, Lower;
    /// A share of a hundred.
    Percent = "%", Ratio, 0.01, Lower;
    /// Joules, as the energy counters of `perf` write.
    Joules = "J", Energy, 1.0, Lower;
}

/// Other spellings that the tools we import from use for units of the list.
const ALIASES: [(&str, Unit); 24] = [
    ("sec", Unit::Seconds),
    ("secs", Unit::Seconds),
    ("second", Unit::Seconds),
    ("seconds", Unit::Seconds),
    ("msec", Unit::Milliseconds),
    ("usec", Unit::Microseconds),
    ("\u{b5}s", Unit::Microseconds),
    ("\u{3bc}s", Unit::Microseconds),
    ("nsec", Unit::Nanoseconds),
    ("nanoseconds", Unit::Nanoseconds),
    ("bytes", Unit::Bytes),
    ("byte", Unit::Bytes),
    ("KB/s", Unit::KibibytesPerSecond),
    ("rps", Unit::RequestsPerSecond),
    ("requests/s", Unit::RequestsPerSecond),
    ("requests/sec", Unit::RequestsPerSecond),
    ("op/s", Unit::OperationsPerSecond),
    ("ops/sec", Unit::OperationsPerSecond),
    ("IOPS", Unit::OperationsPerSecond),
    ("iops", Unit::OperationsPerSecond),
    ("percent", Unit::Percent),
    ("Percent", Unit::Percent),
    ("Joules", Unit::Joules),
    ("", Unit::Count),
];

/// A text that is no unit of the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unit `{found}`: expected one of the closed list (s, ms, us, ns, cpu-s, B, KiB, MiB, B/s, MiB/s, req/s, …)"
)]
pub struct UnknownUnit {
    /// What stood there, shortened.
    pub found: String,
}

impl Unit {
    /// The unit of a name on the wire; other spellings are not accepted.
    ///
    /// # Errors
    /// [`UnknownUnit`].
    pub fn from_name(text: &str) -> Result<Self, UnknownUnit> {
        Self::ALL
            .iter()
            .copied()
            .find(|unit| unit.name() == text)
            .ok_or_else(|| UnknownUnit { found: quote(text) })
    }

    /// The unit that another tool means: names on the wire, the tools' own spellings, each also per operation or
    /// per iteration (`ns/op`, `ns/iter`).
    ///
    /// # Errors
    /// [`UnknownUnit`].
    pub fn from_foreign(text: &str) -> Result<Self, UnknownUnit> {
        let text = text.trim();
        let bare = ["/op", "/iter", "/iteration"]
            .into_iter()
            .find_map(|end| text.strip_suffix(end))
            .unwrap_or(text);
        Self::from_name(bare).or_else(|_| {
            let known = ALIASES.iter().find(|(name, _)| *name == bare);
            // The text as the file has it, not as it was shortened for the look-up.
            known
                .map(|(_, unit)| *unit)
                .ok_or_else(|| UnknownUnit { found: quote(text) })
        })
    }

    /// Whether it is a time on the wall, or so much a time: what a busy machine spoils.
    pub fn is_wall_time(self) -> bool {
        matches!(
            self.dimension(),
            Dimension::Time | Dimension::Throughput | Dimension::Rate
        )
    }

    /// `value` of this unit in `to`; `None` when the dimensions differ.
    pub fn convert(self, value: f64, to: Self) -> Option<f64> {
        (self.dimension() == to.dimension()).then(|| {
            if self == to {
                value
            } else {
                value * self.scale() / to.scale()
            }
        })
    }

    /// `value` for people, ASCII, four significant digits, scaled within its dimension: `1.234 ms`, `81.5 MiB`.
    pub fn human(self, value: f64) -> String {
        let base = value * self.scale();
        let steps: &[(f64, &str)] = match self.dimension() {
            Dimension::Time => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")],
            Dimension::CpuTime => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")],
            Dimension::Size => &[
                (1_073_741_824.0, "GiB"),
                (1_048_576.0, "MiB"),
                (1024.0, "KiB"),
                (1.0, "B"),
            ],
            Dimension::Throughput => &[
                (1_073_741_824.0, "GiB/s"),
                (1_048_576.0, "MiB/s"),
                (1024.0, "KiB/s"),
                (1.0, "B/s"),
            ],
            Dimension::Rate => &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")],
            Dimension::Cycles | Dimension::Instructions | Dimension::Count => {
                &[(1e9, "G"), (1e6, "M"), (1.0, "")]
            }
            Dimension::Ratio | Dimension::Energy => {
                return format!("{} {}", significant(value, 4), self.name());
            }
        };
        // Zero has no scale of its own: it is written in the smallest step.
        let (factor, name) = steps
            .iter()
            .find(|(factor, _)| base.abs() >= *factor)
            .or(steps.last())
            .copied()
            .unwrap_or((1.0, ""));
        let number = significant(base / factor, 4);
        if name.is_empty() {
            number
        } else {
            format!("{number} {name}")
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Unit {
    type Err = UnknownUnit;

    fn from_str(text: &str) -> Result<Self, UnknownUnit> {
        Self::from_name(text)
    }
}

crate::text::via_text!(Unit);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_ascii_words_and_read_back() {
        for (at, unit) in Unit::ALL.iter().enumerate() {
            assert_eq!(Unit::from_name(unit.name()), Ok(*unit));
            assert_eq!(Unit::from_foreign(unit.name()), Ok(*unit));
            assert!(unit.name().bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(
                Unit::ALL[at + 1..]
                    .iter()
                    .all(|other| other.name() != unit.name())
            );
        }
    }

    #[test]
    fn the_spellings_of_other_tools() {
        assert_eq!(Unit::from_foreign("ns/op"), Ok(Unit::Nanoseconds));
        assert_eq!(Unit::from_foreign("sec/op"), Ok(Unit::Seconds));
        assert_eq!(Unit::from_foreign("allocs/op"), Ok(Unit::Allocations));
        assert_eq!(Unit::from_foreign("msec"), Ok(Unit::Milliseconds));
        let error = Unit::from_foreign("furlongs/op").unwrap_err();
        assert!(
            error.to_string().starts_with("unit `furlongs/op`: expected"),
            "{error}"
        );
    }

    #[test]
    fn conversion_stays_in_its_dimension() {
        assert_eq!(Unit::Mebibytes.convert(2.0, Unit::Bytes), Some(2_097_152.0));
        assert_eq!(Unit::Seconds.convert(2.0, Unit::CpuSeconds), None);
        assert_eq!(Unit::Bytes.convert(0.1, Unit::Bytes), Some(0.1));
    }

    #[test]
    fn human_numbers() {
        for (unit, value, text) in [
            (Unit::Seconds, 0.001_234_5, "1.234 ms"),
            (Unit::Nanoseconds, 45.0, "45 ns"),
            (Unit::Seconds, 0.0, "0 ns"),
            (Unit::Bytes, 85_458_944.0, "81.5 MiB"),
            (Unit::MebibytesPerSecond, 512.25, "512.2 MiB/s"),
            (Unit::RequestsPerSecond, 123_456.0, "123.5 k/s"),
            (Unit::Count, 1000.0, "1000"),
            (Unit::Percent, 12.5, "12.5 %"),
        ] {
            assert_eq!(unit.human(value), text);
        }
    }
}
