//! `fleethold config`: what is set, and by whom.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::exit::{CliResult, Exit};
use super::output;
use crate::settings::{ServerFlags, Settings};

/// Show the settings
#[derive(Subcommand)]
pub(super) enum ConfigCommand {
    Show(ShowArgs),
}

/// Print each setting with its value and where that came from
///
/// Precedence: flag, variable, fleethold.toml in the configuration directory, default.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold config show
  FLEETHOLD_MEMORY=1GiB fleethold config show --json")]
pub(super) struct ShowArgs {
    #[command(flatten)]
    pub(super) server: ServerFlags,
    /// Print one JSON object: {setting: {value, origin}}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(settings: &Settings, command: ConfigCommand) -> CliResult {
    let ConfigCommand::Show(args) = command;
    if args.json {
        let object: Map<String, Value> = settings
            .rows()
            .into_iter()
            .map(|(key, value, origin)| {
                (
                    key.to_owned(),
                    json!({"value": value, "origin": origin.to_string()}),
                )
            })
            .collect();
        output::json(&object)?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = settings
        .rows()
        .into_iter()
        .map(|(key, value, origin)| vec![key.to_owned(), plain(&value), origin.to_string()])
        .collect();
    for line in output::table(&["SETTING", "VALUE", "FROM"], &[], &rows) {
        output::line(&line)?;
    }
    Ok(Exit::Done)
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "-".to_owned(),
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
