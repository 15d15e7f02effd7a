//! Names of datastores, namespaces, groups, snapshots, files and users (FORMAT.md §1.1).
//!
//! Each type can only hold a valid name, so that a path built from one cannot leave its directory: no name
//! contains a slash (but namespaces, by component), begins with a dot or is empty.

mod archive;
mod auth;
mod backup;
mod datastore;
mod namespace;

pub use archive::{ArchiveKind, ArchiveName};
pub use auth::{Authid, Realm, TokenName, Userid};
pub use backup::{BackupId, BackupTime, BackupType, GroupPath, SnapshotPath};
pub use datastore::DatastoreName;
pub use namespace::{MAX_DEPTH as MAX_NAMESPACE_DEPTH, Namespace};

use crate::text::quote;

/// A text that does not follow the rule for its kind of name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{found}`: expected {expected}")]
pub struct NameError {
    /// Kind of name, as in "backup id".
    pub what: &'static str,
    /// The rule it broke.
    pub expected: &'static str,
    /// What stood there, shortened.
    pub found: String,
}

impl NameError {
    fn new(what: &'static str, expected: &'static str, found: &str) -> Self {
        Self {
            what,
            expected,
            found: quote(found),
        }
    }
}

/// `[A-Za-z0-9_][A-Za-z0-9._\-]*`, the alphabet of almost every name.
fn is_safe_id(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

/// A newtype over a valid string: parse, text, conversions, serde.
macro_rules! string_name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $expected:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Checks `text` against the rule.
            ///
            /// # Errors
            /// A [`NameError`](crate::names::NameError) with the rule and the text.
            pub fn parse(text: &str) -> Result<Self, crate::names::NameError> {
                let valid: fn(&str) -> bool = $valid;
                if valid(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(crate::names::NameError::new($what, $expected, text))
                }
            }

            /// The name's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        crate::names::name_text!($name);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}
use string_name;

/// `Debug`, `FromStr` and serde for a type that has `parse` and `Display`.
macro_rules! name_text {
    ($name:ident) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::names::NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        crate::text::via_text!($name);
    };
}
use name_text;
