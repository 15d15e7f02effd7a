use serde::{Deserialize, Serialize};

use time::OffsetDateTime;

/// How a file of a snapshot is protected (FORMAT.md §7).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CryptMode {
    /// Plain.
    None,
    /// Encrypted: a key is needed.
    Encrypt,
    /// Plain chunks, signed manifest.
    SignOnly,
}

/// Outcome of the last verification, as the manifest keeps it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VerifyState {
    /// Every chunk was good.
    Ok,
    /// At least one was not.
    Failed,
}

/// A namespace; `GET /api/v1/stores/{store}/namespaces`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamespaceEntry {
    /// Such as `prod/db`; empty for the root.
    pub ns: String,
}

/// A backup group; `GET /api/v1/stores/{store}/groups?ns=`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupEntry {
    /// Such as `vm/100`.
    pub group: String,
    /// Owner, when readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// First line of the group's notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Snapshots in it, unfinished ones included.
    pub snapshots: u64,
    /// Newest finished snapshot.
    #[serde(
        default,
        with = "time::serde::rfc3339::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_backup: Option<OffsetDateTime>,
    /// What of the group cannot be read; the counts are of what can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A snapshot; `GET /api/v1/stores/{store}/snapshots?ns=&group=`, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotEntry {
    /// Such as `vm/100/2024-05-01T10:00:00Z`.
    pub snapshot: String,
    /// Backup time.
    #[serde(with = "time::serde::rfc3339")]
    pub time: OffsetDateTime,
    /// A manifest is there.
    pub finished: bool,
    /// Protected from removal.
    pub protected: bool,
    /// Sum of the files' sizes as the manifest states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Last verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyState>,
    /// Owner of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Fingerprint of the encryption key, when one was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_fingerprint: Option<String>,
    /// Why the manifest could not be read; the files then come from the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The files.
    pub files: Vec<FileEntry>,
}

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileEntry {
    /// Server name, such as `drive-scsi0.img.fidx`.
    pub name: String,
    /// Images: logical size; blobs: stored size. Absent when the manifest does not list it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Absent when the manifest does not list it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypt_mode: Option<CryptMode>,
}

/// Query of `GET /api/v1/stores/{store}/content` (plain files).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContentQuery {
    /// Namespace; empty or absent for the root.
    #[serde(default)]
    pub ns: String,
    /// Such as `vm/100/2024-05-01T10:00:00Z`.
    pub snapshot: String,
    /// File name, with or without its server extension.
    pub file: String,
}

/// Body of `POST /api/v1/stores/{store}/content`: the key travels in the body, is never logged or stored.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ContentRequest {
    /// Namespace; empty for the root.
    #[serde(default)]
    pub ns: String,
    /// Snapshot.
    pub snapshot: String,
    /// File name.
    pub file: String,
    /// Text of the key file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its password, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_password: Option<String>,
}
