//! Users, realms and API tokens.

use std::fmt;

use super::{NameError, is_safe_id, name_text, string_name};

string_name!(
    /// Where a user is looked up: `pbs`, `pam`, …; 2 to 32 characters.
    Realm,
    "realm",
    "2 to 32 letters, digits, `_`, `.` or `-`, not beginning with `.` or `-`",
    |text| (2..=32).contains(&text.len()) && is_safe_id(text)
);

string_name!(
    /// Name of an API token of a user; 3 to 64 characters.
    TokenName,
    "token name",
    "3 to 64 letters, digits, `_`, `.` or `-`, not beginning with `.` or `-`",
    |text| (3..=64).contains(&text.len()) && is_safe_id(text)
);

string_name!(
    /// A user, `name@realm`; 3 to 64 characters.
    Userid,
    "user id",
    "`name@realm` of 3 to 64 characters, the name without spaces, `:`, `/` and control characters",
    is_userid
);

fn is_userid(text: &str) -> bool {
    (3..=64).contains(&text.chars().count())
        && text.rsplit_once('@').is_some_and(|(name, realm)| {
            !name.is_empty()
                && !name
                    .chars()
                    .any(|c| c.is_whitespace() || c.is_control() || matches!(c, ':' | '/'))
                && Realm::parse(realm).is_ok()
        })
}

impl Userid {
    /// The part before the last `@`.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('@').map_or(&*self.0, |(name, _)| name)
    }

    /// The part after the last `@`.
    pub fn realm(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, realm)| realm)
    }

    /// Whether this is `root@pam`, who may do everything.
    pub fn is_root(&self) -> bool {
        &*self.0 == "root@pam"
    }
}

/// Who acts: a user, or one of a user's API tokens (`name@realm!token`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Authid {
    /// The user.
    pub user: Userid,
    /// The token, when it is not the user in person.
    pub token: Option<TokenName>,
}

impl Authid {
    /// Checks `name@realm` or `name@realm!token`.
    ///
    /// # Errors
    /// A [`NameError`] for the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        // The name may hold an `!`, the realm may not: only one behind the last `@` begins a token.
        let realm_at = text.rfind('@').unwrap_or(0);
        match text.get(realm_at..).and_then(|realm| realm.find('!')) {
            None => Ok(Self {
                user: Userid::parse(text)?,
                token: None,
            }),
            Some(at) => {
                let (user, token) = text.split_at(realm_at + at);
                let token = token.strip_prefix('!').unwrap_or(token);
                Ok(Self {
                    user: Userid::parse(user)?,
                    token: Some(TokenName::parse(token)?),
                })
            }
        }
    }
}

impl From<Userid> for Authid {
    fn from(user: Userid) -> Self {
        Self { user, token: None }
    }
}

impl fmt::Display for Authid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.token {
            None => write!(f, "{}", self.user),
            Some(token) => write!(f, "{}!{token}", self.user),
        }
    }
}

name_text!(Authid);
