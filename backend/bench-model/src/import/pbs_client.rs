//! `proxmox-backup-client benchmark --output-format json`: `{"tls": {"speed"?: …, "top": …}, …}`, bytes per second.

use crate::series::SeriesKey;
use crate::unit::Unit;

use super::node::{Node, parse};
use super::{Found, ImportError};

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let document = parse(found.source, found.source.text, None)?;
    let root = Node::root(found.source, &document, None);
    for (test, result) in root.fields()? {
        // The TLS test runs only with a repository; what was not measured has no speed.
        result.field("top")?.number()?;
        if let Some(speed) = result.get("speed") {
            let key = SeriesKey::new("proxmox-backup-client benchmark", test, Unit::BytesPerSecond);
            found.sample(key, speed.number()?, || speed.place())?;
        }
    }
    root.keep_facts(found, &["speed"])
}
