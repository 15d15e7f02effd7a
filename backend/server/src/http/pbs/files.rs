//! `/admin/datastore/{store}/files`, and a file as snapshots list it, too.

use actix_web::web::{Data, Path};
use fleethold_datastore::FileInfo;
use fleethold_format::crypt::CryptMode;
use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
use super::locate::{namespace, on_store, snapshot};
use super::params::Params;
use super::rights::Rights;
use crate::auth::acl::Privileges;
use crate::state::AppState;

/// One file; those that the manifest does not list have neither mode nor size.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Item {
    filename: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    crypt_mode: Option<CryptMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

impl From<FileInfo> for Item {
    fn from(file: FileInfo) -> Self {
        Self {
            filename: file.name,
            crypt_mode: file.crypt_mode,
            size: file.size,
        }
    }
}

/// The files of one snapshot with the manifest itself.
pub(super) async fn list(
    caller: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    mut params: Params,
) -> PbsResult {
    let (ns, path) = (namespace(&mut params)?, snapshot(&mut params)?);
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    let full = Privileges::AUDIT.or(Privileges::READ);
    let reach = rights.reach(&store, &ns, full, Privileges::BACKUP).await?;
    let files = on_store(&state, &store, move |store| {
        let info = store.snapshot_info(&ns, &path)?;
        rights.check_owner(reach, info.owner.as_ref())?;
        Ok(info.files)
    })
    .await?;
    data(&files.into_iter().map(Item::from).collect::<Vec<_>>())
}
