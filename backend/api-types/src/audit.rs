use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

/// Query of `GET /api/v1/audit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditQuery {
    /// Only changes of this user or token, or of rules at this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows a page, 1 to 500; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A change of a user, token or rule. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditItem {
    /// Id; the newest is the largest.
    pub id: Uuid,
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// User or token; for the command line the user of the host.
    pub actor: String,
    /// `session`, `token` or `command-line`.
    pub via: String,
    /// From which address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What was done: `user.create`, `token.delete`, `acl.set`, …
    pub action: String,
    /// To whom, or where.
    pub target: String,
    /// How it was; null when it was not there.
    pub was: Value,
    /// How it is; null when it is gone.
    pub became: Value,
}
