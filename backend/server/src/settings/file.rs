//! `fleethold.toml`: the keys it may have, all optional.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{LogFormat, SettingsError};

/// A size, as a number of bytes or as text such as `"512MiB"`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SizeText(pub(super) String);

impl<'de> Deserialize<'de> for SizeText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a size such as 536870912 or \"512MiB\"")]
        enum Either {
            Bytes(u64),
            Text(String),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Bytes(bytes) => Self(bytes.to_string()),
            Either::Text(text) => Self(text),
        })
    }
}

/// The file's content. An unknown key is an error: a mistyped one must not be ignored silently.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileSettings {
    pub(super) state_dir: Option<PathBuf>,
    pub(super) run_dir: Option<PathBuf>,
    pub(super) listen: Option<String>,
    pub(super) database_url: Option<String>,
    pub(super) restore_roots: Option<Vec<PathBuf>>,
    pub(super) allow_devices: Option<Vec<PathBuf>>,
    pub(super) memory: Option<SizeText>,
    pub(super) cpu_threads: Option<usize>,
    pub(super) parallel: Option<usize>,
    pub(super) tls_cert: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    pub(super) bench_keep_days: Option<usize>,
    pub(super) bench_webhook: Option<String>,
    pub(super) log_format: Option<LogFormat>,
    pub(super) log: Option<String>,
}

impl FileSettings {
    /// Reads the file; one that does not exist says nothing.
    pub(super) fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => {
                return Err(SettingsError::Read {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .and_then(|span| text.get(..span.start))
                .map(|before| before.matches('\n').count() + 1);
            let message = match line {
                Some(line) => format!("line {line}: {}", error.message()),
                None => error.message().to_owned(),
            };
            SettingsError::File {
                path: path.to_owned(),
                message,
            }
        })
    }
}
