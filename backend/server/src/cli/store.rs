//! `fleethold store`: which datastores there are.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use fleethold_datastore::Datastore;
use fleethold_fleet::Fleet;
use fleethold_format::names::DatastoreName;
use serde_json::{Value, json};

use super::exit::{CliResult, Exit, Failure};
use super::{output, place};
use crate::settings::Settings;

/// Register, list and unregister datastores
#[derive(Subcommand)]
pub(super) enum StoreCommand {
    Add(AddArgs),
    List(ListArgs),
    Remove(RemoveArgs),
}

/// Register a datastore under a name; nothing in it is touched
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold store add main /mnt/datastore/main
  fleethold store add usb /media/usb/backups --comment 'the red disk'")]
pub(super) struct AddArgs {
    /// Name: 3 to 32 letters, digits, '_', '.' or '-'
    #[arg(value_parser = parse_name)]
    name: DatastoreName,
    /// Its directory, the one that holds .chunks
    path: PathBuf,
    /// Comment, at most 128 characters
    #[arg(long)]
    comment: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// List the registered datastores
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold store list
  fleethold store list --json")]
pub(super) struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Unregister a datastore; nothing in it is touched
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold store remove usb")]
pub(super) struct RemoveArgs {
    /// Its name
    #[arg(value_parser = parse_name)]
    name: DatastoreName,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn parse_name(text: &str) -> Result<DatastoreName, String> {
    DatastoreName::parse(text).map_err(|error| error.to_string())
}

pub(super) fn run(settings: &Settings, command: StoreCommand) -> CliResult {
    let fleet = place::fleet(settings)?;
    match command {
        StoreCommand::Add(args) => add(&fleet, &args)?,
        StoreCommand::List(args) => list(&fleet, &args)?,
        StoreCommand::Remove(args) => {
            fleet.store_remove(&args.name)?;
            if args.json {
                output::json(&json!({"name": args.name, "removed": true}))?;
            } else {
                output::line(&format!(
                    "unregistered {}; its directory was not touched",
                    args.name
                ))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn add(fleet: &Fleet, args: &AddArgs) -> CliResult<()> {
    let path = std::path::absolute(&args.path)
        .with_context(|| format!("cannot use {} as a path", args.path.display()))?;
    Datastore::open(args.name.clone(), &path)?;
    fleet.store_add(&args.name, &path, args.comment.as_deref())?;
    if args.json {
        output::json(&json!({"name": args.name, "path": path, "comment": args.comment}))
    } else {
        output::line(&format!("registered {} at {}", args.name, path.display()))
    }
}

fn list(fleet: &Fleet, args: &ListArgs) -> CliResult<()> {
    let generation = fleet.current();
    if let Some(problem) = &generation.error {
        return Err(Failure::setup(anyhow::anyhow!(
            "cannot list the datastores: {problem}"
        )));
    }
    if args.json {
        let stores: Vec<Value> = generation
            .stores
            .iter()
            .map(|entry| {
                let maintenance = entry.maintenance.as_ref().map(|maintenance| {
                    json!({"mode": maintenance.kind.as_str(), "message": maintenance.message})
                });
                json!({"name": entry.name, "path": entry.path, "comment": entry.comment, "maintenance": maintenance})
            })
            .collect();
        return output::json(&json!({"digest": generation.digest_hex(), "stores": stores}));
    }
    let rows: Vec<Vec<String>> = generation
        .stores
        .iter()
        .map(|entry| {
            let mode = entry
                .maintenance
                .as_ref()
                .map_or("-", |maintenance| maintenance.kind.as_str());
            let comment = entry.comment.as_deref().unwrap_or("-");
            vec![
                entry.name.to_string(),
                mode.to_owned(),
                entry.path.display().to_string(),
                comment.to_owned(),
            ]
        })
        .collect();
    for line in output::table(&["NAME", "MAINTENANCE", "PATH", "COMMENT"], &[], &rows) {
        output::line(&line)?;
    }
    Ok(())
}
