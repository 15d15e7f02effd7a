//! Users in PBS's own files, so that the command line works without the server and is seen by it at once.
//!
//! | file | lock | holds |
//! |---|---|---|
//! | `user.cfg` | `.user.lck` | who there is |
//! | `shadow.json` (0600) | `shadow.json.lock` | password hashes of realm `pbs` |
//! | `token.shadow` | `token.shadow.lock` | hashes of token secrets |
//! | `acl.cfg` | `.acl.lck` | who may do what |
//!
//! [`UserStore::is_active`] is asked on every request: it looks at the file's identity (one `stat`) and parses only when that moved.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use fleethold_fleet::FleetError;
use fleethold_fleet::config_file::{self, ConfigLock, LOCK_TIMEOUT, MODE_CONFIG, MODE_SECRET};
use fleethold_format::names::{Authid, Userid};
use fleethold_format::section_config::{Section, SectionConfig};

use super::acl::{AclFile, AclTree};
use crate::clock;

mod crypt_library;
mod error;
mod hash;
mod table;

pub use crypt_library::CryptLibraryError;
pub use error::UserError;
pub use hash::HashError;
pub use table::{UserEntry, UserTable};

/// Length of an accepted password, in characters.
const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 8..=64;
/// The longest comment, in characters.
const MAX_COMMENT_CHARS: usize = 128;

/// Tells one state of a file from another without reading it.
type Identity = Option<(u64, u64, i64, i64)>;

struct Known {
    identity: Identity,
    table: Arc<UserTable>,
}

/// The users of one configuration directory.
pub struct UserStore {
    directory: PathBuf,
    acl: AclFile,
    known: ArcSwap<Known>,
}

impl UserStore {
    /// Reads `user.cfg` and `acl.cfg`; missing ones mean no users and no rights. Blocking, as are all methods that change or verify.
    ///
    /// # Errors
    /// A file cannot be read or is not valid.
    pub fn open(config_dir: &Path) -> Result<Self, UserError> {
        let (identity, table) = read_table(&config_dir.join("user.cfg"))?;
        Ok(Self {
            directory: config_dir.to_owned(),
            acl: AclFile::open(config_dir.join("acl.cfg"))?,
            known: ArcSwap::from_pointee(Known {
                identity,
                table: Arc::new(table),
            }),
        })
    }

    /// Whether a user or token exists, is enabled and not expired; for a token its user, too.
    #[must_use]
    pub fn is_active(&self, authid: &Authid) -> bool {
        self.table().is_active(authid, clock::epoch())
    }

    /// Who may do what, as `acl.cfg` says now.
    #[must_use]
    pub fn acl(&self) -> Arc<AclTree> {
        self.acl.tree()
    }

