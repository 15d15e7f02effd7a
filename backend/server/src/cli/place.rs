//! Which datastore a command means: a configured name or a directory.

use std::path::Path;

use anyhow::Context;
use fleethold_datastore::Datastore;
use fleethold_fleet::{Fleet, FleetError, FleetOptions, Operation, StoreHandle};
use fleethold_format::names::DatastoreName;

use super::exit::{CliResult, Failure};
use crate::settings::Settings;

/// An opened datastore and what the user called it.
pub(super) struct Place {
    pub(super) store: Datastore,
    pub(super) label: String,
    /// Counts as a reader of the datastore, for who wants to take it offline.
    _reading: Option<StoreHandle>,
}

/// The configured datastores. Where this user may not share the counters of operations, the command counts for itself.
pub(super) fn fleet(settings: &Settings) -> CliResult<Fleet> {
    let options = FleetOptions {
        run_dir: Some(settings.run_dir.clone()),
        ..FleetOptions::default()
    };
    match Fleet::open_with(&settings.config_dir, options) {
        Ok(fleet) => Ok(fleet),
        // Another user's installation, as a rule.
        Err(error @ FleetError::Io { .. }) => {
            tracing::debug!(%error, "operations are not shared with other processes");
            Ok(Fleet::open(&settings.config_dir)?)
        }
        Err(error) => {
            tracing::warn!(%error, "operations are not shared with other processes");
            Ok(Fleet::open(&settings.config_dir)?)
        }
    }
}

/// Opens the datastore that `text` means: a text with a `/` is a directory, another one the name of a configured datastore, or, when
/// none is configured under it, a directory of the working directory.
pub(super) fn open(settings: &Settings, text: &str) -> CliResult<Place> {
    let path = Path::new(text);
    if text.contains('/') || text == "." || text == ".." {
        return open_path(text, path);
    }
    let fleet = fleet(settings)?;
    let generation = fleet.current();
    let entry = DatastoreName::parse(text)
        .ok()
        .and_then(|name| generation.entry(&name));
    if let Some(entry) = entry {
        let handle = fleet
            .lookup(&entry.name, Operation::Read)
            .with_context(|| format!("cannot read datastore {}", entry.name))?;
        let store = Datastore::open(entry.name.clone(), &entry.path)?;
        return Ok(Place {
            store,
            label: text.to_owned(),
            _reading: Some(handle),
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
        _reading: None,
    })
}
