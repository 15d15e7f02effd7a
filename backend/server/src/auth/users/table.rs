//! `user.cfg`, parsed: who there is and whether they may act (CONFIG.md §3.1).

use std::collections::BTreeMap;
use std::path::Path;

use fleethold_format::names::{Authid, Userid};
use fleethold_format::section_config::{Section, SectionConfig};

use super::error::UserError;

/// One user or token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserEntry {
    /// Who.
    pub authid: Authid,
    /// The administrator's comment.
    pub comment: Option<String>,
    /// Whether it was not switched off.
    pub enabled: bool,
    /// When it ends, epoch seconds; 0 = never.
    pub expire: i64,
}

impl UserEntry {
    /// Whether it may act at a time (epoch seconds). A token also needs its user: [`UserTable::is_active`].
    fn acts_at(&self, now: i64) -> bool {
        self.enabled && (self.expire == 0 || self.expire > now)
    }
}

/// All users and tokens of a file.
#[derive(Debug, Default)]
pub struct UserTable {
    pub(super) entries: BTreeMap<Authid, UserEntry>,
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
            entries.insert(entry.authid.clone(), entry);
        }
        Ok(Self { entries })
    }

    /// Whether somebody exists, is enabled and has not ended. Nobody acts as `root@pam` here: that realm is not offered.
    pub(super) fn is_active(&self, authid: &Authid, now: i64) -> bool {
        let acts = |authid: &Authid| self.entries.get(authid).is_some_and(|entry| entry.acts_at(now));
        acts(authid) && (authid.token.is_none() || acts(&authid.user.clone().into()))
    }

    pub(super) fn has_user(&self, user: &Userid) -> bool {
        self.entries.contains_key(&Authid::from(user.clone()))
    }
}

fn parse_entry(section: &Section) -> Result<UserEntry, String> {
    let authid = Authid::parse(&section.id).map_err(|error| error.to_string())?;
    match (section.ty.as_str(), &authid.token) {
        ("user", None) | ("token", Some(_)) => {}
        (found, _) => {
            return Err(format!(
                "{authid}: expected section type user, or token for a token, found {found:?}"
            ));
        }
    }
    let get = |key| section.get(key).map_err(|error| error.to_string());
    let enabled = match get("enable")? {
        None => true,
        Some(text) => parse_bool(text)
            .ok_or_else(|| format!("{authid}: enable: expected true or false, found {text:?}"))?,
    };
    let expire =
        match get("expire")? {
            None => 0,
            Some(text) => text.parse().ok().filter(|epoch| *epoch >= 0).ok_or_else(|| {
                format!("{authid}: expire: expected seconds since 1970 or 0, found {text:?}")
            })?,
        };
    Ok(UserEntry {
        comment: get("comment")?.map(str::to_owned),
        enabled,
        expire,
        authid,
    })
}

/// The spellings of CONFIG.md §1.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}
