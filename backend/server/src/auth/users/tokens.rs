//! API tokens: made, changed, removed. Their secrets are random and said once.

use fleethold_fleet::config_file::MODE_CONFIG;
use fleethold_format::names::Authid;
use zeroize::Zeroizing;

use super::fields::{Deletable, Fields};
use super::files::Digest;
use super::people::add_section;
use super::{Change, TOKENS, UserError, UserStore, hash};

/// The text of a token's secret, a UUID: 122 random bits.
pub type TokenSecret = Zeroizing<String>;

impl UserStore {
    /// Adds a token of a user and says its secret.
    ///
    /// # Errors
    /// There is no such user or there is such a token, the file is not that of `digest`, or a property is refused.
    pub fn create_token(
        &self,
        token: &Authid,
        fields: &Fields,
        digest: Option<&Digest>,
    ) -> Result<(TokenSecret, Change), UserError> {
        let (secret, made) = new_secret(token)?;
        let ((), table) = self.edit_users(digest, |edit, table| {
            let user = Authid::from(token.user.clone());
            if table.get(&user).is_none() {
                return Err(UserError::NotFound { authid: user });
            }
            if token.token.is_none() || table.get(token).is_some() {
                return Err(UserError::Exists {
                    authid: token.clone(),
                });
            }
            add_section(edit, "token", token, fields)?;
            // As with passwords: the hash is there, and is the new one, before the token is.
            self.edit_hashes(TOKENS, MODE_CONFIG, |hashes| {
                hashes.insert(token.to_string(), made);
            })
        })?;
        let change = Change::of("token.create", token, None, table.get(token));
        Ok((secret, change.with_new("secret")))
    }

    /// Changes properties of a token; with `regenerate` its old secret is good no more, and the new one is said.
    ///
    /// # Errors
    /// There is no such token, the file is not that of `digest`, or a property is refused.
    pub fn update_token(
        &self,
        token: &Authid,
        fields: &Fields,
        delete: &[Deletable],
        regenerate: bool,
        digest: Option<&Digest>,
    ) -> Result<(Option<TokenSecret>, Change), UserError> {
        let fresh = if regenerate {
            Some(new_secret(token)?)
        } else {
            None
        };
        let change = self.change_entry("token.update", token, fields, delete, digest)?;
        let Some((secret, made)) = fresh else {
            return Ok((None, change));
        };
        self.edit_hashes(TOKENS, MODE_CONFIG, |hashes| {
            hashes.insert(token.to_string(), made);
        })?;
        Ok((Some(secret), change.with_new("secret")))
    }

    /// Removes a token with its hash and its rights: a later token of that name starts with none.
    ///
    /// # Errors
    /// There is no such token, or the file is not that of `digest`.
    pub fn remove_token(&self, token: &Authid, digest: Option<&Digest>) -> Result<Change, UserError> {
        let id = token.to_string();
        let (change, _) = self.edit_users(digest, |edit, table| {
            let Some(entry) = table.get(token).filter(|_| token.token.is_some()) else {
                return Err(UserError::NotFound {
                    authid: token.clone(),
                });
            };
            self.drop_rules(&|who| who == id)?;
            edit.remove(&id);
            Ok(Change::of("token.delete", token, Some(entry), None))
        })?;
        self.edit_hashes(TOKENS, MODE_CONFIG, |hashes| {
            hashes.remove(&id);
        })?;
        Ok(change)
    }
}

fn new_secret(token: &Authid) -> Result<(TokenSecret, String), UserError> {
    let secret = Zeroizing::new(uuid::Uuid::new_v4().to_string());
    let made = hash::hash(&secret).map_err(|source| UserError::Hash {
        user: token.user.clone(),
        source,
    })?;
    Ok((secret, made))
}
