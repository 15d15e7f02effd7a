//! What `user`, `token` and `acl` share: the files, the audit log, words for properties.

use clap::Args;
use fleethold_format::names::Authid;
use fleethold_history::audit::{self, AuditVia};
use serde_json::{Value, json};
use time::macros::format_description;
use time::{Date, OffsetDateTime};

use super::exit::{CliResult, Failure};
use super::output;
use crate::auth::users::{Change, Fields, UserEntry, UserError, UserStore};
use crate::services::audit::entry;
use crate::settings::Settings;

/// Properties of a user or token
#[derive(Args)]
pub(super) struct FieldArgs {
    /// Comment, at most 128 characters; an empty one takes it away
    #[arg(long)]
    comment: Option<String>,
    /// Whether it may act
    #[arg(long, value_name = "BOOL")]
    enable: Option<bool>,
    /// When it ends: a date such as 2027-01-31 (UTC), epoch seconds, or never
    #[arg(long, value_name = "WHEN", value_parser = parse_expire)]
    expire: Option<i64>,
}

impl FieldArgs {
    pub(super) fn fields(self) -> Fields {
        Fields {
            comment: self.comment,
            enable: self.enable,
            expire: self.expire,
            ..Fields::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.comment.is_none() && self.enable.is_none() && self.expire.is_none()
    }
}

pub(super) fn parse_expire(text: &str) -> Result<i64, String> {
    if text == "never" {
        return Ok(0);
    }
    let date = || Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    text.parse::<u32>()
        .ok()
        .map(i64::from)
        .or_else(|| Some(date()?.midnight().assume_utc().unix_timestamp()))
        .filter(|epoch| *epoch >= 0)
        .ok_or_else(|| "expected a date such as 2027-01-31, seconds since 1970, or never".to_owned())
}

pub(super) fn parse_authid(text: &str) -> Result<Authid, String> {
    Authid::parse(text).map_err(|error| error.to_string())
}

/// The files of users and rights.
pub(super) fn open(settings: &Settings) -> CliResult<UserStore> {
    UserStore::open(&settings.config_dir).map_err(|error| match error {
        UserError::Invalid { .. } | UserError::Acl(_) => Failure::setup(error),
        error => error.into(),
    })
}

/// Remembers a change for the audit log. The change is done: what cannot be remembered is said, and that is all.
pub(super) fn note(settings: &Settings, change: Change) {
    let actor = format!("uid {}", rustix::process::getuid().as_raw());
    let Some(entry) = entry(actor, AuditVia::CommandLine, None, change) else {
        return;
    };
    if let Err(error) = audit::put(&audit::dir(&settings.state_dir), &entry) {
        output::note(&format!("fleethold: done, but not in the audit log: {error}"));
    }
}

/// Says what was done to whom.
pub(super) fn said(kind: &str, who: &str, what: &str, as_json: bool) -> CliResult<()> {
    if as_json {
        output::json(&json!({kind: who, "done": what}))
    } else {
        output::line(&format!("{who}: {what}"))
    }
}

/// Users or tokens as JSON or as a table.
pub(super) fn list<'e>(
    kind: &str,
    entries: impl Iterator<Item = &'e UserEntry>,
    as_json: bool,
) -> CliResult<()> {
    if as_json {
        let list: Vec<Value> = entries
            .map(|entry| {
                json!({
                    "id": entry.authid.to_string(), "enabled": entry.enabled(), "expire": entry.expire(),
                    "comment": entry.fields.comment
                })
            })
            .collect();
        return output::json(&json!({format!("{kind}s"): list}));
    }
    let rows: Vec<Vec<String>> = entries
        .map(|entry| {
            let expire = match entry.expire() {
                0 => "never".to_owned(),
                epoch => OffsetDateTime::from_unix_timestamp(epoch)
                    .map_or_else(|_| epoch.to_string(), |at| at.date().to_string()),
            };
            vec![
                entry.authid.to_string(),
                if entry.enabled() { "yes" } else { "no" }.to_owned(),
                expire,
                entry.fields.comment.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        })
        .collect();
    let title = kind.to_uppercase();
    let head = [title.as_str(), "ENABLED", "EXPIRES", "COMMENT"];
    for line in output::table(&head, &[], &rows) {
        output::line(&line)?;
    }
    Ok(())
}
