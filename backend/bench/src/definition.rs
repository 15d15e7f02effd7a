//! Workload files: what is measured, on which data, with which knob, and the floors it has to reach.
//!
//! The files of the repository are part of the binary; any other can be given by path.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use fleethold_bench_model::matrix::MAX_NAME;
use serde::{Deserialize, Serialize};

use crate::error::BenchError;

/// Longest workload file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The workloads that come with Fleethold: file name and text.
const BUILT_IN: [(&str, &str); 3] = [
    ("lookup", include_str!("../../../fixtures/workloads/lookup.toml")),
    ("status", include_str!("../../../fixtures/workloads/status.toml")),
    (
        "restore",
        include_str!("../../../fixtures/workloads/restore.toml"),
    ),
];

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
    /// The code that measures it: `lookup`, `status` or `restore`.
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
    /// The short version.
    pub quick: Quick,
    /// What has to be reached.
    #[serde(default, rename = "floor")]
    pub floors: Vec<Floor>,
}

/// The code behind a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Datastore lookups against one configuration.
    Lookup,
    /// Requests for the status of datastores, to a server over TLS.
    Status,
    /// Restores of one image.
    Restore,
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
    /// Values of the knob that make sense here; all when it is absent.
    pub values: Option<Vec<String>>,
    /// Parameters of the workload's code.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
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
        BUILT_IN
            .iter()
            .map(|(name, text)| Self::parse(name, text))
            .collect()
    }

    /// The workload of that name, or of the file at that path. Returns its text, too, for its hash.
    ///
    /// # Errors
    /// [`BenchError::UnknownWorkload`] with what there is; [`BenchError::Workload`] with file, line and reason.
    pub fn load(name_or_path: &str) -> Result<(Self, String), BenchError> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == name_or_path) {
            return Ok((Self::parse(name, text)?, (*text).to_owned()));
        }
        let path = Path::new(name_or_path);
        let looks_like_a_path = name_or_path.contains('/') || path.extension().is_some();
        if !looks_like_a_path {
            return Err(BenchError::UnknownWorkload {
                found: name_or_path.to_owned(),
                known: BUILT_IN.map(|(name, _)| name).join(", "),
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
        definition.check().map_err(broken)?;
        Ok(definition)
    }

    /// What the types cannot say: names that refer to each other.
    fn check(&self) -> Result<(), String> {
        // Before anything is measured: names become names of files and of series.
        is_name(&self.name)
            .map_err(|expected| format!("name: expected {expected}, found {:?}", self.name))?;
        let texts = [
            ("title", &self.title),
            ("before", &self.before),
            ("after", &self.after),
            ("knob.name", &self.knob.name),
        ];
        let scenarios = self.scenarios.iter();
        let names = scenarios.flat_map(|scenario| {
            [
                ("scenario.name", &scenario.name),
                ("scenario.legend", &scenario.legend),
            ]
        });
        let values = self.knob.values.iter().map(|value| ("knob.values", value));
        for (place, text) in texts.into_iter().chain(names).chain(values) {
            if text.is_empty() || text.len() > MAX_NAME || text.contains(char::is_control) {
                return Err(format!(
                    "{place}: expected 1 to {MAX_NAME} bytes without control characters, found {text:?}"
                ));
            }
        }
        let knob = |value: &String, place: &str| {
            if self.knob.values.contains(value) {
                Ok(())
            } else {
                Err(format!(
                    "{place}: expected a value of {} ({}), found `{value}`",
                    self.knob.name,
                    self.knob.values.join(", ")
                ))
            }
        };
        let scenario = |name: &String, place: &str| {
            if self.scenarios.iter().any(|scenario| scenario.name == *name) {
                Ok(())
            } else {
                Err(format!("{place}: no scenario is called `{name}`"))
            }
        };
        if self.knob.values.is_empty() || self.scenarios.is_empty() {
            return Err("expected at least one value of the knob and one scenario".to_owned());
        }
        knob(&self.knob.default, "knob.default")?;
        if self.quick.values.is_empty() || self.quick.scenarios.is_empty() {
            return Err("quick: expected at least one value and one scenario".to_owned());
        }
        self.quick
            .values
            .iter()
            .try_for_each(|value| knob(value, "quick.values"))?;
        self.quick
            .scenarios
            .iter()
            .try_for_each(|name| scenario(name, "quick.scenarios"))?;
        for one in &self.scenarios {
            let place = format!("values of scenario {}", one.name);
            one.values
                .iter()
                .flatten()
                .try_for_each(|value| knob(value, &place))?;
        }
        for floor in &self.floors {
            let place = format!("floor of {}", floor.metric);
            if !floor.value.is_finite() {
                return Err(format!("{place}: expected a finite value, found {}", floor.value));
            }
            floor.at.iter().try_for_each(|value| knob(value, &place))?;
            floor
                .scenario
                .iter()
                .try_for_each(|name| scenario(name, &place))?;
        }
        Ok(())
    }
}

/// What a workload may be called, or what is expected.
fn is_name(text: &str) -> Result<(), &'static str> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&text.len()) && text.bytes().all(good) {
        Ok(())
    } else {
        Err("1 to 64 letters, digits, `-` or `_`")
    }
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
                "unknown variant `restor`",
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
    fn unknown_names_say_what_there_is() {
        let error = Definition::load("restoer").unwrap_err().to_string();
        assert!(error.contains("lookup, status, restore"), "{error}");
    }
}
