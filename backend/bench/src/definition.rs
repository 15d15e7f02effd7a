//! Workload files: what is measured, on which data, with which knob, and the floors it has to reach.
//!
//! The files of the repository are part of the binary; any other can be given by path.

mod check;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use crate::error::BenchError;
use crate::workloads::Kind;

/// Longest workload file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Metrics that get a verdict unless the file says otherwise: everything else follows from these or is there to be read.
const JUDGED: [&str; 2] = ["time", "cpu"];

/// One workload file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Name of the workload; part of the identity of its series.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Where the question comes from.
    pub source: String,
    /// The code that measures it.
    pub kind: Kind,
    /// What the before side is, in a few words.
    pub before: String,
    /// What the after side is, in a few words.
    pub after: String,
    /// What is swept.
    pub knob: Knob,
    /// What surrounds it.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
    /// The data it works on.
    pub data: DataSpec,
    /// Metrics that get a verdict; the others are shown only.
    #[serde(default = "judged")]
    pub judged: Vec<String>,
    /// A share of a limit that is measured in the same run.
    pub share: Option<Share>,
    /// The short version.
    pub quick: Quick,
    /// What has to be reached.
    #[serde(default, rename = "floor")]
    pub floors: Vec<Floor>,
}

/// The parameter that a sweep changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// Its name, such as `concurrency`.
    pub name: String,
    /// Its values, in the order of the table.
    pub values: Vec<String>,
    /// The value of the control row.
    pub default: String,
}

/// A named set of parameters: hardware and data as far as they can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name in tables.
    pub name: String,
    /// What it stands for.
    pub legend: String,
    /// It has sides of its own, which are shown and not judged.
    #[serde(default)]
    pub aside: bool,
    /// Values of the knob that make sense here; all when it is absent.
    pub values: Option<Vec<String>>,
    /// Parameters of the workload's code.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// A figure made of two others: how much of what can be reached was reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Name of the metric that is made: a quotient, and more is better.
    pub metric: String,
    /// The metric that is divided, and by which.
    pub of: String,
    /// The scenario whose after side is the limit. It has one field, and no share of its own.
    pub limit: String,
}

/// Data made by `fleethold fixture`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, tag = "fixture", rename_all = "kebab-case")]
pub enum DataSpec {
    /// `fleethold fixture image`.
    Image {
        /// Bytes of the image.
        size: u64,
        /// Seed of its content.
        seed: u64,
        /// SHA-256 of the image, as 64 hex digits.
        sha256: String,
    },
    /// `fleethold fixture fleet`, without a broken store.
    Fleet {
        /// How many stores.
        stores: u64,
        /// Seed of their content.
        seed: u64,
        /// SHA-256 of all files' paths, lengths and contents, as 64 hex digits.
        sha256: String,
    },
    /// `datastore.cfg` with as many sections as the scenario's `stores` says.
    Config {
        /// Seed of the names and properties.
        seed: u64,
        /// SHA-256 of each configuration by its number of stores.
        sha256: BTreeMap<String, String>,
    },
}

/// What `--quick` runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Values of the knob.
    pub values: Vec<String>,
    /// Scenarios by name.
    pub scenarios: Vec<String>,
    /// Other data.
    pub data: Option<DataSpec>,
    /// Parameters that every scenario gets instead of its own.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// A figure that has to be reached.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// Metric, such as `rate`.
    pub metric: String,
    /// Which figure of it.
    #[serde(default)]
    pub of: FloorOf,
    /// Only in this scenario; else in each.
    pub scenario: Option<String>,
    /// Only at this value of the knob; else at each.
    pub at: Option<String>,
    /// How it is compared.
    pub op: FloorOp,
    /// With what.
    pub value: f64,
    /// Judged on a quiet machine only.
    #[serde(default)]
    pub quiet: bool,
    /// Why this number.
    pub why: String,
}

/// Which figure of a metric a floor is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloorOf {
    /// The median of the after side.
    #[default]
    After,
    /// The median of the before side.
    Before,
    /// How many times better after is than before.
    Gain,
}

/// How a figure is compared with its floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum FloorOp {
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
}

impl FloorOp {
    /// The sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
        }
    }

    /// Whether `value` reaches `floor`.
    pub fn holds(self, value: f64, floor: f64) -> bool {
        match self {
            Self::AtLeast => value >= floor,
            Self::AtMost => value <= floor,
        }
    }
}

impl Definition {
    /// All workloads of this binary, by name.
    ///
    /// # Errors
    /// [`BenchError::Workload`] when one of them is broken, which a test excludes.
    pub fn built_in() -> Result<Vec<Self>, BenchError> {
        Kind::all()
            .map(|kind| Self::parse(kind.name(), kind.workload().file))
            .collect()
    }

