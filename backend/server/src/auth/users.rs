//! Users in PBS's own files, so that the command line works without the server and is seen by it at once.
//!
//! | file | lock | holds |
//! |---|---|---|
//! | `user.cfg` | `.user.lck` | who there is |
//! | `shadow.json` (0600) | `shadow.json.lock` | password hashes of realm `pbs`, sessions that ended (`endings`) |
//! | `token.shadow` | `token.shadow.lock` | hashes of token secrets |
//! | `acl.cfg` | `.acl.lck` | who may do what |
//!
//! [`UserStore::is_active`], [`UserStore::session_ended`] and [`UserStore::acl`] are asked on every request and answer from
//! memory, as of the last [`UserStore::look`]: `services::accounts` looks all the time, and whatever changes or verifies
//! something here looks, too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_fleet::FleetError;
use fleethold_fleet::config_file::{self, ConfigLock, LOCK_TIMEOUT, MODE_CONFIG, MODE_SECRET};
use fleethold_format::names::{Authid, Userid};
use fleethold_format::section_config::{Section, SectionConfig};

use super::acl::{AclFile, AclTree};
use super::watched::WatchedFile;
use crate::clock;

mod crypt_library;
mod endings;
mod error;
mod hash;
mod table;

pub use crypt_library::CryptLibraryError;
use endings::{Endings, Entries};
pub use error::UserError;
pub use hash::HashError;
pub use table::{UserEntry, UserTable};

/// Who may do what.
const ACL: &str = "acl.cfg";
/// Who there is.
const USERS: &str = "user.cfg";
/// Hashes of passwords, and what ended.
const SHADOW: &str = "shadow.json";
/// Length of an accepted password, in characters.
const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 8..=64;
/// The longest comment, in characters.
const MAX_COMMENT_CHARS: usize = 128;

/// The users of one configuration directory.
pub struct UserStore {
    directory: PathBuf,
    acl: AclFile,
    table: WatchedFile<UserTable, UserError>,
    endings: WatchedFile<Endings, UserError>,
}

impl UserStore {
    /// Reads `user.cfg`, `acl.cfg` and what ended from `shadow.json`; missing ones mean no users and no rights. Blocking,
    /// as are all methods that change or verify.
    ///
    /// # Errors
    /// A file cannot be read or is not valid.
    pub fn open(config_dir: &Path) -> Result<Self, UserError> {
        let file = |name| config_dir.join(name);
        Ok(Self {
            directory: config_dir.to_owned(),
            acl: AclFile::open(file(ACL))?,
            table: WatchedFile::open(file(USERS), "users", read_table)?,
            endings: WatchedFile::open(file(SHADOW), "ends of sessions", Endings::read)?,
        })
    }

    /// Reads again what changed. Blocks.
    pub fn look(&self) {
        self.acl.look();
        self.table.look();
        self.endings.look();
    }

    /// Files whose last edit cannot be read, so that an older content is in force, with the reason; all of them by name.
    #[must_use]
    pub fn problems(&self) -> [(&'static str, Option<Arc<str>>); 3] {
        [
            (ACL, self.acl.problem()),
            (USERS, self.table.problem()),
            (SHADOW, self.endings.problem()),
        ]
    }

    /// Whether a user or token exists, is enabled and not expired; for a token its user, too.
    #[must_use]
    pub fn is_active(&self, authid: &Authid) -> bool {
        self.table.get().is_active(authid, clock::epoch())
    }

    /// Who may do what, by `acl.cfg`.
    #[must_use]
    pub fn acl(&self) -> Arc<AclTree> {
        self.acl.tree()
    }

    /// Whether there is nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.get().entries.is_empty()
    }

    /// Everybody, users before their tokens.
    #[must_use]
    pub fn list(&self) -> Vec<UserEntry> {
        self.table.get().entries.values().cloned().collect()
    }

    /// Whether a ticket ended before its time: logged out, or issued before the password was set or the user switched off.
    #[must_use]
    pub fn session_ended(&self, user: &Userid, issued: i64) -> bool {
        self.endings.get().refuses(user, issued)
    }

    /// When to issue a ticket to `user`, not before `now` (epoch seconds).
    #[must_use]
    pub fn issue_time(&self, user: &Userid, now: i64) -> i64 {
        self.endings.get().issue_time(user, now)
    }

