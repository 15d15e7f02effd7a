//! The workloads of this binary. One more is a file of code here with its [`Workload`], a workload file in
//! `fixtures/workloads`, and a line in [`ALL`].

pub(crate) mod lookup;
mod restore;
pub(crate) mod status;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::BenchError;
use crate::measured::Measured;
use crate::worker::SampleRequest;

/// Every workload, in the order in which people see them.
const ALL: [&Workload; 3] = [&lookup::WORKLOAD, &status::WORKLOAD, &restore::WORKLOAD];

/// The code of a workload, and what a workload file can say to it.
pub(crate) struct Workload {
    /// What `kind` in a workload file says, and the name of the file that comes with it.
    pub(crate) name: &'static str,
    /// The workload file that comes with it.
    pub(crate) file: &'static str,
    /// Parameters that scenarios and the short version can set.
    pub(crate) parameters: &'static [&'static str],
    /// Metrics that a sample can have, in the order of the tables.
    pub(crate) metrics: &'static [&'static str],
    /// Takes one sample in this process.
    pub(crate) sample: fn(&SampleRequest) -> Result<Measured, BenchError>,
    /// Whether what is measured runs in another process than the sample's, which takes the stacks there.
    pub(crate) profiles_itself: bool,
}

/// Which workload's code measures: one of [`ALL`], by its name on the wire and in files.
#[derive(Clone, Copy)]
pub struct Kind(&'static Workload);

impl Kind {
    /// All there are.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(Self)
    }

    /// The one of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// Names of all, for messages.
    pub(crate) fn names() -> String {
        ALL.map(|workload| workload.name).join(", ")
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The code and what belongs to it.
    pub(crate) fn workload(self) -> &'static Workload {
        self.0
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Kind {}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let shown: String = name.chars().take(100).collect();
        Self::find(&name).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "kind: expected one of {}, found `{shown}`",
                Self::names()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_its_name_on_the_wire() {
        for kind in Kind::all() {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{}\"", kind.name()));
            assert_eq!(serde_json::from_str::<Kind>(&text).unwrap(), kind);
        }
        let error = serde_json::from_str::<Kind>("\"restor\"")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("expected one of lookup, status, restore, found `restor`"),
            "{error}"
        );
    }
}
