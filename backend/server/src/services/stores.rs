//! Stores of the fleet, from memory: no file is touched.

use fleethold_api_types::StoreRow;
use fleethold_fleet::Operation;
use fleethold_format::names::DatastoreName;

use super::error::{ErrorKind, ServiceError, ServiceResult};
use super::rights::Sight;
use crate::views::{StoreHandle, Views};

/// All rows that somebody sees, in order of name.
#[must_use]
pub fn list(views: &Views, sight: &Sight) -> Vec<StoreRow> {
    views
        .stores
        .load()
        .list
        .iter()
        .filter_map(|handle| Some(sight.store(&handle.view.published().row)?.into_owned()))
        .collect()
}

/// The row of one store as somebody sees it.
///
/// # Errors
/// When there is no such store, or none for the caller.
pub fn get(views: &Views, sight: &Sight, name: &str) -> ServiceResult<StoreRow> {
    let published = handle(views, name)?.view.published();
    let row = sight.store(&published.row).ok_or_else(|| unknown(name))?;
    Ok(row.into_owned())
}

fn unknown(name: &str) -> ServiceError {
    ServiceError::not_found("unknown-store", format!("there is no datastore `{name}`"))
}

/// The store called `name`, whatever its maintenance mode.
///
/// # Errors
/// When the name is malformed or nothing is called so.
pub fn handle(views: &Views, name: &str) -> ServiceResult<StoreHandle> {
    let parsed: DatastoreName = name.parse().map_err(|_| unknown(name))?;
    views
        .stores
        .load()
        .get(&parsed)
        .cloned()
        .ok_or_else(|| unknown(name))
}

/// The store called `name`, for reading.
///
/// # Errors
/// When it does not exist or its maintenance mode forbids reading.
pub fn readable(views: &Views, name: &str) -> ServiceResult<StoreHandle> {
    let handle = handle(views, name)?;
    if let Some(mode) = &handle.view.entry().maintenance {
        mode.check(Operation::Read).map_err(|error| {
            ServiceError::new(
                ErrorKind::Conflict,
                "maintenance",
                format!("datastore `{name}`: {error}"),
            )
        })?;
    }
    Ok(handle)
}
