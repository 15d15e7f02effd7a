//! Bencher Metric Format: `{"benchmark": {"measure": {"value": …, "lower_value"?: …, "upper_value"?: …}}}`.
//!
//! The format has no units; they belong to the measure. Bencher's built-in measures are known here, others are
//! refused.

use crate::series::SeriesKey;
use crate::unit::{Direction, Unit};

use super::node::{Node, parse};
use super::{Found, ImportError};

/// Bencher's built-in measures by slug.
const MEASURES: [(&str, Unit); 13] = [
    ("latency", Unit::Nanoseconds),
    ("throughput", Unit::OperationsPerSecond),
    ("build-time", Unit::Seconds),
    ("file-size", Unit::Bytes),
    ("instructions", Unit::Instructions),
    ("estimated-cycles", Unit::Cycles),
    ("l1-accesses", Unit::Count),
    ("l1-hits", Unit::Count),
    ("l2-accesses", Unit::Count),
    ("l2-hits", Unit::Count),
    ("ram-accesses", Unit::Count),
    ("ram-hits", Unit::Count),
    ("total-accesses", Unit::Count),
];

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let document = parse(found.source, found.source.text, None)?;
    let root = Node::root(found.source, &document, None);
    for (benchmark, measures) in root.fields()? {
        for (measure, metric) in measures.fields()? {
            let slug = measure.to_ascii_lowercase().replace(' ', "-");
            let unit = MEASURES
                .iter()
                .find(|(known, _)| *known == slug)
                .map(|(_, unit)| *unit)
                .ok_or_else(|| {
                    metric
                        .error("a built-in measure, whose unit is known (latency, throughput, build-time, …)")
                })?;
            let mut key = SeriesKey::new(benchmark, slug.as_str(), unit);
            // Hits are what a cache is for.
            if slug.ends_with("-hits") && slug != "ram-hits" {
                key.better = Direction::Higher;
            }
            let value = metric.field("value")?;
            found.sample(key, value.number()?, || value.place())?;
            for bound in ["lower_value", "upper_value"] {
                if let Some(bound) = metric.get(bound) {
                    bound.number()?;
                }
            }
        }
    }
    root.keep_facts(found, &["value"])
}
