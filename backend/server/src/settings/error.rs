//! Why settings cannot be used.

use std::path::PathBuf;

use super::Origin;

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A value does not say what it should.
    #[error("{}: {message}", value_name(key, origin))]
    Value {
        /// The setting.
        key: &'static str,
        /// Where the value came from.
        origin: Origin,
        /// Expected and found.
        message: String,
    },
    /// The configuration file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The configuration file is not what it should be.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Line, expected and found.
        message: String,
    },
}

impl SettingsError {
    /// Whether the command line itself is at fault.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Value {
                origin: Origin::Flag(_),
                ..
            }
        )
    }
}

/// A flag is known by its own name, anything else by that of the setting.
fn value_name(key: &str, origin: &Origin) -> String {
    match origin {
        Origin::Flag(flag) => (*flag).to_owned(),
        other => format!("{key} from {other}"),
    }
}
