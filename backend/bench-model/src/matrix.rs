//! What was measured: scenarios × knob values × metrics, both sides, in measured order. A value that can be stored,
//! sent and judged again; [`crate::comparison`] judges it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::histogram::Log2Histogram;
use crate::interval::{IntervalMethod, MAX_PAIRS};
use crate::sample::{MAX_SAMPLES, Samples};
use crate::text::quote;
use crate::unit::{Direction, Unit};
use crate::verdict::Rules;

/// Most rows, scenarios or metrics of a matrix.
pub const MAX_ENTRIES: usize = 4096;

/// Most cells of a matrix: more than any sweep that a person reads, and what a page can be made of.
pub const MAX_CELLS: usize = 65_536;

/// Longest name or value, in bytes.
pub const MAX_NAME: usize = 400;

/// Parameter of a run whose sides are two builds: before is the after code of another one.
pub const COMPARED: &str = "compared";

mod judged;

/// Parameters in which a run keeps how busy its machine was.
pub mod load {
    /// `yes` or `no`: whether times on the wall mean something.
    pub const QUIET: &str = "quiet";
    /// Share of the processors that others used, such as `3.1 %`.
    pub const OTHERS: &str = "load_of_others";
    /// Share that the host took away.
    pub const STEAL: &str = "steal";
    /// Value of [`QUIET`] on a busy machine.
    pub const NO: &str = "no";
    /// Value of [`QUIET`] on a quiet one.
    pub const YES: &str = "yes";
}

/// A whole sweep, both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// Name of the workload, such as `restore`.
    pub workload: String,
    /// The swept parameter, such as `concurrency`.
    pub knob: String,
    /// Parameters that stay the same.
    #[serde(default, deserialize_with = "crate::text::each_once")]
    pub parameters: BTreeMap<String, String>,
    /// Hardware and data, each with the sentence that the legend prints.
    pub scenarios: Vec<Scenario>,
    /// What is measured, the most important first.
    pub metrics: Vec<Metric>,
    /// One row a scenario and knob value; the control rows are among them.
    pub rows: Vec<Row>,
    /// The first side.
    pub before: Version,
    /// The second side.
    pub after: Version,
    /// SHA-256 of the workload's data, lower-case hex; empty when the data are not ours (imported files).
    #[serde(default)]
    pub data_sha256: String,
    /// Where the comparison can be read again.
    #[serde(default)]
    pub permalink: Option<String>,
    /// A short version for CI: every export says so.
    #[serde(default)]
    pub quick: bool,
    /// The rules that it is judged by.
    #[serde(default)]
    pub rules: Rules,
}

/// One scenario: hardware and data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, such as `spinner`.
    pub name: String,
    /// What it is, in a sentence.
    pub legend: String,
    /// Its sides are others than those of the matrix: shown beside it, without a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

/// One metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Name, such as `time`.
    pub name: String,
    /// Unit of every sample.
    pub unit: Unit,
    /// Which way is an improvement.
    pub better: Direction,
    /// Whether it gets a verdict and counts in Holm's correction. A metric that follows from another (MiB/s from
    /// seconds) does not.
    pub judged: bool,
}

/// One side: what was measured, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// Revision or setting, for people.
    pub label: String,
    /// Class of the machine; empty when it is not known.
    #[serde(default)]
    pub machine_class: String,
    /// Facts about machine, kernel and tools, for the difference of the environments.
    #[serde(default, deserialize_with = "crate::text::each_once")]
    pub environment: BTreeMap<String, String>,
}

/// One scenario at one value of the knob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of the scenario.
    pub scenario: String,
    /// Value of the knob.
    pub value: String,
    /// The control row: the knob at its default on both sides.
    #[serde(default)]
    pub control: bool,
    /// Samples by metric. A metric that could not be measured is left out, never guessed.
    pub cells: Vec<Cell>,
    /// Sizes of the writes of both sides, all runs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_sizes: Option<WriteSizes>,
}

/// Sizes of writes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteSizes {
    /// Of the first side.
    pub before: Log2Histogram,
    /// Of the second side.
    pub after: Log2Histogram,
}

/// Samples of one metric in one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the metric.
    pub metric: String,
    /// Both sides in measured order.
    pub samples: Samples,
    /// Noise of the series' own history ([`crate::noise::noise_ratio`]), when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_ratio: Option<f64>,
}

