//! The name of a datastore.

use super::{is_safe_id, string_name};

string_name!(
    /// Name of a datastore: 3 to 32 characters.
    DatastoreName,
    "datastore name",
    "3 to 32 letters, digits, `_`, `.` or `-`, not beginning with `.` or `-`",
    |text| (3..=32).contains(&text.len()) && is_safe_id(text)
);
