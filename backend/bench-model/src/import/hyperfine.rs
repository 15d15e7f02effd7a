//! `hyperfine --export-json`: every run's time, memory and exit code; user and system time as means.

use crate::series::SeriesKey;
use crate::unit::Unit;

use super::document::Value;
use super::node::{Node, parse};
use super::{Found, ImportError};

/// Lists with one value a run, and the two means that no list gives.
const SERIES: [(&str, &str, Unit); 4] = [
    ("times", "time", Unit::Seconds),
    ("memory_usage_byte", "memory", Unit::Bytes),
    ("user", "user", Unit::CpuSeconds),
    ("system", "system", Unit::CpuSeconds),
];

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let document = parse(found.source, found.source.text, None)?;
    let root = Node::root(found.source, &document, None);
    for result in root.field("results")?.elements()? {
        let command = result.field("command")?.str()?;
        let mut key = SeriesKey::new(command, "", Unit::Seconds);
        if let Some(parameters) = result.get("parameters") {
            for (name, value) in parameters.fields()? {
                key = key.with(name, value.str()?);
            }
        }
        // Without runs there is only a mean: an export of something else.
        result.field("times")?;
        for (field, metric, unit) in SERIES {
            let Some(node) = result.get(field) else { continue };
            let key = SeriesKey {
                metric: metric.to_owned(),
                unit,
                better: unit.better(),
                ..key.clone()
            };
            let at = found.series_at(key, || node.place())?;
            if !matches!(node.value, Value::List(_)) {
                found.sample_of(at, node.number()?, || node.place())?;
                continue;
            }
            for value in node.elements()? {
                found.sample_of(at, value.number()?, || value.place())?;
            }
        }
    }
    root.keep_facts(found, &SERIES.map(|(field, _, _)| field))
}
