//! Log lines: for people on a terminal, JSON for collectors. Always on stderr; stdout is for results.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use super::exit::{CliResult, Failure};
use crate::settings::{LogFormat, Origin, Settings};

/// Starts logging. `default_filter` is what the command logs when no setting says anything.
pub(super) fn start(settings: &Settings, default_filter: &str) -> CliResult<()> {
    let filter = match settings.origin("log_filter") {
        Origin::Default => default_filter,
        _ => &settings.log_filter,
    };
    let filter = EnvFilter::try_new(filter)
        .with_context(|| {
            format!(
                "log_filter from {}: expected a level or a filter, found {filter:?}",
                settings.origin("log_filter")
            )
        })
        .map_err(Failure::setup)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match settings.log_format {
        LogFormat::Human => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::setup(anyhow::anyhow!("cannot start logging: {error}")))
}
