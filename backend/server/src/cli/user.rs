//! `fleethold user`: who may sign in.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use fleethold_format::names::Userid;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::exit::{CliResult, Exit, Failure};
use super::{output, secret};
use crate::auth::users::{UserError, UserStore, check_realm};
use crate::settings::Settings;

/// Add, list and change users
#[derive(Subcommand)]
pub(super) enum UserCommand {
    Add(AddArgs),
    List(ListArgs),
    Passwd(PasswdArgs),
    /// Remove a user with all tokens
    #[command(after_help = "Examples:\n  fleethold user remove ann@pbs")]
    Remove(OneArgs),
    /// Let a user in again
    #[command(after_help = "Examples:\n  fleethold user enable ann@pbs")]
    Enable(OneArgs),
    /// Keep a user out: sessions end and API tokens are refused, within a second
    #[command(after_help = "Examples:\n  fleethold user disable ann@pbs")]
    Disable(OneArgs),
}

/// Add a user
///
/// The password comes from --password-file, the variable FLEETHOLD_PASSWORD, or a prompt.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold user add ann@pbs
  fleethold user add ann@pbs --password-file /root/ann --comment 'accounting'")]
pub(super) struct AddArgs {
    /// User of realm pbs, such as ann@pbs
    #[arg(value_parser = parse_user)]
    user: Userid,
    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Comment, at most 128 characters
    #[arg(long)]
    comment: Option<String>,
    /// Let the user do everything
    #[arg(long)]
    admin: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// List users
#[derive(Args)]
#[command(after_help = "Examples:\n  fleethold user list\n  fleethold user list --json")]
pub(super) struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Give a user a new password
///
/// All sessions of the user end. The password comes from --password-file, the variable FLEETHOLD_PASSWORD, or a prompt.
#[derive(Args)]
#[command(after_help = "Examples:\n  fleethold user passwd admin@pbs")]
pub(super) struct PasswdArgs {
    /// The user
    #[arg(value_parser = parse_user)]
    user: Userid,
    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct OneArgs {
    /// The user
    #[arg(value_parser = parse_user)]
    user: Userid,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn parse_user(text: &str) -> Result<Userid, String> {
    Userid::parse(text).map_err(|error| error.to_string())
}

pub(super) fn run(settings: &Settings, command: UserCommand) -> CliResult {
    let users = UserStore::open(&settings.config_dir).map_err(|error| match error {
        UserError::Invalid { .. } => Failure::setup(error),
        error => error.into(),
    })?;
    match command {
        UserCommand::List(args) => list(&users, &args)?,
        UserCommand::Add(args) => {
            let password = new_password(args.password_file.as_deref(), &args.user)?;
            users.add(&args.user, &password, args.comment.as_deref())?;
            if args.admin {
                users.grant_everything(&args.user)?;
            }
            said(&args.user, "added", args.json)?;
        }
        UserCommand::Passwd(args) => {
            let password = new_password(args.password_file.as_deref(), &args.user)?;
            users.set_password(&args.user, &password)?;
            said(&args.user, "password changed", args.json)?;
        }
        UserCommand::Remove(args) => {
            users.remove(&args.user, None)?;
            said(&args.user, "removed", args.json)?;
        }
        UserCommand::Enable(args) => {
            users.set_enabled(&args.user, true)?;
            said(&args.user, "enabled", args.json)?;
        }
        UserCommand::Disable(args) => {
            users.set_enabled(&args.user, false)?;
            said(&args.user, "disabled", args.json)?;
        }
    }
    Ok(Exit::Done)
}

fn said(user: &Userid, what: &str, as_json: bool) -> CliResult<()> {
    if as_json {
        output::json(&json!({"user": user, "done": what}))
    } else {
        output::line(&format!("{user}: {what}"))
    }
}

/// A new password; from a prompt it is asked for twice.
fn new_password(file: Option<&std::path::Path>, user: &Userid) -> anyhow::Result<Zeroizing<String>> {
    // Before anybody is asked for anything.
    check_realm(user)?;
    let from_prompt = file.is_none() && std::env::var_os("FLEETHOLD_PASSWORD").is_none();
    let password = secret::password(file, "FLEETHOLD_PASSWORD", &format!("New password of {user}: "))?
        .with_context(|| format!("no password for {user}: give --password-file or set FLEETHOLD_PASSWORD"))?;
    if from_prompt {
        let again =
            Zeroizing::new(rpassword::prompt_password("Once more: ").context("cannot ask for the password")?);
        if *again != *password {
            bail!("the two passwords for {user} differ");
        }
    }
    Ok(password)
}

fn list(users: &UserStore, args: &ListArgs) -> CliResult<()> {
    let table = users.table();
    if args.json {
        let list: Vec<Value> = table
            .iter()
            .map(|entry| {
                json!({"id": entry.authid.to_string(), "enabled": entry.enabled(), "expire": entry.expire(), "comment": entry.fields.comment})
            })
            .collect();
        return output::json(&json!({"users": list}));
    }
    let rows: Vec<Vec<String>> = table
        .iter()
        .map(|entry| {
            let enabled = if entry.enabled() { "yes" } else { "no" };
            let expire = match entry.expire() {
                0 => "never".to_owned(),
                epoch => time::OffsetDateTime::from_unix_timestamp(epoch)
                    .map_or_else(|_| epoch.to_string(), |at| at.date().to_string()),
            };
            vec![
                entry.authid.to_string(),
                enabled.to_owned(),
                expire,
                entry.fields.comment.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        })
        .collect();
    for line in output::table(&["USER", "ENABLED", "EXPIRES", "COMMENT"], &[], &rows) {
        output::line(&line)?;
    }
    Ok(())
}
