//! The encryption key of a command: from the client's key file, in memory only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use fleethold_format::crypt::CryptKey;
use fleethold_format::key_file::{KeyFile, MAX_KEY_FILE};

use super::secret;

/// Where the key comes from.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct KeyFlags {
    /// The backup client's key file
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
    /// File with the key file's password [or variable FLEETHOLD_KEY_PASSWORD, or a prompt on a terminal]
    #[arg(long, value_name = "FILE", requires = "key_file")]
    pub(super) key_password_file: Option<PathBuf>,
}

impl KeyFlags {
    /// Reads and unlocks the key. Blocks: deriving it from a password takes a good part of a second.
    pub(super) fn load(&self) -> anyhow::Result<Option<Arc<CryptKey>>> {
        let Some(path) = &self.key_file else {
            return Ok(None);
        };
        let bytes = secret::read_limited(path, "key file", MAX_KEY_FILE as u64)?;
        // What is wrong with it begins with `key file`.
        let key = self
            .unlock(path, &bytes)
            .with_context(|| format!("cannot use {}", path.display()))?;
        Ok(Some(Arc::new(key)))
    }

    fn unlock(&self, path: &Path, bytes: &[u8]) -> anyhow::Result<CryptKey> {
        let file = KeyFile::parse(bytes)?;
        if !file.needs_passphrase() {
            return Ok(file.unlock(None)?);
        }
        let hint = file
            .hint
            .as_deref()
            .map(|hint| format!(" (hint: {hint})"))
            .unwrap_or_default();
        let prompt = format!("Password of {}{hint}: ", path.display());
        let password = secret::password(
            self.key_password_file.as_deref(),
            "FLEETHOLD_KEY_PASSWORD",
            &prompt,
        )?;
        let password = password.with_context(|| {
            format!(
                "the key file needs its password: give --key-password-file or FLEETHOLD_KEY_PASSWORD{hint}"
            )
        })?;
        Ok(file.unlock(Some(password.as_bytes()))?)
    }
}
