//! From parameters to things in a datastore; every look at a disk leaves the request's thread.

use std::sync::Arc;

use fleethold_datastore::Datastore;
use fleethold_format::names::{BackupId, BackupTime, BackupType, GroupPath, Namespace, SnapshotPath};

use super::envelope::PbsError;
use super::params::Params;
use crate::services::content;
use crate::services::error::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Runs `work` where blocking is allowed.
pub(super) async fn blocking<T, F>(state: &AppState, work: F) -> Result<T, PbsError>
where
    T: Send + 'static,
    F: FnOnce() -> ServiceResult<T> + Send + 'static,
{
    Ok(state
        .work
        .spawn_blocking(work)
        .await
        .map_err(ServiceError::from)??)
}

/// Runs `work` on the open datastore `name`, noted as a read.
///
/// # Errors
/// When the store does not exist, may not be read now or cannot be opened; or what `work` reports.
pub(super) async fn on_store<T, F>(state: &AppState, name: &str, work: F) -> Result<T, PbsError>
where
    T: Send + 'static,
    F: FnOnce(&Datastore) -> ServiceResult<T> + Send + 'static,
{
    let (views, name) = (Arc::clone(&state.views), name.to_owned());
    blocking(state, move || work(&content::open(&views, &name)?.store)).await
}

/// `ns`, the root when it is left out.
pub(super) fn namespace(params: &mut Params) -> Result<Namespace, PbsError> {
    params.or("ns", Namespace::root())
}

/// `backup-type`, `backup-id` and `backup-time`.
pub(super) fn snapshot(params: &mut Params) -> Result<SnapshotPath, PbsError> {
    let ty: BackupType = params.required("backup-type")?;
    let id: BackupId = params.required("backup-id")?;
    let time: BackupTime = params.required("backup-time")?;
    Ok(SnapshotPath {
        group: GroupPath { ty, id },
        time,
    })
}
