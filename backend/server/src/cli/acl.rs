//! `fleethold acl`: who may do what.

use anyhow::anyhow;
use clap::{Args, Subcommand};
use fleethold_format::names::Authid;
use serde_json::{Value, json};

use super::accounts::{note, open, parse_authid, said};
use super::exit::{CliResult, Exit};
use super::output;
use crate::auth::acl::{AclPath, ROLES, Role, role};
use crate::settings::Settings;

/// Say who may do what
#[derive(Subcommand)]
pub(super) enum AclCommand {
    List(ListArgs),
    /// Give somebody a role at a path
    #[command(after_help = "\
Examples:
  fleethold acl set /datastore/main ann@pbs DatastoreReader
  fleethold acl set /datastore/main ann@pbs!backup DatastoreBackup
  fleethold acl set / bob@pbs Audit --no-propagate")]
    Set(SetArgs),
    /// Take a role from somebody at a path
    #[command(
        alias = "remove",
        after_help = "Examples:\n  fleethold acl delete /datastore/main ann@pbs DatastoreReader"
    )]
    Delete(RuleArgs),
}

/// List rules, or the roles there are
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold acl list
  fleethold acl list --path /datastore/main --json
  fleethold acl list --roles")]
pub(super) struct ListArgs {
    /// Only rules at this path
    #[arg(long, value_parser = AclPath::parse)]
    path: Option<AclPath>,
    /// The roles and their privileges instead
    #[arg(long, conflicts_with = "path")]
    roles: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct RuleArgs {
    /// The path, such as / or /datastore/main
    #[arg(value_parser = AclPath::parse)]
    path: AclPath,
    /// User or token
    #[arg(value_parser = parse_authid)]
    who: Authid,
    /// The role, see `fleethold acl list --roles`
    #[arg(value_parser = parse_role)]
    role: &'static Role,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    rule: RuleArgs,
    /// The role holds at the path itself and not below
    #[arg(long)]
    no_propagate: bool,
}

fn parse_role(text: &str) -> Result<&'static Role, String> {
    role(text).ok_or_else(|| {
        let names: Vec<&str> = ROLES.iter().map(|role| role.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub(super) fn run(settings: &Settings, command: AclCommand) -> CliResult {
    let users = open(settings)?;
    let (rule, give) = match command {
        AclCommand::List(args) if args.roles => {
            roles(args.json)?;
            return Ok(Exit::Done);
        }
        AclCommand::List(args) => {
            list(&users.acl(), &args)?;
            return Ok(Exit::Done);
        }
        AclCommand::Set(args) => (args.rule, Some(!args.no_propagate)),
        AclCommand::Delete(args) => (args, None),
    };
    let change = users.change_rule(&rule.path, &rule.who, rule.role, give, None)?;
    if give.is_none() && change.old == change.new {
        let (path, who, name) = (&rule.path, &rule.who, rule.role.name);
        return Err(anyhow!("no rule gives {who} the role {name} at {path}").into());
    }
    note(settings, change);
    let what = if give.is_some() { "set" } else { "deleted" };
    let text = format!("{} {} {}", rule.path, rule.who, rule.role.name);
    said("rule", &text, what, rule.json)?;
    Ok(Exit::Done)
}

fn list(tree: &crate::auth::acl::AclTree, args: &ListArgs) -> CliResult<()> {
    let here = |path: &str| args.path.as_ref().is_none_or(|wanted| wanted.as_str() == path);
    let rules = tree.rules().into_iter().filter(|rule| here(&rule.path));
    if args.json {
        let list: Vec<Value> = rules
            .map(|rule| {
                json!({"path": rule.path, "who": rule.who, "group": rule.is_group, "role": rule.role, "propagate": rule.propagate})
            })
            .collect();
        return output::json(&json!({ "rules": list }));
    }
    let rows: Vec<Vec<String>> = rules
        .map(|rule| {
            let who = if rule.is_group {
                format!("@{}", rule.who)
            } else {
                rule.who
            };
            let below = if rule.propagate { "yes" } else { "no" };
            vec![rule.path, who, rule.role, below.to_owned()]
        })
        .collect();
    print(&["PATH", "WHO", "ROLE", "BELOW"], &rows)
}

fn roles(as_json: bool) -> CliResult<()> {
    let names = |role: &Role| role.privileges.names().collect::<Vec<_>>();
    if as_json {
        let role =
            |role: &Role| json!({"role": role.name, "privileges": names(role), "comment": role.comment});
        return output::json(&json!({ "roles": ROLES.iter().map(role).collect::<Vec<_>>() }));
    }
    let row = |role: &Role| {
        vec![
            role.name.to_owned(),
            role.comment.to_owned(),
            names(role).join(" "),
        ]
    };
    print(
        &["ROLE", "COMMENT", "PRIVILEGES"],
        &ROLES.iter().map(row).collect::<Vec<_>>(),
    )
}

fn print(head: &[&str], rows: &[Vec<String>]) -> CliResult<()> {
    for line in output::table(head, &[], rows) {
        output::line(&line)?;
    }
    Ok(())
}
