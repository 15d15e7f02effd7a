//! github-action-benchmark: `[{"name": …, "unit": …, "value": …, "range"?: …, "extra"?: …}]`.

use crate::series::SeriesKey;
use crate::unit::Direction;

use super::node::{Node, parse};
use super::{Found, ImportError};

pub(super) fn read(found: &mut Found<'_>, better: Direction) -> Result<(), ImportError> {
    let document = parse(found.source, found.source.text, None)?;
    let root = Node::root(found.source, &document, None);
    for entry in root.elements()? {
        let unit_node = entry.field("unit")?;
        let unit = found.unit(unit_node.str()?, &unit_node.place())?;
        let value = entry.field("value")?;
        let key = SeriesKey {
            better,
            ..SeriesKey::new(entry.field("name")?.str()?, "value", unit)
        };
        found.sample(key, value.number()?, || value.place())?;
    }
    root.keep_facts(found, &["value"])
}
