//! Stores of the fleet, from memory: no file is touched.

use fleethold_api_types::StoreRow;
use fleethold_fleet::Operation;
use fleethold_format::names::DatastoreName;

use super::error::{ErrorKind, ServiceError, ServiceResult};
use crate::views::{StoreHandle, Views};

/// All rows in order of name.
#[must_use]
pub fn list(views: &Views) -> Vec<StoreRow> {
    views
        .stores
        .load()
        .list
        .iter()
        .map(|handle| handle.view.published().row.clone())
        .collect()
}

/// The row of one store.
///
/// # Errors
/// When there is no such store.
pub fn get(views: &Views, name: &str) -> ServiceResult<StoreRow> {
    Ok(handle(views, name)?.view.published().row.clone())
}

/// The store called `name`, whatever its maintenance mode.
///
/// # Errors
/// When the name is malformed or nothing is called so.
pub fn handle(views: &Views, name: &str) -> ServiceResult<StoreHandle> {
    let unknown = || ServiceError::not_found("unknown-store", format!("there is no datastore `{name}`"));
    let parsed: DatastoreName = name.parse().map_err(|_| unknown())?;
    views.stores.load().get(&parsed).cloned().ok_or_else(unknown)
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
