//! `fleethold token`: API tokens.

use clap::{Args, Subcommand};
use fleethold_format::names::{Authid, Userid};
use serde_json::json;

use super::accounts::{self, FieldArgs, note, open, said};
use super::exit::{CliResult, Exit, Failure};
use super::output;
use crate::auth::users::Fields;
use crate::settings::Settings;

/// Create, list and change API tokens
///
/// A token acts for its user, with rules of its own (fleethold acl set), and never more than the user may do.
#[derive(Subcommand)]
pub(super) enum TokenCommand {
    List(ListArgs),
    /// Create a token and print its secret, which is not shown again
    Create(ChangeArgs),
    /// Change a token's comment, or when it may act
    Update(ChangeArgs),
    /// Give a token a new secret and print it; the old one is refused at once
    Regenerate(OneArgs),
    /// Delete a token with all rules about it; it is refused at once
    #[command(alias = "remove")]
    Delete(OneArgs),
}

/// List tokens
#[derive(Args)]
#[command(after_help = "Examples:\n  fleethold token list\n  fleethold token list ann@pbs --json")]
pub(super) struct ListArgs {
    /// Only those of this user
    user: Option<Userid>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold token create ann@pbs!backup --comment 'nightly job'
  fleethold token create ann@pbs!visitor --expire 2027-01-31 --json
  fleethold token update ann@pbs!backup --enable false")]
pub(super) struct ChangeArgs {
    /// The token, such as ann@pbs!backup
    #[arg(value_parser = parse_token)]
    token: Authid,
    #[command(flatten)]
    fields: FieldArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold token regenerate ann@pbs!backup
  fleethold token delete ann@pbs!backup")]
pub(super) struct OneArgs {
    /// The token
    #[arg(value_parser = parse_token)]
    token: Authid,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn parse_token(text: &str) -> Result<Authid, String> {
    let token = accounts::parse_authid(text)?;
    match token.token {
        Some(_) => Ok(token),
        None => Err("expected a token such as ann@pbs!backup, found a user".to_owned()),
    }
}

pub(super) fn run(settings: &Settings, command: TokenCommand) -> CliResult {
    let users = open(settings)?;
    match command {
        TokenCommand::List(args) => {
            let table = users.table();
            let tokens = table
                .iter()
                .filter(|entry| entry.authid.token.is_some())
                .filter(|entry| args.user.as_ref().is_none_or(|user| entry.authid.user == *user));
            accounts::list("token", tokens, args.json)?;
        }
        TokenCommand::Create(args) => {
            let (secret, change) = users.create_token(&args.token, &args.fields.fields(), None)?;
            note(settings, change);
            say_secret(&args.token, &secret, "created", args.json)?;
        }
        TokenCommand::Update(args) => {
            if args.fields.is_empty() {
                let expected = "expected one of --comment, --enable and --expire, found none";
                return Err(Failure::usage(expected));
            }
            let (_, change) = users.update_token(&args.token, &args.fields.fields(), &[], false, None)?;
            note(settings, change);
            said("token", &args.token.to_string(), "changed", args.json)?;
        }
        TokenCommand::Regenerate(args) => {
            let (secret, change) = users.update_token(&args.token, &Fields::default(), &[], true, None)?;
            note(settings, change);
            if let Some(secret) = secret {
                say_secret(&args.token, &secret, "regenerated", args.json)?;
            }
        }
        TokenCommand::Delete(args) => {
            note(settings, users.remove_token(&args.token, None)?);
            said("token", &args.token.to_string(), "deleted", args.json)?;
        }
    }
    Ok(Exit::Done)
}

fn say_secret(token: &Authid, secret: &str, what: &str, as_json: bool) -> CliResult<()> {
    if as_json {
        return output::json(&json!({"token": token.to_string(), "value": secret, "done": what}));
    }
    output::line(&format!("{token}: {what}; its secret, which is not shown again:"))?;
    output::line(secret)
}
