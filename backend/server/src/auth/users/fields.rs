//! The properties of a user or token that people set (CONFIG.md §3.1).

use fleethold_format::names::Authid;
use fleethold_format::section_config::SectionEdit;
use serde::Serialize;

use super::error::UserError;

/// The longest comment, in characters.
const MAX_COMMENT: usize = 128;
/// The longest name or address, in characters.
const MAX_NAME: usize = 64;

/// Properties; absent ones stand for PBS's defaults, or, in a change, for what stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Fields {
    /// The administrator's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Whether it may act; `true` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<bool>,
    /// When it ends, epoch seconds; 0, as when absent, means never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire: Option<i64>,
    /// First name of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firstname: Option<String>,
    /// Last name of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lastname: Option<String>,
    /// Address of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A property that can be taken away by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletable {
    /// The comment.
    Comment,
    /// The first name.
    Firstname,
    /// The last name.
    Lastname,
    /// The address.
    Email,
}

impl Deletable {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Comment, Self::Firstname, Self::Lastname, Self::Email];

    /// The property's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Firstname => "firstname",
            Self::Lastname => "lastname",
            Self::Email => "email",
        }
    }
}

impl Fields {
    /// Writes what is given into somebody's section; an empty text takes the property away.
    ///
    /// # Errors
    /// [`UserError::Field`] for a value that cannot be stored.
    pub(super) fn write(&self, edit: &mut SectionEdit, authid: &Authid) -> Result<(), UserError> {
        let id = authid.to_string();
        let texts = [
            ("comment", &self.comment, MAX_COMMENT),
            ("firstname", &self.firstname, MAX_NAME),
            ("lastname", &self.lastname, MAX_NAME),
            ("email", &self.email, MAX_NAME),
        ];
        if authid.token.is_some()
            && let Some((field, ..)) = texts.iter().skip(1).find(|(_, value, _)| value.is_some())
        {
            return Err(refused(
                authid,
                field,
                "no such property of a token",
                "one".to_owned(),
            ));
        }
        for (key, value, max) in texts {
            let Some(value) = value.as_deref().map(str::trim) else {
                continue;
            };
            let chars = value.chars().count();
            if chars > max || value.contains(char::is_control) {
                let expected = if max == MAX_COMMENT {
                    "at most 128 characters without control characters"
                } else {
                    "at most 64 characters without control characters"
                };
                return Err(refused(authid, key, expected, format!("{chars} characters")));
            }
            if value.is_empty() {
                edit.unset(&id, key);
            } else {
                set(edit, authid, key, value)?;
            }
        }
        if let Some(enable) = self.enable {
            set(edit, authid, "enable", if enable { "true" } else { "false" })?;
        }
        match self.expire {
            Some(expire) if expire < 0 => {
                let expected = "seconds since 1970, or 0 for never";
                Err(refused(authid, "expire", expected, expire.to_string()))
            }
            Some(expire) => set(edit, authid, "expire", &expire.to_string()),
            None => Ok(()),
        }
    }
}

fn set(edit: &mut SectionEdit, authid: &Authid, key: &'static str, value: &str) -> Result<(), UserError> {
    match edit.set(&authid.to_string(), key, value) {
        Ok(_) => Ok(()),
        Err(error) => Err(refused(authid, key, "a text for one line", error.to_string())),
    }
}

fn refused(authid: &Authid, field: &'static str, expected: &'static str, found: String) -> UserError {
    UserError::Field {
        authid: authid.clone(),
        field,
        expected,
        found,
    }
}
