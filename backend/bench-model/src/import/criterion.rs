//! `cargo criterion --message-format=json`: one JSON object a line; `benchmark-complete` has the measurements.
//!
//! A sample is a measured value divided by its iterations; both lists are kept as facts.

use crate::series::SeriesKey;

use super::node::{Node, parse};
use super::{Found, ImportError};

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let source = found.source;
    for (number, line) in source.lines() {
        if line.trim().is_empty() {
            continue;
        }
        let document = parse(source, line, Some(number))?;
        let root = Node::root(source, &document, Some(number));
        if root.field("reason")?.str()? == "benchmark-complete" {
            let unit_node = root.field("unit")?;
            let unit = found.unit(unit_node.str()?, &unit_node.place())?;
            let key = SeriesKey::new(root.field("id")?.str()?, "time", unit);
            let (counts, values) = (root.field("iteration_count")?, root.field("measured_values")?);
            let (count_list, value_list) = (counts.elements()?, values.elements()?);
            let at = found.series_at(key, || root.place())?;
            if count_list.len() != value_list.len() {
                return Err(values.error("one value for each iteration count"));
            }
            for (count, value) in count_list.zip(value_list) {
                let iterations = count.number()?;
                if iterations < 1.0 {
                    return Err(count.error("at least one iteration"));
                }
                found.sample_of(at, value.number()? / iterations, || value.place())?;
            }
        }
        root.keep_facts(found, &[])?;
    }
    Ok(())
}
