//! What request handlers reach: published views, the actors' addresses, the services' tools.

use std::sync::Arc;

use actix::Addr;
use fleethold_api_types::AboutInfo;
use fleethold_restore::RestoreEngine;
use time::OffsetDateTime;
use tokio::runtime;

use crate::actors::bench::BenchActor;
use crate::actors::events::EventHub;
use crate::actors::fleet::FleetActor;
use crate::actors::jobs::JobsActor;
use crate::auth::session::Sessions;
use crate::jobs::record::JobRecords;
use crate::jobs::task_files::TaskFiles;
use crate::services::audit::Audit;
use crate::services::bench::lab::Lab;
use crate::services::targets::Targets;
use crate::settings::Settings;
use crate::views::Views;

/// The server's state; one per process, shared by all workers.
pub struct AppState {
    /// Settings in force.
    pub settings: Settings,
    /// What is published.
    pub views: Arc<Views>,
    /// Log-ins and tickets.
    pub sessions: Arc<Sessions>,
    /// The restore engine: one memory budget for all.
    pub engine: RestoreEngine,
    /// Where jobs may write.
    pub targets: Arc<Targets>,
    /// Tasks on disk.
    pub tasks: Arc<TaskFiles>,
    /// Records of restores on disk.
    pub records: JobRecords,
    /// The fleet's actor.
    pub fleet: Addr<FleetActor>,
    /// The jobs' actor.
    pub jobs: Addr<JobsActor>,
    /// The benchmark runs' actor.
    pub bench: Addr<BenchActor>,
    /// The benchmark lab.
    pub lab: Arc<Lab>,
    /// Who changed which user, token or rule.
    pub audit: Arc<Audit>,
    /// The live feed.
    pub events: Addr<EventHub>,
    /// Where work that is not a request's runs: restores, disk, database.
    pub work: runtime::Handle,
    /// Short host name.
    pub node: String,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
    /// When the server started.
    pub started_at: OffsetDateTime,
}

impl AppState {
    /// What the server says about itself.
    #[must_use]
    pub fn about(&self) -> AboutInfo {
        AboutInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: crate::build::short_revision(),
            node: self.node.clone(),
            fingerprint: self.fingerprint.clone(),
            memory_bytes: self.settings.memory_bytes,
            default_parallel: u32::try_from(self.settings.default_parallel).unwrap_or(u32::MAX),
            restore_roots: self.targets.roots(),
            devices: self.targets.devices(),
            started_at: self.started_at,
        }
    }
}
