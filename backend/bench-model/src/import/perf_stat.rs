//! `perf stat -j`: one JSON object a line and event.
//!
//! What the kernel did not count (`<not supported>`, `<not counted>`) is a fact, never a zero.

use crate::series::SeriesKey;
use crate::unit::Unit;

use super::node::{Node, parse};
use super::{Found, ImportError};

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let source = found.source;
    for (number, line) in source.lines() {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            if !text.is_empty() {
                found.fact(format!("{number}"), text)?;
            }
            continue;
        }
        let document = parse(source, text, Some(number))?;
        let root = Node::root(source, &document, Some(number));
        let event = root.field("event")?.str()?;
        let counter = root.field("counter-value")?;
        let value = match counter.value.as_str() {
            Some(text) if text.starts_with('<') => None,
            Some(text) => Some(
                text.trim()
                    .parse::<f64>()
                    .map_err(|_| counter.error("a number"))?,
            ),
            None => Some(counter.number()?),
        };
        if let Some(value) = value {
            let unit = unit_of(found, &root, event)?;
            let mut key = SeriesKey::new("perf stat", event, unit);
            // One line a processor or thread with -A, --per-core or --per-thread. Intervals of -I are samples.
            for part in ["cpu", "core", "socket", "die", "node", "thread"] {
                if let Some(node) = root.get(part) {
                    let text = node
                        .value
                        .as_str()
                        .map_or_else(|| node.value.to_string(), str::to_owned);
                    key = key.with(part, text);
                }
            }
            found.sample(key, value, || counter.place())?;
            root.keep_facts(found, &["counter-value"])?;
        } else {
            root.keep_facts(found, &[])?;
        }
    }
    Ok(())
}

/// The unit of the line; bare counts of cycles and instructions are told by the event's name.
fn unit_of(found: &Found<'_>, root: &Node<'_>, event: &str) -> Result<Unit, ImportError> {
    let name = event
        .split([':', '/'])
        .find(|part| !part.is_empty())
        .unwrap_or(event);
    let text = match root.get("unit") {
        Some(node) => node.str()?,
        None => "",
    };
    Ok(match (text, name) {
        ("" | "cycles", "cycles" | "cpu-cycles" | "ref-cycles") => Unit::Cycles,
        ("", "instructions") => Unit::Instructions,
        ("msec", "task-clock" | "cpu-clock") => Unit::CpuMilliseconds,
        (text, _) => found.unit(text, &root.place())?,
    })
}
