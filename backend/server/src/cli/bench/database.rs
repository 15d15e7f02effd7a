//! The history's database as a command finds it: named, or the one that the server of this state directory runs.

use std::sync::Arc;

use clap::Args;
use fleethold_history::bench::outbox;
use fleethold_history::{Database, DatabaseConfig};

use super::super::exit::{CliResult, Failure};
use super::super::output;
use crate::settings::{ServerFlags, Settings};

/// Where the history is.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct HistoryFlags {
    /// The history's PostgreSQL [variable DATABASE_URL; default: the server's own, while it runs]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

impl HistoryFlags {
    /// The same setting as the server's, with the same precedence.
    pub(super) fn server_flags(&self) -> ServerFlags {
        ServerFlags {
            database_url: self.database_url.clone(),
            ..ServerFlags::default()
        }
    }
}

/// The database, if it runs; a command starts none. What waited for it is in it then.
pub(super) async fn join(settings: &Settings) -> CliResult<Option<Arc<Database>>> {
    let config = match &settings.database_url {
        Some(url) => DatabaseConfig::External(url.clone()),
        None => DatabaseConfig::Private {
            state_dir: settings.state_dir.clone(),
        },
    };
    let Some(database) = Database::join(config).await.map_err(Failure::setup)? else {
        return Ok(None);
    };
    drain(settings, &database).await?;
    Ok(Some(database))
}

/// Stores what waits, and says what could not be stored.
pub(super) async fn drain(settings: &Settings, database: &Database) -> CliResult<()> {
    let uploaded = outbox::upload_outbox(database, &outbox::dir(&settings.state_dir)).await?;
    for (path, reason) in uploaded.refused.into_iter().chain(uploaded.failed) {
        output::note(&format!("{}: not stored: {reason}", path.display()));
    }
    Ok(())
}

/// The database that a command cannot do without.
pub(super) async fn needed(settings: &Settings) -> CliResult<Arc<Database>> {
    join(settings).await?.ok_or_else(|| {
        Failure::setup(anyhow::anyhow!(
            "no history: the server of {} does not run; start it (fleethold serve) or name a database with --database-url",
            settings.state_dir.display()
        ))
    })
}

/// Who works here, for the history.
pub(super) fn operator() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    named.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}
