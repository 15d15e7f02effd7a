use serde::{Deserialize, Serialize};

/// The body of every error reply (`application/problem+json`, RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Stable, kebab-case; what a program tests for, such as `target-exists`.
    pub code: String,
    /// Short text for the kind of problem.
    pub title: String,
    /// HTTP status code.
    pub status: u16,
    /// What happened in this case: what was attempted on what, expected and found.
    pub detail: String,
    /// The request this answers; the server's log carries the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}