/// Why a matrix makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// A name that is empty, too long or holds control characters.
    #[error("{what} `{found}`: expected 1 to {MAX_NAME} bytes without control characters")]
    Name {
        /// Which name.
        what: &'static str,
        /// The name, shortened.
        found: String,
    },
    /// The same name or row twice.
    #[error("{what} `{found}` stands twice")]
    Twice {
        /// What.
        what: &'static str,
        /// Its name, shortened.
        found: String,
    },
    /// A row or cell names something that is not declared.
    #[error("{what} `{found}` is not declared")]
    Unknown {
        /// What.
        what: &'static str,
        /// Its name, shortened.
        found: String,
    },
    /// A list that is empty or too long.
    #[error("{found} {what}: expected {expected}")]
    Number {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// What is allowed.
        expected: &'static str,
    },
    /// A field whose value is out of range.
    #[error("{field} is {found}: expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// What stood there, shortened.
        found: String,
        /// What is allowed.
        expected: &'static str,
    },
}

fn check_name(what: &'static str, name: &str) -> Result<(), MatrixError> {
    if name.is_empty() {
        return Err(MatrixError::Name {
            what,
            found: String::new(),
        });
    }
    check_text(what, name)
}

fn check_text(what: &'static str, text: &str) -> Result<(), MatrixError> {
    if text.len() > MAX_NAME || text.chars().any(char::is_control) {
        return Err(MatrixError::Name {
            what,
            found: quote(text),
        });
    }
    Ok(())
}

fn check_once<T: Ord>(
    seen: &mut BTreeSet<T>,
    item: T,
    what: &'static str,
    found: &str,
) -> Result<(), MatrixError> {
    if seen.insert(item) {
        Ok(())
    } else {
        Err(MatrixError::Twice {
            what,
            found: quote(found),
        })
    }
}

fn check_number(what: &'static str, found: usize) -> Result<(), MatrixError> {
    if found == 0 || found > MAX_ENTRIES {
        return Err(MatrixError::Number {
            what,
            found,
            expected: "1 to 4096",
        });
    }
    Ok(())
}

impl Matrix {
    /// Checks that names are names, stand once and are declared, that every row and cell holds something, and that
    /// all numbers are in range.
    ///
    /// # Errors
    /// [`MatrixError`] at the first thing that is wrong.
    pub fn validate(&self) -> Result<(), MatrixError> {
        self.validate_frame()?;
        let mut samples = 0;
        for row in &self.rows {
            for cell in &row.cells {
                if cell.samples.is_empty() {
                    return Err(MatrixError::Number {
                        what: "samples in a cell",
                        found: 0,
                        expected: "at least one",
                    });
                }
                samples += cell.samples.len();
            }
        }
        if samples > MAX_SAMPLES {
            return Err(MatrixError::Number {
                what: "samples in the matrix",
                found: samples,
                expected: "at most 4000000",
            });
        }
        Ok(())
    }

    /// Everything but the samples.
    pub(crate) fn validate_frame(&self) -> Result<(), MatrixError> {
        check_name("workload", &self.workload)?;
        check_name("knob", &self.knob)?;
        let cells = self.rows.iter().map(|row| row.cells.len()).sum();
        if cells > MAX_CELLS {
            return Err(MatrixError::Number {
                what: "cells in the matrix",
                found: cells,
                expected: "at most 65536",
            });
        }
        for (number, what) in [
            (self.scenarios.len(), "scenarios"),
            (self.metrics.len(), "metrics"),
            (self.rows.len(), "rows"),
        ] {
            check_number(what, number)?;
        }
        let mut scenarios = BTreeSet::new();
        for scenario in &self.scenarios {
            check_name("scenario", &scenario.name)?;
            check_text("legend", &scenario.legend)?;
            check_once(&mut scenarios, scenario.name.as_str(), "scenario", &scenario.name)?;
        }
        let mut metrics = BTreeSet::new();
        for metric in &self.metrics {
            check_name("metric", &metric.name)?;
            check_once(&mut metrics, metric.name.as_str(), "metric", &metric.name)?;
        }
        let mut rows = BTreeSet::new();
        for row in &self.rows {
            self.validate_row(row, &scenarios, &metrics)?;
            let identity = (row.scenario.as_str(), row.value.as_str(), row.control);
            check_once(&mut rows, identity, "row", &row.value)?;
        }
        for version in [&self.before, &self.after] {
            check_text("label", &version.label)?;
            check_text("machine class", &version.machine_class)?;
        }
        self.validate_fields()
    }

