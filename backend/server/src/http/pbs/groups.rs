//! `/admin/datastore/{store}/groups`.

use actix_web::web::{Data, Path};
use fleethold_datastore::{Group, SnapshotInfo};
use fleethold_format::names::{Authid, BackupId, BackupType};
use serde::Serialize;

use super::caller::PbsCaller;
use super::envelope::{PbsResult, data};
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
    last_backup: i64,
    backup_count: usize,
    files: Vec<String>,
    owner: Authid,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

/// The groups of one namespace; those without a readable owner are left out, as the reference does.
pub(super) async fn list(
    caller: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    mut params: Params,
) -> PbsResult {
    let ns = namespace(&mut params)?;
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    let reach = rights
        .reach(&store, &ns, Privileges::AUDIT, Privileges::BACKUP)
        .await?;
    let items = on_store(&state, &store, move |store| {
        let mut items = Vec::new();
        for mut group in store.groups(&ns)? {
            if let Some(owner) = group
                .owner
                .take()
                .filter(|owner| rights.check_owner(reach, Some(owner)).is_ok())
            {
                match store.snapshots(&ns, &group.path) {
                    Ok(snapshots) => items.push(describe(group, owner, &snapshots)),
                    Err(error) => {
                        tracing::warn!(group = %group.path, %error, "a group is left out of a list")
                    }
                }
            }
        }
        Ok(items)
    })
    .await?;
    data(&items)
}

/// `snapshots` are newest first: the newest finished one counts, an unfinished one only when there is no other.
fn describe(group: Group, owner: Authid, snapshots: &[SnapshotInfo]) -> Item {
    let last = snapshots
        .iter()
        .find(|snapshot| snapshot.finished)
        .or_else(|| snapshots.first());
    Item {
        backup_type: group.path.ty,
        backup_id: group.path.id,
        last_backup: last.map_or(0, |last| last.path.time.epoch()),
        backup_count: snapshots.len(),
        files: last
            .map(|last| last.files.iter().map(|file| file.name.clone()).collect())
            .unwrap_or_default(),
        owner,
        comment: group
            .notes
            .as_deref()
            .and_then(|notes| notes.lines().next())
            .map(str::to_owned),
    }
}
