use serde::{Deserialize, Serialize};

use time::OffsetDateTime;

/// State of the connection to PostgreSQL.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseState {
    /// Coming up.
    Starting,
    /// Answers.
    Ready,
    /// Does not answer: restores go on, rows wait in the spool.
    Away,
}

/// PostgreSQL as the server sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DatabaseHealth {
    /// State.
    pub state: DatabaseState,
    /// Since when.
    #[serde(
        default,
        with = "time::serde::rfc3339::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub since: Option<OffsetDateTime>,
    /// Why it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Rows that wait on disk for PostgreSQL.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpoolHealth {
    /// Rows.
    pub rows: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Rows given up because the spool was full.
    pub dropped: u64,
}

/// `GET /api/v1/health` (no sign-in) and the `server` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Health {
    /// PostgreSQL.
    pub database: DatabaseHealth,
    /// Spool.
    pub spool: SpoolHealth,
    /// A broken edit of datastore.cfg: the last good one stays in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_problem: Option<String>,
    /// Broken edits of the files of users and rights: the last good ones stay in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_problems: Vec<AccessProblem>,
}

/// A broken edit of a file of users or rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccessProblem {
    /// `acl.cfg`, `user.cfg` or `shadow.json`.
    pub file: String,
    /// Where and what; only for who has `Sys.Audit` on `/system/status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `GET /api/v1/about`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AboutInfo {
    /// Fleethold's version.
    pub version: String,
    /// Commit it was built from; `unknown` outside a checkout.
    pub revision: String,
    /// Short host name.
    pub node: String,
    /// SHA-256 of the TLS certificate, `xx:` pairs.
    pub fingerprint: String,
    /// Memory budget of all restores.
    pub memory_bytes: u64,
    /// Fetches outstanding at most, when a job does not say.
    pub default_parallel: u32,
    /// Folders that restores may write to; the first is the base of relative targets.
    pub restore_roots: Vec<String>,
    /// Block devices that restores may write to.
    pub devices: Vec<String>,
    /// When the server started.
    #[serde(with = "time::serde::rfc3339")]
    pub started_at: OffsetDateTime,
}