    fn validate_row(
        &self,
        row: &Row,
        scenarios: &BTreeSet<&str>,
        metrics: &BTreeSet<&str>,
    ) -> Result<(), MatrixError> {
        check_name("knob value", &row.value)?;
        check_number("cells in a row", row.cells.len())?;
        if !scenarios.contains(row.scenario.as_str()) {
            return Err(MatrixError::Unknown {
                what: "scenario",
                found: quote(&row.scenario),
            });
        }
        let mut seen = BTreeSet::new();
        for cell in &row.cells {
            if !metrics.contains(cell.metric.as_str()) {
                return Err(MatrixError::Unknown {
                    what: "metric",
                    found: quote(&cell.metric),
                });
            }
            check_once(&mut seen, cell.metric.as_str(), "cell of metric", &cell.metric)?;
            if let Some(noise) = cell.noise_ratio
                && !(noise.is_finite() && noise >= 0.0)
            {
                return Err(MatrixError::Field {
                    field: "noise_ratio",
                    found: noise.to_string(),
                    expected: "a finite number of at least 0",
                });
            }
        }
        Ok(())
    }

    fn validate_fields(&self) -> Result<(), MatrixError> {
        let field = |field, found: String, expected| {
            Err(MatrixError::Field {
                field,
                found,
                expected,
            })
        };
        let hash = &self.data_sha256;
        let is_hash = hash.len() == 64
            && hash
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !hash.is_empty() && !is_hash {
            return field("data_sha256", quote(hash), "64 lower-case hex digits");
        }
        if let Some(link) = &self.permalink
            && (link.is_empty() || link.len() > 2000 || !link.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return field("permalink", quote(link), "1 to 2000 printable ASCII characters");
        }
        let rules = &self.rules;
        let share = |value: f64| value > 0.0 && value < 1.0;
        if !share(rules.alpha) {
            return field("alpha", rules.alpha.to_string(), "more than 0 and less than 1");
        }
        if !share(rules.confidence) {
            return field(
                "confidence",
                rules.confidence.to_string(),
                "more than 0 and less than 1",
            );
        }
        if let IntervalMethod::Bootstrap { pairs, .. } = rules.interval
            && !(1..=MAX_PAIRS).contains(&pairs)
        {
            return field("pairs", pairs.to_string(), "1 to 10000");
        }
        if !(rules.min_effect_ratio.is_finite() && rules.min_effect_ratio >= 0.0) {
            return field(
                "min_effect_ratio",
                rules.min_effect_ratio.to_string(),
                "a finite number of at least 0",
            );
        }
        Ok(())
    }

    /// The metric of a name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The same with before and after exchanged.
    #[must_use]
    pub fn swapped(mut self) -> Self {
        std::mem::swap(&mut self.before, &mut self.after);
        for row in &mut self.rows {
            for cell in &mut row.cells {
                cell.samples = std::mem::take(&mut cell.samples).swapped();
            }
            if let Some(sizes) = &mut row.write_sizes {
                std::mem::swap(&mut sizes.before, &mut sizes.after);
            }
        }
        self
    }

    /// SHA-256 of what was measured, as own JSON in lower-case hex: equal measurements have equal digests, so an
    /// import of the same thing twice can be told. The permalink and the noise of the cells take no part: an export
    /// of a kept run fills them in.
    pub fn digest(&self) -> String {
        let is_bare = |cell: &Cell| cell.noise_ratio.is_none();
        let text = if self.permalink.is_none() && self.rows.iter().flat_map(|row| &row.cells).all(is_bare) {
            serde_json::to_vec(self)
        } else {
            let mut bare = self.clone();
            bare.permalink = None;
            for cell in bare.rows.iter_mut().flat_map(|row| &mut row.cells) {
                cell.noise_ratio = None;
            }
            serde_json::to_vec(&bare)
        }
        .unwrap_or_default();
        Sha256::digest(&text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
