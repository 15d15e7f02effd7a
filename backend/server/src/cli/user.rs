//! `fleethold user`: who may sign in.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use fleethold_format::names::Userid;
use zeroize::Zeroizing;

use super::accounts::{self, FieldArgs, note, open, said};
use super::exit::{CliResult, Exit, Failure};
use super::secret;
use crate::auth::users::{Fields, check_realm};
use crate::settings::Settings;

/// Add, list and change users
#[derive(Subcommand)]
pub(super) enum UserCommand {
    #[command(alias = "add")]
    Create(CreateArgs),
    List(ListArgs),
    Update(UpdateArgs),
    Passwd(PasswdArgs),
    /// Delete a user with all tokens and all rules about either
    #[command(alias = "remove", after_help = "Examples:\n  fleethold user delete ann@pbs")]
    Delete(OneArgs),
    /// Let a user in again
    #[command(after_help = "Examples:\n  fleethold user enable ann@pbs")]
    Enable(OneArgs),
    /// Keep a user out: sessions end and API tokens are refused at once
    #[command(after_help = "Examples:\n  fleethold user disable ann@pbs")]
    Disable(OneArgs),
}

/// Create a user
///
/// The password comes from --password-file, the variable FLEETHOLD_PASSWORD, or a prompt.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold user create ann@pbs
  fleethold user create ann@pbs --password-file /root/ann --comment 'accounting'")]
pub(super) struct CreateArgs {
    /// User of realm pbs, such as ann@pbs
    #[arg(value_parser = parse_user)]
    user: Userid,
    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    fields: FieldArgs,
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

/// Change properties of a user
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold user update ann@pbs --comment 'left the company' --expire 2027-01-31
  fleethold user update ann@pbs --firstname Ann --lastname Smith --email ann@example.org")]
pub(super) struct UpdateArgs {
    /// The user
    #[arg(value_parser = parse_user)]
    user: Userid,
    #[command(flatten)]
    fields: FieldArgs,
    /// First name; an empty one takes it away
    #[arg(long)]
    firstname: Option<String>,
    /// Last name
    #[arg(long)]
    lastname: Option<String>,
    /// Address
    #[arg(long)]
    email: Option<String>,
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
    let users = open(settings)?;
    match command {
        UserCommand::List(args) => {
            let table = users.table();
            // Each user's tokens behind the user.
            accounts::list("user", table.iter(), args.json)?;
        }
        UserCommand::Create(args) => {
            let password = new_password(args.password_file.as_deref(), &args.user)?;
            note(
                settings,
                users.create(&args.user, Some(&password), &args.fields.fields(), None)?,
            );
            if args.admin {
                note(settings, users.grant_everything(&args.user)?);
            }
            said("user", args.user.as_str(), "added", args.json)?;
        }
        UserCommand::Update(args) => {
            let fields = Fields {
                firstname: args.firstname,
                lastname: args.lastname,
                email: args.email,
                ..args.fields.fields()
            };
            if fields == Fields::default() {
                return Err(Failure::usage(
                    "expected a property to change, found none: see --help",
                ));
            }
            note(settings, users.update(&args.user, &fields, &[], None)?);
            said("user", args.user.as_str(), "changed", args.json)?;
        }
        UserCommand::Passwd(args) => {
            let password = new_password(args.password_file.as_deref(), &args.user)?;
            let (_, change) = users.set_password(&args.user, &password)?;
            note(settings, change);
            said("user", args.user.as_str(), "password changed", args.json)?;
        }
        UserCommand::Delete(args) => {
            note(settings, users.remove(&args.user, None)?);
            said("user", args.user.as_str(), "removed", args.json)?;
        }
        UserCommand::Enable(args) => {
            note(settings, users.set_enabled(&args.user, true)?);
            said("user", args.user.as_str(), "enabled", args.json)?;
        }
        UserCommand::Disable(args) => {
            note(settings, users.set_enabled(&args.user, false)?);
            said("user", args.user.as_str(), "disabled", args.json)?;
        }
    }
    Ok(Exit::Done)
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
