//! Reading, changing and writing the files, each under its lock and as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fleethold_fleet::FleetError;
use fleethold_fleet::config_file::{self, ConfigLock, LOCK_TIMEOUT, MODE_CONFIG};
use fleethold_format::section_config::SectionEdit;

use super::endings::Entries;
use super::{ACL, USERS, UserError, UserStore, UserTable};
use crate::auth::acl::AclTree;

/// SHA-256 of the file that a change is meant for.
pub type Digest = [u8; 32];

impl UserStore {
    /// Changes `user.cfg`; `change` also gets who is in it before.
    pub(super) fn edit_users<T>(
        &self,
        digest: Option<&Digest>,
        change: impl FnOnce(&mut SectionEdit, &UserTable) -> Result<T, UserError>,
    ) -> Result<(T, UserTable), UserError> {
        let path = self.directory.join(USERS);
        let _locked = self.lock(".user.lck")?;
        let text = read_text(&path)?;
        check_digest(&path, &text, digest)?;
        // A file that is broken in some other way is not written over.
        let before = UserTable::parse(&path, &text)?;
        let invalid = |message: String| UserError::Invalid {
            path: path.clone(),
            message,
        };
        let mut edit = SectionEdit::parse(&text).map_err(|error| invalid(error.to_string()))?;
        let done = change(&mut edit, &before)?;
        let after = edit.text();
        // Nothing is written that would not be read back.
        let table = UserTable::parse(&path, &after)?;
        if after != text {
            config_file::replace(&path, after.as_bytes(), MODE_CONFIG)?;
        }
        // At once, and while it is good: this is what a broken edit falls back to.
        self.table.look();
        Ok((done, table))
    }

    /// Changes `acl.cfg`; returns the rules before and after.
    pub(super) fn edit_acl(
        &self,
        digest: Option<&Digest>,
        change: impl FnOnce(&str) -> String,
    ) -> Result<(AclTree, AclTree), UserError> {
        let path = self.directory.join(ACL);
        let _locked = self.lock(".acl.lck")?;
        let text = read_text(&path)?;
        check_digest(&path, &text, digest)?;
        let before = AclTree::parse(&path, &text)?;
        let changed = change(&text);
        let after = AclTree::parse(&path, &changed)?;
        if changed != text {
            config_file::replace(&path, changed.as_bytes(), MODE_CONFIG)?;
            self.acl.look();
        }
        Ok((before, after))
    }

    /// Changes a file of hashes.
    pub(super) fn edit_hashes<T>(
        &self,
        name: &str,
        mode: u32,
        change: impl FnOnce(&mut Entries) -> T,
    ) -> Result<T, UserError> {
        let path = self.directory.join(name);
        let _locked = self.lock(&format!("{name}.lock"))?;
        let mut hashes = read_hashes(&path)?;
        let before = hashes.clone();
        let changed = change(&mut hashes);
        if hashes == before {
            return Ok(changed);
        }
        let mut text = serde_json::to_vec_pretty(&hashes).map_err(|error| UserError::Invalid {
            path: path.clone(),
            message: error.to_string(),
        })?;
        text.push(b'\n');
        config_file::replace(&path, &text, mode)?;
        self.endings.look();
        self.tokens.look();
        Ok(changed)
    }

    fn lock(&self, name: &str) -> Result<ConfigLock, UserError> {
        std::fs::create_dir_all(&self.directory).map_err(|source| FleetError::Io {
            action: "create the directory",
            path: self.directory.clone(),
            source,
        })?;
        Ok(ConfigLock::acquire(&self.directory.join(name), LOCK_TIMEOUT)?)
    }
}

fn check_digest(path: &Path, text: &str, wanted: Option<&Digest>) -> Result<(), UserError> {
    let found = config_file::digest(text.as_bytes());
    match wanted {
        Some(expected) if *expected != found => Err(UserError::Modified {
            path: path.to_owned(),
            expected: hex::encode(expected),
            found: hex::encode(found),
        }),
        _ => Ok(()),
    }
}

fn read_text(path: &Path) -> Result<String, UserError> {
    String::from_utf8(config_file::read(path)?).map_err(|_| UserError::Invalid {
        path: path.to_owned(),
        message: "expected UTF-8 text".to_owned(),
    })
}

pub(super) fn read_table(path: &Path) -> Result<UserTable, UserError> {
    UserTable::parse(path, &read_text(path)?)
}

pub(super) fn read_hashes(path: &Path) -> Result<BTreeMap<String, String>, UserError> {
    let bytes = config_file::read(path)?;
    if bytes.is_empty() {
        return Ok(Entries::new());
    }
    serde_json::from_slice(&bytes).map_err(|error| UserError::Invalid {
        path: PathBuf::from(path),
        // The parser's words would quote the text, and with it perhaps a hash.
        message: format!(
            "line {}, column {}: expected a JSON object of hashes",
            error.line(),
            error.column()
        ),
    })
}
