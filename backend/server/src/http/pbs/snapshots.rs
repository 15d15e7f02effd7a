//! `/admin/datastore/{store}/snapshots`.

use actix_web::web::{Data, Path};
use fleethold_datastore::{Group, SnapshotInfo};
use fleethold_format::crypt::Fingerprint;
use fleethold_format::manifest::VerifyState;
use fleethold_format::names::{Authid, BackupId, BackupType, GroupPath};
use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
use super::files;
use super::locate::{namespace, on_store};
use super::params::Params;
use super::rights::Rights;
use crate::auth::acl::Privileges;
use crate::state::AppState;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Item {
    backup_type: BackupType,
    backup_id: BackupId,
    backup_time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<VerifyState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
    files: Vec<files::Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<Authid>,
    protected: bool,
}

impl From<SnapshotInfo> for Item {
    fn from(info: SnapshotInfo) -> Self {
        // Without a readable manifest the files are those of the directory and have no size.
        let known = info.files.iter().any(|file| file.size.is_some());
        Self {
            backup_type: info.path.group.ty,
            backup_id: info.path.group.id,
            backup_time: info.path.time.epoch(),
            comment: info
                .notes
                .as_deref()
                .and_then(|notes| notes.lines().next())
                .map(str::to_owned),
            verification: info.verify,
            fingerprint: info.fingerprint,
            files: info.files.into_iter().map(files::Item::from).collect(),
            size: known.then_some(info.size),
            owner: info.owner,
            protected: info.protected,
        }
    }
}

/// The snapshots of one namespace, of one type or group when these are given; unfinished ones, too.
pub(super) async fn list(
    caller: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    mut params: Params,
) -> PbsResult {
    let ns = namespace(&mut params)?;
    let ty: Option<BackupType> = params.optional("backup-type")?;
    let id: Option<BackupId> = params.optional("backup-id")?;
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    let reach = rights
        .reach(&store, &ns, Privileges::AUDIT, Privileges::BACKUP)
        .await?;
    let wanted = move |group: &GroupPath| {
        ty.is_none_or(|ty| ty == group.ty) && id.as_ref().is_none_or(|id| *id == group.id)
    };
    let items = on_store(&state, &store, move |store| {
        let mut items: Vec<Item> = Vec::new();
        let visible =
            |group: &Group| wanted(&group.path) && rights.check_owner(reach, group.owner.as_ref()).is_ok();
        for group in store.groups(&ns)?.into_iter().filter(visible) {
            match store.snapshots(&ns, &group.path) {
                Ok(snapshots) => items.extend(snapshots.into_iter().map(Item::from)),
                Err(error) => tracing::warn!(group = %group.path, %error, "a group is left out of a list"),
            }
        }
        Ok(items)
    })
    .await?;
    data(&items)
}