    /// The workload of that name, or of the file at that path. Returns its text, too, for its hash.
    ///
    /// # Errors
    /// [`BenchError::UnknownWorkload`] with what there is; [`BenchError::Workload`] with file, line and reason.
    pub fn load(name_or_path: &str) -> Result<(Self, String), BenchError> {
        if let Some(kind) = Kind::find(name_or_path) {
            let text = kind.workload().file;
            return Ok((Self::parse(kind.name(), text)?, text.to_owned()));
        }
        let path = Path::new(name_or_path);
        let looks_like_a_path = name_or_path.contains('/') || path.extension().is_some();
        if !looks_like_a_path {
            return Err(BenchError::UnknownWorkload {
                found: name_or_path.to_owned(),
                known: Kind::names(),
            });
        }
        let io = |source| BenchError::Io {
            path: path.to_owned(),
            source,
        };
        let broken = |reason: String| BenchError::Workload {
            file: name_or_path.to_owned(),
            reason,
        };
        // A device or a pipe may have no end.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(broken("expected a file".to_owned()));
        }
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(io)?;
        file.take(MAX_FILE_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(io)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(broken(format!(
                "expected at most {MAX_FILE_BYTES} bytes, found more"
            )));
        }
        Ok((Self::parse(name_or_path, &text)?, text))
    }

    fn parse(file: &str, text: &str) -> Result<Self, BenchError> {
        let broken = |reason: String| BenchError::Workload {
            file: file.to_owned(),
            reason,
        };
        let definition: Self =
            toml::from_str(text).map_err(|error| broken(error.to_string().trim_end().to_owned()))?;
        check::check(&definition).map_err(broken)?;
        Ok(definition)
    }
}

fn judged() -> Vec<String> {
    JUDGED.map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_binary_is_sound() {
        for definition in Definition::built_in().unwrap() {
            assert!(!definition.floors.is_empty(), "{} has no floor", definition.name);
        }
    }

    #[test]
    fn broken_files_say_where() {
        let (_, good) = Definition::load("restore").unwrap();
        for (from, to, expected) in [
            (
                "kind = \"restore\"",
                "kind = \"restor\"",
                "kind: expected one of lookup, status, restore, found `restor`",
            ),
            (
                "seek_ms",
                "seek_s",
                "scenario spinner: parameters: expected one of limit, latency_ms",
            ),
            (
                "name = \"spinner\"",
                "name = \"fast\"",
                "scenario.name: `fast` stands there twice",
            ),
            (
                "\"8\", \"12\"",
                "\"8\", \"8\"",
                "knob.values: `8` stands there twice",
            ),
            (
                "metric = \"limit_share\"\nof",
                "metric = \"cpu\"\nof",
                "share.metric: expected a metric that no sample measures itself",
            ),
            (
                "metric = \"cpu\"",
                "metric = \"cpu_time\"",
                "floor of cpu_time: expected a metric of kind restore (time, ",
            ),
            (
                "\n[knob]",
                "judged = [\"rate\", \"speed\"]\n[knob]",
                "judged: expected a metric of kind restore",
            ),
            (
                "\n[knob]",
                "judged = [\"rate\", \"rate\"]\n[knob]",
                "judged: `rate` stands there twice",
            ),
            ("\n[knob]", "judged = []\n[knob]", "judged: expected at least one"),
            (
                "limit = \"limit\"",
                "limit = \"fast\"",
                "share.limit: expected a scenario with one value of concurrency, found 6",
            ),
            (
                "scenarios = [\"fast\", \"far\", \"limit\"]",
                "scenarios = [\"fast\", \"far\"]",
                "quick.scenarios: expected `limit`",
            ),
            (
                "default = \"16\"",
                "default = \"17\"",
                "knob.default: expected a value of concurrency",
            ),
            ("title =", "titel =", "unknown field `titel`"),
            (
                "name = \"restore\"",
                "name = \"../evil\"",
                "name: expected 1 to 64 letters",
            ),
            (
                "name = \"far\"",
                "name = \"f\\u001bar\"",
                "scenario.name: expected 1 to 400 bytes",
            ),
        ] {
            assert!(good.contains(from), "{from}");
            let error = Definition::parse("x.toml", &good.replace(from, to))
                .unwrap_err()
                .to_string();
            assert!(error.contains("x.toml") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_file_says_what_is_judged() {
        let (silent, good) = Definition::load("restore").unwrap();
        assert_eq!(silent.judged, ["time", "cpu"]);
        let said = good.replace("\n[knob]", "judged = [\"rate\"]\n[knob]");
        assert_eq!(Definition::parse("x.toml", &said).unwrap().judged, ["rate"]);
    }

    #[test]
    fn unknown_names_say_what_there_is() {
        let error = Definition::load("restoer").unwrap_err().to_string();
        assert!(error.contains("lookup, status, restore"), "{error}");
    }
}
