//! The figures of one sample.

use std::collections::BTreeMap;

use fleethold_bench_model::unit::Unit;
use serde::{Deserialize, Serialize};

/// The figures of one sample, by metric.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    figures: BTreeMap<String, Figure>,
    /// What is to be known about all samples of a run, such as what could not be measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: BTreeMap<String, String>,
    /// Folded stacks, as text, when they were asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) stacks: String,
}

/// One number with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Unit of `value`.
    pub unit: Unit,
    /// The number.
    pub value: f64,
}

impl Measured {
    /// Adds a figure.
    pub fn add(&mut self, metric: &str, unit: Unit, value: f64) {
        self.figures.insert(metric.to_owned(), Figure { unit, value });
    }

    /// Adds a note.
    pub fn note(&mut self, name: &str, text: impl Into<String>) {
        self.notes.insert(name.to_owned(), text.into());
    }

    /// Adds the notes of another.
    pub(crate) fn copy_notes(&mut self, other: &Self) {
        self.notes.extend(other.notes.clone());
    }

    /// The notes by name.
    pub fn notes(&self) -> &BTreeMap<String, String> {
        &self.notes
    }

    /// The number of a metric.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.figures.get(metric).map(|figure| figure.value)
    }

    /// All figures, by the name of their metric.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Figure)> {
        self.figures
            .iter()
            .map(|(metric, figure)| (metric.as_str(), *figure))
    }
}
