//! Users: made, changed, removed, given passwords. Each change is one write of `user.cfg`.

use fleethold_fleet::config_file::{MODE_CONFIG, MODE_SECRET};
use fleethold_format::names::{Authid, Userid};
use fleethold_format::section_config::{Section, SectionEdit};
use serde_json::Value;

use super::fields::{Deletable, Fields};
use super::files::Digest;
use super::{Change, SHADOW, TOKENS, UserError, UserStore, check_realm, endings, hash};
use crate::clock;

/// Length of an accepted password, in characters.
const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 8..=64;

impl UserStore {
    /// Adds a user of realm `pbs` with a password.
    ///
    /// # Errors
    /// As [`UserStore::create`].
    pub fn add(&self, user: &Userid, password: &str, comment: Option<&str>) -> Result<Change, UserError> {
        let fields = Fields {
            comment: comment.map(str::to_owned),
            ..Fields::default()
        };
        self.create(user, Some(password), &fields, None)
    }

    /// Adds a user of realm `pbs`; without a password nobody can sign in as it, and only its tokens act.
    ///
    /// # Errors
    /// The user exists, the file is not that of `digest`, or user, password or a property are refused.
    pub fn create(
        &self,
        user: &Userid,
        password: Option<&str>,
        fields: &Fields,
        digest: Option<&Digest>,
    ) -> Result<Change, UserError> {
        check_realm(user)?;
        // Outside of the lock: it takes some 20 ms.
        let made = password.map(|password| new_hash(user, password)).transpose()?;
        let authid = Authid::from(user.clone());
        let ((), table) = self.edit_users(digest, |edit, table| {
            if table.get(&authid).is_some() {
                return Err(UserError::Exists {
                    authid: authid.clone(),
                });
            }
            add_section(edit, "user", &authid, fields)?;
            // The hash first: a user must not exist, however briefly, whom an old entry in shadow.json would let in.
            self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
                entries.remove(user.as_str());
                if let Some(made) = made {
                    entries.insert(user.to_string(), made);
                    endings::end_all(entries, user, clock::epoch());
                }
            })
        })?;
        let change = Change::of("user.create", &authid, None, table.get(&authid));
        Ok(if password.is_some() {
            change.with_new("password")
        } else {
            change
        })
    }

    /// Adds a user who may do everything.
    ///
    /// # Errors
    /// As [`UserStore::add`] and [`UserStore::grant_everything`].
    pub fn create_admin(&self, user: &Userid, password: &str) -> Result<[Change; 2], UserError> {
        let added = self.add(user, password, None)?;
        Ok([added, self.grant_everything(user)?])
    }

    /// Changes properties of a user. Switched off, the sessions end for good; in this process at once.
    ///
    /// # Errors
    /// There is no such user, the file is not that of `digest`, or a property is refused.
    pub fn update(
        &self,
        user: &Userid,
        fields: &Fields,
        delete: &[Deletable],
        digest: Option<&Digest>,
    ) -> Result<Change, UserError> {
        let authid = Authid::from(user.clone());
        let change = self.change_entry("user.update", &authid, fields, delete, digest)?;
        if fields.enable == Some(false) {
            self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
                endings::end_all(entries, user, clock::epoch());
            })?;
        }
        Ok(change)
    }

    /// Switches a user on or off, as [`UserStore::update`] does.
    ///
    /// # Errors
    /// There is no such user.
    pub fn set_enabled(&self, user: &Userid, enabled: bool) -> Result<Change, UserError> {
        let fields = Fields {
            enable: Some(enabled),
            ..Fields::default()
        };
        self.update(user, &fields, &[], None)
    }

    /// Replaces the password of a user of realm `pbs` and ends all sessions, also when another process does it; returns
    /// when the first ticket that is good again is issued, epoch seconds.
    ///
    /// # Errors
    /// There is no such user, or the password is refused.
    pub fn set_password(&self, user: &Userid, password: &str) -> Result<(i64, Change), UserError> {
        check_realm(user)?;
        let made = new_hash(user, password)?;
        let authid = Authid::from(user.clone());
        self.table.look();
        if self.table.get().get(&authid).is_none() {
            return Err(UserError::NotFound { authid });
        }
        // Hash and end of all sessions in one write: there is no moment in which one is new and the other old.
        let issued = self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
            entries.insert(user.to_string(), made);
            endings::end_all(entries, user, clock::epoch())
        })?;
        let change = Change {
            action: "user.password",
            target: user.to_string(),
            old: Value::Null,
            new: Value::Null,
        };
        Ok((issued, change.with_new("password")))
    }

    /// Removes a user and the user's tokens, with their hashes and their rights: a later user of that name starts with none.
    ///
    /// # Errors
    /// There is no such user, or the file is not that of `digest`.
    pub fn remove(&self, user: &Userid, digest: Option<&Digest>) -> Result<Change, UserError> {
        let authid = Authid::from(user.clone());
        let is_of_user = |id: &str| {
            id == user.as_str()
                || id
                    .strip_prefix(user.as_str())
                    .is_some_and(|rest| rest.starts_with('!'))
        };
        let (change, _) = self.edit_users(digest, |edit, table| {
            let Some(entry) = table.get(&authid) else {
                return Err(UserError::NotFound { authid });
            };
            self.drop_rules(&is_of_user)?;
            edit.remove(user.as_str());
            for token in table.tokens_of(user) {
                edit.remove(&token.authid.to_string());
            }
            Ok(Change::of("user.delete", &entry.authid, Some(entry), None).with_tokens(table, user))
        })?;
        // The ends of sessions stay: a user who is added again does not get them back.
        self.edit_hashes(SHADOW, MODE_SECRET, |entries| {
            entries.retain(|id, _| !is_of_user(id));
        })?;
        self.edit_hashes(TOKENS, MODE_CONFIG, |hashes| {
            hashes.retain(|id, _| !is_of_user(id));
        })?;
        Ok(change)
    }

    /// Changes properties of a user or token.
    pub(super) fn change_entry(
        &self,
        action: &'static str,
        authid: &Authid,
        fields: &Fields,
        delete: &[Deletable],
        digest: Option<&Digest>,
    ) -> Result<Change, UserError> {
        let (old, table) = self.edit_users(digest, |edit, table| {
            let Some(entry) = table.get(authid) else {
                return Err(UserError::NotFound {
                    authid: authid.clone(),
                });
            };
            for property in delete {
                edit.unset(&authid.to_string(), property.as_str());
            }
            fields.write(edit, authid)?;
            Ok(entry.clone())
        })?;
        Ok(Change::of(action, authid, Some(&old), table.get(authid)))
    }
}

/// A section of a new user or token.
pub(super) fn add_section(
    edit: &mut SectionEdit,
    ty: &str,
    authid: &Authid,
    fields: &Fields,
) -> Result<(), UserError> {
    let added = edit.add(&Section::new(ty, &authid.to_string()));
    added.map_err(|error| UserError::Field {
        authid: authid.clone(),
        field: "id",
        expected: "an id that is free and can stand in user.cfg",
        found: error.to_string(),
    })?;
    fields.write(edit, authid)
}

fn new_hash(user: &Userid, password: &str) -> Result<String, UserError> {
    let chars = password.chars().count();
    if !PASSWORD_CHARS.contains(&chars) || password.contains(char::is_control) {
        return Err(UserError::Password {
            user: user.clone(),
            chars,
        });
    }
    hash::hash(password).map_err(|source| UserError::Hash {
        user: user.clone(),
        source,
    })
}
