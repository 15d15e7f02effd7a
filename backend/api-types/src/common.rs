use serde::{Deserialize, Serialize};

/// A point in time; on the wire RFC 3339 in UTC.
pub type Timestamp = time::OffsetDateTime;

/// One page of a list. `next_cursor` is opaque; absent on the last page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// The entries, in the list's order.
    pub items: Vec<T>,
    /// Pass as `cursor` to get the page behind this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Entries in the whole list, when the server knows without counting again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}
