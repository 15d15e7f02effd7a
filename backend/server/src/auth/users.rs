//! Users in PBS's own files, so that the command line works without the server and is seen by it at once.
//!
//! | file | lock | holds |
//! |---|---|---|
//! | `user.cfg` | `.user.lck` | who there is |
//! | `shadow.json` (0600) | `shadow.json.lock` | password hashes of realm `pbs`, sessions that ended (`endings`) |
//! | `token.shadow` | `token.shadow.lock` | hashes of token secrets |
//! | `acl.cfg` | `.acl.lck` | who may do what |
//!
//! [`UserStore::is_active`], [`UserStore::token_hash`], [`UserStore::session_ended`] and [`UserStore::acl`] are asked on every
//! request and answer from memory, as of the last [`UserStore::look`]: `auth::changes` looks when a file was written,
//! `services::accounts` now and then, and whatever changes or verifies something here looks, too.

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
mod token_hashes;
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
use token_hashes::TokenHashes;
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
    tokens: WatchedFile<TokenHashes, UserError>,
}

impl UserStore {
    /// Reads `user.cfg`, `acl.cfg`, `token.shadow` and what ended from `shadow.json`; missing ones mean no users and no rights. Blocking,
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
            tokens: WatchedFile::open(file(TOKENS), "secrets of tokens", TokenHashes::read)?,
        })
    }

    /// Reads again what changed. Blocks.
    pub fn look(&self) {
        self.acl.look();
        self.table.look();
        self.endings.look();
        self.tokens.look();
    }

    /// Reads those files again that are known to have changed, by name. Blocks.
    pub fn reread(&self, changed: impl Fn(&str) -> bool) {
        if changed(ACL) {
            self.acl.reread();
        }
        if changed(USERS) {
            self.table.reread();
        }
        if changed(SHADOW) {
            self.endings.reread();
        }
        if changed(TOKENS) {
            self.tokens.reread();
        }
    }

    /// The configuration directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Files whose last edit cannot be read, so that an older content is in force, with the reason; all of them by name.
    #[must_use]
    pub fn problems(&self) -> [(&'static str, Option<Arc<str>>); 4] {
        [
            (ACL, self.acl.problem()),
            (USERS, self.table.problem()),
            (SHADOW, self.endings.problem()),
            (TOKENS, self.tokens.problem()),
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

    /// The stored hash of a token's secret.
    #[must_use]
    pub fn token_hash(&self, token: &Authid) -> Option<Arc<str>> {
        token.token.as_ref()?;
        self.tokens.get().of(token)
    }

    /// Whether this is the token's secret and the token and its user may act. Slow on purpose where there is such a token.
    ///
    /// # Errors
    /// The stored hash cannot be compared with.
    pub fn verify_token(&self, token: &Authid, secret: &str) -> Result<bool, UserError> {
        self.look();
        match self.token_hash(token) {
            Some(stored) => Ok(self.is_secret(token, secret, &stored)? && self.is_active(token)),
            None => Ok(false),
        }
    }

    /// Whether this is the secret that a stored hash was made of. Slow on purpose.
    ///
    /// # Errors
    /// The stored hash cannot be compared with.
    pub fn is_secret(&self, token: &Authid, secret: &str, stored: &str) -> Result<bool, UserError> {
        hash::verify(secret, stored).map_err(|source| UserError::StoredHash {
            authid: token.clone(),
            path: self.directory.join(TOKENS),
            source,
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
