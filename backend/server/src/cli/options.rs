//! Flags that several commands share.

use std::time::Duration;

use clap::Args;
use fleethold_format::names::{GroupPath, Namespace, SnapshotPath};
use fleethold_restore::{EngineConfig, RestoreEngine};

use super::exit::CliResult;
use super::values::parse_duration;
use crate::settings::{ServerFlags, Settings};

/// How much of the machine a restore may use.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Resources {
    /// At most N chunk fetches outstanding; 1 = one chunk fetched, decoded and written before the next [default: 16]
    #[arg(long, value_name = "N")]
    parallel: Option<usize>,
    /// Byte budget, at least 64MiB [default: 512MiB]
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Threads that decode and verify [default: one per core]
    #[arg(long, value_name = "N")]
    cpu_threads: Option<usize>,
    /// Add this to each chunk fetch, to try slow storage, such as 20ms
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(super) simulate_latency: Option<Duration>,
}

impl Resources {
    /// The same settings as the server's, with the same precedence.
    pub(super) fn server_flags(&self) -> ServerFlags {
        ServerFlags {
            parallel: self.parallel,
            memory: self.memory.clone(),
            cpu_threads: self.cpu_threads,
            ..ServerFlags::default()
        }
    }
}

/// The engine of a command.
pub(super) fn engine(settings: &Settings) -> CliResult<RestoreEngine> {
    let config = EngineConfig {
        memory_bytes: settings.memory_bytes,
        cpu_threads: settings.cpu_threads,
    };
    Ok(RestoreEngine::new(config)?)
}

/// The runtime of a command: the engine brings its own threads for work.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Parses `--ns`.
pub(super) fn parse_ns(text: &str) -> Result<Namespace, String> {
    Namespace::parse(text.trim_matches('/')).map_err(|error| error.to_string())
}

/// What `--snapshot` said.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    Snapshot(SnapshotPath),
    /// The time is missing. No snapshot is chosen for anybody, but those there are can be named.
    Group(GroupPath),
}

impl Wanted {
    /// Parses `--snapshot`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(group) = GroupPath::parse(text) {
            return Ok(Self::Group(group));
        }
        SnapshotPath::parse(text)
            .map(Self::Snapshot)
            .map_err(|error| format!("{error}; {SNAPSHOT_FORM}"))
    }
}

/// How a snapshot is written.
pub(super) const SNAPSHOT_FORM: &str = "expected type, id and time, such as vm/100/2024-05-01T10:00:00Z";