    /// Whether there is nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table().entries.is_empty()
    }

    /// Everybody, users before their tokens.
    #[must_use]
    pub fn list(&self) -> Vec<UserEntry> {
        self.table().entries.values().cloned().collect()
    }

    /// Whether this is the user's password and the user may act. Slow on purpose, also for somebody who does not exist.
    ///
    /// # Errors
    /// A file cannot be read, or the stored hash cannot be compared with.
    pub fn verify_password(&self, user: &Userid, password: &str) -> Result<bool, UserError> {
        let path = self.shadow();
        let stored = if user.realm() == "pbs" {
            read_hashes(&path)?.remove(user.as_str())
        } else {
            None
        };
        self.verify(&user.clone().into(), password, stored, path)
    }

    /// Whether this is the token's secret and the token and its user may act.
    ///
    /// # Errors
    /// As [`UserStore::verify_password`].
    pub fn verify_token(&self, authid: &Authid, secret: &str) -> Result<bool, UserError> {
        let path = self.directory.join("token.shadow");
        let stored = if authid.token.is_some() {
            read_hashes(&path)?.remove(&authid.to_string())
        } else {
            None
        };
        self.verify(authid, secret, stored, path)
    }

    /// Adds a user of realm `pbs` with a password.
    ///
    /// # Errors
    /// The user exists, or user, password or comment are refused.
    pub fn add(&self, user: &Userid, password: &str, comment: Option<&str>) -> Result<(), UserError> {
        check_user(user, password)?;
        if let Some(comment) = comment
            && (comment.chars().count() > MAX_COMMENT_CHARS || comment.contains(char::is_control))
        {
            return Err(UserError::Comment {
                user: user.clone(),
                chars: comment.chars().count(),
            });
        }
        self.edit_users(|config| {
            if config.section(user.as_str()).is_some() {
                return Err(UserError::Exists { user: user.clone() });
            }
            // The hash first: a user must not exist, however briefly, whom an old entry in shadow.json would let in.
            self.store_hash(user, password)?;
            let mut section = Section::new("user", user.as_str());
            if let Some(comment) = comment.map(str::trim).filter(|comment| !comment.is_empty()) {
                section.set("comment", comment);
            }
            config.sections.push(section);
            Ok(())
        })
    }

    /// Adds a user who may do everything.
    ///
    /// # Errors
    /// As [`UserStore::add`] and [`UserStore::grant_everything`].
    pub fn create_admin(&self, user: &Userid, password: &str) -> Result<(), UserError> {
        self.add(user, password, None)?;
        self.grant_everything(user)
    }

    /// Lets a user do everything.
    ///
    /// # Errors
    /// `acl.cfg` cannot be written.
    pub fn grant_everything(&self, user: &Userid) -> Result<(), UserError> {
        self.edit_acl(|text| {
            let mut text = text.to_owned();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("acl:1:/:{user}:Admin\n"));
            text
        })
    }

    /// Replaces the password of a user of realm `pbs`.
    ///
    /// # Errors
    /// There is no such user, or the password is refused.
    pub fn set_password(&self, user: &Userid, password: &str) -> Result<(), UserError> {
        check_user(user, password)?;
        if !self.table().has_user(user) {
            return Err(UserError::NotFound { user: user.clone() });
        }
        self.store_hash(user, password)
    }

    /// Switches a user on or off; takes effect on the user's next request.
    ///
    /// # Errors
    /// There is no such user.
    pub fn set_enabled(&self, user: &Userid, enabled: bool) -> Result<(), UserError> {
        self.edit_users(|config| {
            let section = config
                .section_mut(user.as_str())
                .ok_or_else(|| UserError::NotFound { user: user.clone() })?;
            if enabled {
                section.unset("enable");
            } else {
                section.set("enable", "false");
            }
            Ok(())
        })
    }

    /// Removes a user and the user's tokens, with their hashes and their rights: a later user of that name starts with none.
    ///
    /// # Errors
    /// There is no such user.
    pub fn remove(&self, user: &Userid) -> Result<(), UserError> {
        let of_user = |id: &str| {
            id == user.as_str()
                || id
                    .strip_prefix(user.as_str())
                    .is_some_and(|rest| rest.starts_with('!'))
        };
        self.edit_users(|config| {
            if config.section(user.as_str()).is_none() {
                return Err(UserError::NotFound { user: user.clone() });
            }
            self.edit_acl(|text| without_user(text, &of_user))?;
            config.sections.retain(|section| !of_user(&section.id));
            Ok(())
        })?;
        self.edit_hashes("shadow.json", MODE_SECRET, |hashes| {
            hashes.retain(|id, _| !of_user(id))
        })?;
        self.edit_hashes("token.shadow", MODE_CONFIG, |hashes| {
            hashes.retain(|id, _| !of_user(id))
        })
    }

    fn verify(
        &self,
        authid: &Authid,
        secret: &str,
        stored: Option<String>,
        path: PathBuf,
    ) -> Result<bool, UserError> {
        let Some(stored) = stored else {
            // As much work as for a user who exists, so that time does not tell who does.
            hash::hash(secret).map_err(|source| UserError::Hash {
                user: authid.user.clone(),
                source,
            })?;
            return Ok(false);
        };
        let good = hash::verify(secret, &stored).map_err(|source| UserError::StoredHash {
            authid: authid.clone(),
            path,
            source,
        })?;
        Ok(good && self.is_active(authid))
    }

    /// The users as the file has them now. A file that cannot be read or parsed keeps the last good ones.
    fn table(&self) -> Arc<UserTable> {
        let path = self.directory.join("user.cfg");
        let known = self.known.load();
        if identity(&path) == known.identity {
            return Arc::clone(&known.table);
        }
        match read_table(&path) {
            Ok((identity, table)) => {
                let table = Arc::new(table);
                self.known.store(Arc::new(Known {
                    identity,
                    table: Arc::clone(&table),
                }));
                table
            }
            Err(error) => {
                tracing::error!(%error, "keeping the last good users");
                // Remembered as seen, so that this is logged once and not on each request.
                let table = Arc::clone(&known.table);
                self.known.store(Arc::new(Known {
                    identity: identity(&path),
                    table: Arc::clone(&table),
                }));
                table
            }
        }
    }

    fn shadow(&self) -> PathBuf {
        self.directory.join("shadow.json")
    }

    fn lock(&self, name: &str) -> Result<ConfigLock, UserError> {
        std::fs::create_dir_all(&self.directory).map_err(|source| FleetError::Io {
            action: "create the directory",
            path: self.directory.clone(),
            source,
        })?;
        Ok(ConfigLock::acquire(&self.directory.join(name), LOCK_TIMEOUT)?)
    }

    fn edit_users(
        &self,
        change: impl FnOnce(&mut SectionConfig) -> Result<(), UserError>,
    ) -> Result<(), UserError> {
        let path = self.directory.join("user.cfg");
        let _locked = self.lock(".user.lck")?;
        let text = read_text(&path)?;
        // A file that is broken in some other way is not written over.
        UserTable::parse(&path, &text)?;
        let invalid = |message: String| UserError::Invalid {
            path: path.clone(),
            message,
        };
        let mut config = SectionConfig::parse(&text).map_err(|error| invalid(error.to_string()))?;
        change(&mut config)?;
        let text = config.write().map_err(|error| invalid(error.to_string()))?;
        config_file::replace(&path, text.as_bytes(), MODE_CONFIG)?;
        self.table();
        Ok(())
    }

    fn edit_acl(&self, change: impl FnOnce(&str) -> String) -> Result<(), UserError> {
        let path = self.directory.join("acl.cfg");
        let _locked = self.lock(".acl.lck")?;
        let before = read_text(&path)?;
        let after = change(&before);
        if after == before {
            return Ok(());
        }
        Ok(config_file::replace(&path, after.as_bytes(), MODE_CONFIG)?)
    }

    fn store_hash(&self, user: &Userid, password: &str) -> Result<(), UserError> {
        let made = hash::hash(password).map_err(|source| UserError::Hash {
            user: user.clone(),
            source,
        })?;
        self.edit_hashes("shadow.json", MODE_SECRET, |hashes| {
            hashes.insert(user.to_string(), made);
        })
    }

    fn edit_hashes(
        &self,
        name: &str,
        mode: u32,
        change: impl FnOnce(&mut BTreeMap<String, String>),
    ) -> Result<(), UserError> {
        let path = self.directory.join(name);
        let _locked = self.lock(&format!("{name}.lock"))?;
        let mut hashes = read_hashes(&path)?;
        let before = hashes.clone();
        change(&mut hashes);
        if hashes == before {
            return Ok(());
        }
        let mut text = serde_json::to_vec_pretty(&hashes).map_err(|error| UserError::Invalid {
            path: path.clone(),
            message: error.to_string(),
        })?;
        text.push(b'\n');
        Ok(config_file::replace(&path, &text, mode)?)
    }
}

