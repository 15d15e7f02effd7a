use serde::{Deserialize, Serialize};

use time::OffsetDateTime;

/// Health of a datastore, worst last.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StoreState {
    /// Not looked at since the server started, or for others to know: who has rights in a namespace only is told no more
    /// than whether the store can be reached.
    Unknown,
    /// Reachable, nothing to report.
    Ok,
    /// In a maintenance mode.
    Maintenance,
    /// Nearly full, a stale backup or an unreadable snapshot.
    Warning,
    /// Full or a failed verification.
    Error,
    /// Its path cannot be opened as a datastore.
    Offline,
}

/// Maintenance mode in force (CONFIG.md §2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Maintenance {
    /// `read-only`, `offline`, `delete`, `unmount` or `s3-refresh`.
    pub mode: String,
    /// The administrator's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Space on the file system that holds a datastore, in bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// Size of the file system.
    pub total_bytes: u64,
    /// In use.
    pub used_bytes: u64,
    /// Free for unprivileged writers.
    pub available_bytes: u64,
}

/// One datastore as the fleet table and the store page show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoreRow {
    /// Datastore name.
    pub name: String,
    /// Folder on the server; empty, as all figures are absent, for who has rights in a namespace of it only.
    pub path: String,
    /// Free text from datastore.cfg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Health.
    pub state: StoreState,
    /// Why `state` is not `ok`: one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Maintenance mode, when one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    /// Space; absent until looked at, or when unreachable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Namespaces, the root included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<u64>,
    /// Backup groups in all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    /// Snapshots in all namespaces, unfinished ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<u64>,
    /// Snapshots whose last verification failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_failed: Option<u64>,
    /// Time of the newest finished snapshot.
    #[serde(
        default,
        with = "time::serde::rfc3339::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_backup: Option<OffsetDateTime>,
    /// When usage and counts were taken.
    #[serde(
        default,
        with = "time::serde::rfc3339::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_at: Option<OffsetDateTime>,
}

/// Figures over the whole fleet; reply of `GET /api/v1/fleet/summary`, also in the live feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FleetSummary {
    /// Configured datastores.
    pub stores: u64,
    /// Per state, in the order of [`StoreState`].
    pub ok: u64,
    /// See [`StoreState::Warning`].
    pub warning: u64,
    /// See [`StoreState::Error`].
    pub error: u64,
    /// See [`StoreState::Offline`].
    pub offline: u64,
    /// See [`StoreState::Maintenance`].
    pub maintenance: u64,
    /// See [`StoreState::Unknown`].
    pub unknown: u64,
    /// Sum over distinct file systems.
    pub total_bytes: u64,
    /// Sum over distinct file systems.
    pub used_bytes: u64,
    /// Snapshots in all stores that were looked at.
    pub snapshots: u64,
    /// Restores that run now.
    pub running_jobs: u64,
    /// Restores that wait for admission.
    pub queued_jobs: u64,
    /// Restored plain bytes a second, all running jobs.
    pub restore_bytes_per_s: u64,
    /// A broken edit of datastore.cfg: the last good one stays in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_problem: Option<String>,
}