    /// Ends one ticket; it stays ended when the server starts again.
    ///
    /// # Errors
    /// `shadow.json` cannot be written.
    pub fn end_session(&self, user: &Userid, issued: i64) -> Result<(), UserError> {
        self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
            endings::end_one(entries, user, issued, clock::epoch());
        })
    }

    /// Whether this is the user's password and the user may act. Slow on purpose, also for somebody who does not exist.
    ///
    /// # Errors
    /// A file cannot be read, or the stored hash cannot be compared with.
    pub fn verify_password(&self, user: &Userid, password: &str) -> Result<bool, UserError> {
        Ok(self.sign_in(user, password, clock::epoch())?.is_some())
    }

    /// As [`UserStore::verify_password`]; when a ticket for it is to be issued. It is of the same reading as the hash: a
    /// password that is replaced meanwhile ends this ticket.
    ///
    /// # Errors
    /// As [`UserStore::verify_password`].
    pub fn sign_in(&self, user: &Userid, password: &str, now: i64) -> Result<Option<i64>, UserError> {
        let path = self.directory.join(SHADOW);
        let mut entries = if user.realm() == "pbs" {
            read_hashes(&path)?
        } else {
            Entries::new()
        };
        let stored = entries.remove(user.as_str());
        let good = self.verify(&user.clone().into(), password, stored, path)?;
        Ok(good.then(|| endings::issue_time(&entries, user, now)))
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

    /// Replaces the password of a user of realm `pbs` and ends all sessions, also when another process does it; returns
    /// when the first ticket that is good again is issued, epoch seconds.
    ///
    /// # Errors
    /// There is no such user, or the password is refused.
    pub fn set_password(&self, user: &Userid, password: &str) -> Result<i64, UserError> {
        check_user(user, password)?;
        self.table.look();
        if !self.table.get().has_user(user) {
            return Err(UserError::NotFound { user: user.clone() });
        }
        self.store_hash(user, password)
    }

    /// Switches a user on or off; takes effect at once in this process. Switched off, the sessions end for good.
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
        })?;
        if enabled {
            return Ok(());
        }
        self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
            endings::end_all(entries, user, clock::epoch());
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
        // The ends of sessions stay: a user who is added again does not get them back.
        self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
            entries.retain(|id, _| !of_user(id))
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
        // Who was added a moment ago may sign in, with the rights of this moment.
        self.look();
        Ok(good && self.is_active(authid))
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
        let path = self.directory.join(USERS);
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
        // At once, and while it is good: this is what a broken edit falls back to.
        self.table.look();
        Ok(())
    }

    fn edit_acl(&self, change: impl FnOnce(&str) -> String) -> Result<(), UserError> {
        let path = self.directory.join(ACL);
        let _locked = self.lock(".acl.lck")?;
        let before = read_text(&path)?;
        let after = change(&before);
        if after == before {
            return Ok(());
        }
        config_file::replace(&path, after.as_bytes(), MODE_CONFIG)?;
        self.acl.look();
        Ok(())
    }

    /// Hash and end of all sessions in one write: there is no moment in which one is new and the other old.
    fn store_hash(&self, user: &Userid, password: &str) -> Result<i64, UserError> {
        let made = hash::hash(password).map_err(|source| UserError::Hash {
            user: user.clone(),
            source,
        })?;
        self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
            entries.insert(user.to_string(), made);
            endings::end_all(entries, user, clock::epoch())
        })
    }

    fn edit_hashes<T>(
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
        Ok(changed)
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

/// Refuses users whose passwords are not kept here.
///
/// # Errors
/// [`UserError::Realm`]
pub fn check_realm(user: &Userid) -> Result<(), UserError> {
    if user.realm() == "pbs" {
        Ok(())
    } else {
        Err(UserError::Realm { user: user.clone() })
    }
}

fn check_user(user: &Userid, password: &str) -> Result<(), UserError> {
    check_realm(user)?;
    let chars = password.chars().count();
    if !PASSWORD_CHARS.contains(&chars) || password.contains(char::is_control) {
        return Err(UserError::Password {
            user: user.clone(),
            chars,
        });
    }
    Ok(())
}

fn read_text(path: &Path) -> Result<String, UserError> {
    String::from_utf8(config_file::read(path)?).map_err(|_| UserError::Invalid {
        path: path.to_owned(),
        message: "expected UTF-8 text".to_owned(),
    })
}

fn read_table(path: &Path) -> Result<UserTable, UserError> {
    UserTable::parse(path, &read_text(path)?)
}

fn read_hashes(path: &Path) -> Result<Entries, UserError> {
    let bytes = config_file::read(path)?;
    if bytes.is_empty() {
        return Ok(Entries::new());
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