/// The rules of `acl.cfg` (`acl:<propagate>:<path>:<who>,…:<role>,…`) without somebody; other lines stay as they are.
fn without_user(text: &str, of_user: &dyn Fn(&str) -> bool) -> String {
    let kept = |line: &str| {
        let mut fields: Vec<&str> = line.split(':').collect();
        let Some(who) = fields.get_mut(3) else {
            return Some(line.to_owned());
        };
        let left = who
            .split(',')
            .filter(|id| !of_user(id.trim()))
            .collect::<Vec<_>>()
            .join(",");
        if left.is_empty() {
            return None;
        }
        *who = &left;
        Some(fields.join(":"))
    };
    text.split_inclusive('\n').filter_map(kept).collect()
}

fn check_user(user: &Userid, password: &str) -> Result<(), UserError> {
    if user.realm() != "pbs" {
        return Err(UserError::Realm { user: user.clone() });
    }
    let chars = password.chars().count();
    if !PASSWORD_CHARS.contains(&chars) || password.contains(char::is_control) {
        return Err(UserError::Password {
            user: user.clone(),
            chars,
        });
    }
    Ok(())
}

fn identity(path: &Path) -> Identity {
    let metadata = std::fs::metadata(path).ok()?;
    Some((
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    ))
}

fn read_text(path: &Path) -> Result<String, UserError> {
    String::from_utf8(config_file::read(path)?).map_err(|_| UserError::Invalid {
        path: path.to_owned(),
        message: "expected UTF-8 text".to_owned(),
    })
}

fn read_table(path: &Path) -> Result<(Identity, UserTable), UserError> {
    // Taken before reading: a change in between is then seen as one by the next look.
    let identity = identity(path);
    Ok((identity, UserTable::parse(path, &read_text(path)?)?))
}

fn read_hashes(path: &Path) -> Result<BTreeMap<String, String>, UserError> {
    let bytes = config_file::read(path)?;
    if bytes.is_empty() {
        return Ok(BTreeMap::new());
    }
    serde_json::from_slice(&bytes).map_err(|error| UserError::Invalid {
        path: path.to_owned(),
        // The parser's words would quote the text, and with it perhaps a hash.
        message: format!(
            "line {}, column {}: expected a JSON object of hashes",
            error.line(),
            error.column()
        ),
    })
}

#[cfg(test)]
mod tests;
