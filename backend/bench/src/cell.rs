//! One field of the matrix: a scenario and a value of the knob.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::definition::{Definition, Quick};
use crate::error::BenchError;

/// One field of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// The scenario's name.
    pub scenario: String,
    /// The knob's name and value.
    pub knob: (String, String),
    /// The scenario's parameters.
    pub parameters: BTreeMap<String, String>,
}

impl Cell {
    /// All fields of a workload, scenario by scenario; those of its quick version when `quick`.
    pub fn all(definition: &Definition, quick: Option<&Quick>) -> Vec<Self> {
        let chosen =
            |all: &[String], some: Option<&[String]>, one: &String| some.unwrap_or(all).contains(one);
        let names: Vec<String> = definition
            .scenarios
            .iter()
            .map(|scenario| scenario.name.clone())
            .collect();
        let scenarios = definition
            .scenarios
            .iter()
            .filter(|scenario| chosen(&names, quick.map(|quick| &*quick.scenarios), &scenario.name));
        scenarios
            .flat_map(|scenario| {
                let values = definition.knob.values.iter();
                values
                    .filter(|value| match &scenario.values {
                        Some(only) => only.contains(value),
                        None => chosen(&definition.knob.values, quick.map(|quick| &*quick.values), value),
                    })
                    .map(|value| {
                        let mut parameters = scenario.parameters.clone();
                        parameters.extend(quick.map(|quick| quick.parameters.clone()).unwrap_or_default());
                        Self {
                            scenario: scenario.name.clone(),
                            knob: (definition.knob.name.clone(), value.clone()),
                            parameters,
                        }
                    })
            })
            .collect()
    }

    /// The knob's value in the type that the workload's code wants.
    ///
    /// # Errors
    /// [`BenchError::Parameter`]
    pub fn value<T: FromStr>(&self, expected: &'static str) -> Result<T, BenchError> {
        self.read(&self.knob.0, &self.knob.1, expected)
    }

    /// A parameter, or `None` when the scenario does not have it.
    ///
    /// # Errors
    /// [`BenchError::Parameter`]
    pub fn parameter<T: FromStr>(&self, name: &str, expected: &'static str) -> Result<Option<T>, BenchError> {
        let text = self.parameters.get(name);
        text.map(|text| self.read(name, text, expected)).transpose()
    }

    fn read<T: FromStr>(&self, name: &str, text: &str, expected: &'static str) -> Result<T, BenchError> {
        text.parse().map_err(|_| BenchError::Parameter {
            scenario: self.scenario.clone(),
            name: name.to_owned(),
            expected,
            found: text.to_owned(),
        })
    }
}

impl fmt::Display for Cell {
    /// Such as `far concurrency=16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}={}", self.scenario, self.knob.0, self.knob.1)
    }
}
