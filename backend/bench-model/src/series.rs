//! Identity of a series: what has to be equal for two numbers to be the same measurement at another time.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::unit::{Direction, Unit};

/// Identity of a series of one metric. The order of the parameters is that of their names, so equal parameters
/// are equal keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesKey {
    /// Name of the workload, such as `restore`.
    pub workload: String,
    /// Parameters by name, such as `concurrency` = `8`.
    pub parameters: BTreeMap<String, String>,
    /// Name of the metric, such as `time`.
    pub metric: String,
    /// Unit of every value.
    pub unit: Unit,
    /// Which way is an improvement.
    pub better: Direction,
    /// Class of the machine: two machines of one class are expected to measure the same. Empty: not known.
    pub machine_class: String,
}

impl SeriesKey {
    /// A series whose direction is that of its unit, without parameters, on an unknown machine.
    pub fn new(workload: impl Into<String>, metric: impl Into<String>, unit: Unit) -> Self {
        Self {
            workload: workload.into(),
            parameters: BTreeMap::new(),
            metric: metric.into(),
            unit,
            better: unit.better(),
            machine_class: String::new(),
        }
    }

    /// The same series with one more parameter.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }
}

impl fmt::Display for SeriesKey {
    /// For people and error messages, not for parsing: `restore concurrency=8 time [s]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.workload)?;
        for (name, value) in &self.parameters {
            write!(f, " {name}={value}")?;
        }
        write!(f, " {} [{}]", self.metric, self.unit)?;
        if !self.machine_class.is_empty() {
            write!(f, " on {}", self.machine_class)?;
        }
        Ok(())
    }
}
