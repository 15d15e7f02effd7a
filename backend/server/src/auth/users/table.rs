//! `user.cfg`, parsed: who there is and whether they may act (CONFIG.md §3.1).

use std::collections::BTreeMap;
use std::path::Path;

use fleethold_fleet::config_file;
use fleethold_format::names::{Authid, TokenName, Userid};
use fleethold_format::section_config::{Section, SectionConfig};

use super::error::UserError;
use super::fields::Fields;

/// One user or token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserEntry {
    /// Who.
    pub authid: Authid,
    /// What the file says of it.
    pub fields: Fields,
}

impl UserEntry {
    /// Name of a token.
    #[must_use]
    pub fn token_name(&self) -> Option<&TokenName> {
        self.authid.token.as_ref()
    }

    /// Whether it was not switched off.
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.fields.enable.unwrap_or(true)
    }

    /// When it ends, epoch seconds; 0 = never.
    #[must_use]
    pub fn expire(&self) -> i64 {
        self.fields.expire.unwrap_or(0)
    }

    /// Whether it may act at a time (epoch seconds). A token also needs its user: [`UserTable::is_active`].
    fn acts_at(&self, now: i64) -> bool {
        self.enabled() && (self.expire() == 0 || self.expire() > now)
    }
}

/// All users and tokens of a file.
#[derive(Debug, Default)]
pub struct UserTable {
    pub(super) entries: BTreeMap<Authid, UserEntry>,
    digest: [u8; 32],
}

impl UserTable {
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, UserError> {
        let invalid = |message: String| UserError::Invalid {
            path: path.to_owned(),
            message,
        };
        let config = SectionConfig::parse(text).map_err(|error| invalid(error.to_string()))?;
        let mut entries = BTreeMap::new();
        for section in &config.sections {
            let entry = parse_entry(section)
                .map_err(|message| invalid(format!("line {}: {message}", section.line)))?;
            if let Some(entry) = entry {
                entries.insert(entry.authid.clone(), entry);
            }
        }
        Ok(Self {
            entries,
            digest: config_file::digest(text.as_bytes()),
        })
    }

    /// SHA-256 of the file.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Everybody, users before their tokens.
    pub fn iter(&self) -> impl Iterator<Item = &UserEntry> {
        self.entries.values()
    }

    /// What the file says of somebody.
    #[must_use]
    pub fn get(&self, authid: &Authid) -> Option<&UserEntry> {
        self.entries.get(authid)
    }

    /// The tokens of a user.
    pub fn tokens_of<'t>(&'t self, user: &'t Userid) -> impl Iterator<Item = &'t UserEntry> {
        self.entries
            .range(Authid::from(user.clone())..)
            .take_while(move |(authid, _)| authid.user == *user)
            .map(|(_, entry)| entry)
            .filter(|entry| entry.authid.token.is_some())
    }

    /// Whether somebody exists, is enabled and has not ended. Nobody acts as `root@pam` here: that realm is not offered.
    pub(super) fn is_active(&self, authid: &Authid, now: i64) -> bool {
        let acts = |authid: &Authid| self.entries.get(authid).is_some_and(|entry| entry.acts_at(now));
        acts(authid) && (authid.token.is_none() || acts(&authid.user.clone().into()))
    }
}

/// `None` for a section of a type that is not known here: it is kept in the file and lets nobody in.
fn parse_entry(section: &Section) -> Result<Option<UserEntry>, String> {
    let is_token = match section.ty.as_str() {
        "user" => false,
        "token" => true,
        _ => return Ok(None),
    };
    let authid = Authid::parse(&section.id).map_err(|error| error.to_string())?;
    if authid.token.is_some() != is_token {
        let found = &section.ty;
        return Err(format!(
            "{authid}: expected section type user, or token for a token, found {found:?}"
        ));
    }
    let get = |key| section.get(key).map_err(|error| error.to_string());
    let text = |key| get(key).map(|value| value.map(str::to_owned));
    let enable = get("enable")?
        .map(|text| {
            parse_bool(text)
                .ok_or_else(|| format!("{authid}: enable: expected true or false, found {text:?}"))
        })
        .transpose()?;
    let expire = get("expire")?
        .map(|text| {
            text.parse()
                .ok()
                .filter(|epoch| *epoch >= 0)
                .ok_or_else(|| format!("{authid}: expire: expected seconds since 1970 or 0, found {text:?}"))
        })
        .transpose()?;
    Ok(Some(UserEntry {
        fields: Fields {
            comment: text("comment")?,
            enable,
            expire,
            firstname: text("firstname")?,
            lastname: text("lastname")?,
            email: text("email")?,
        },
        authid,
    }))
}

/// The spellings of CONFIG.md §1.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}
