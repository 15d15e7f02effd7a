//! Which datastore a command means: a configured name or a directory.

use std::path::Path;

use anyhow::Context;
use fleethold_datastore::Datastore;
use fleethold_fleet::{Fleet, Operation};
use fleethold_format::names::DatastoreName;

use super::exit::{CliResult, Failure};
use crate::settings::Settings;

/// An opened datastore and what the user called it.
pub(super) struct Place {
    pub(super) store: Datastore,
    pub(super) label: String,
}

/// Opens the datastore that `text` means: a text with a `/` is a directory, another one the name of a configured datastore, or, when
/// none is configured under it, a directory of the working directory.
pub(super) fn open(settings: &Settings, text: &str) -> CliResult<Place> {
    let path = Path::new(text);
    if text.contains('/') || text == "." || text == ".." {
        return open_path(text, path);
    }
    let fleet = Fleet::open(&settings.config_dir);
    let generation = fleet.current();
    let entry = DatastoreName::parse(text)
        .ok()
        .and_then(|name| generation.lookup(&name));
    if let Some(entry) = entry {
        if let Some(maintenance) = &entry.maintenance {
            maintenance
                .check(Operation::Read)
                .with_context(|| format!("cannot read datastore {}", entry.name))?;
        }
        let store = Datastore::open(entry.name.clone(), &entry.path)?;
        return Ok(Place {
            store,
            label: text.to_owned(),
        });
    }
    if path.is_dir() {
        return open_path(text, path);
    }
    if let Some(problem) = &generation.error {
        return Err(Failure::setup(anyhow::anyhow!(
            "cannot look up datastore {text}: {problem}"
        )));
    }
    Err(anyhow::anyhow!(
        "no such datastore: {text} is neither configured in {} nor a directory here",
        fleet.file().display()
    )
    .into())
}

fn open_path(text: &str, path: &Path) -> CliResult<Place> {
    // A directory has no configured name; its last component serves in messages where it is a valid one.
    let name = path
        .canonicalize()
        .ok()
        .and_then(|real| Some(real.file_name()?.to_str()?.to_owned()));
    let name = name.and_then(|name| DatastoreName::parse(&name).ok());
    let name = name.map_or_else(|| DatastoreName::parse("datastore"), Ok)?;
    let store = Datastore::open(name, path).with_context(|| format!("cannot open {text} as a datastore"))?;
    Ok(Place {
        store,
        label: text.to_owned(),
    })
}
