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

use fleethold_fleet::config_file::MODE_SECRET;
use fleethold_format::names::{Authid, Userid};

use super::acl::{AclFile, AclTree};
use super::watched::WatchedFile;
use crate::clock;

mod change;
mod crypt_library;
mod endings;
mod error;
mod fields;
mod files;
mod hash;
mod people;
mod rules;
mod table;
mod tokens;

pub use change::Change;
pub use crypt_library::CryptLibraryError;
use endings::{Endings, Entries};
pub use error::UserError;
pub use fields::{Deletable, Fields};
pub use files::Digest;
use files::{read_hashes, read_table};
pub use hash::HashError;
pub use table::{UserEntry, UserTable};
pub use tokens::TokenSecret;

/// Who may do what.
const ACL: &str = "acl.cfg";
/// Who there is.
const USERS: &str = "user.cfg";
/// Hashes of passwords, and what ended.
const SHADOW: &str = "shadow.json";
/// Hashes of the secrets of tokens.
const TOKENS: &str = "token.shadow";

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

    /// Everybody, as of the last look.
    #[must_use]
    pub fn table(&self) -> Arc<UserTable> {
        self.table.get()
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
        let path = self.directory.join(TOKENS);
        let stored = if authid.token.is_some() {
            read_hashes(&path)?.remove(&authid.to_string())
        } else {
            None
        };
        self.verify(authid, secret, stored, path)
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

#[cfg(test)]
mod change_tests;
#[cfg(test)]
mod tests;
