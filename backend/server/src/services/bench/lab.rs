//! What the lab of this server is made of.

use std::path::PathBuf;
use std::sync::Arc;

use fleethold_bench::environment::{Build, Environment};
use fleethold_bench::worker::Workers;
use fleethold_history::bench::BenchMachine;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::keep::Refused;
use super::workloads::Offered;
use crate::services::error::{ServiceError, ServiceResult};
use crate::views::Views;

/// Judgements, layouts and imports at once: beyond that, requests wait for their turn.
const MAX_WORK: usize = 2;
/// Files that are read from the network at once; each may take 128 MiB of memory.
const MAX_IMPORTS: usize = 2;

/// The lab.
pub struct Lab {
    /// What is published.
    pub views: Arc<Views>,
    /// Data, lock and outbox.
    pub dir: PathBuf,
    /// What can be measured.
    pub workloads: Vec<Offered>,
    /// Makes the processes that take samples.
    pub workers: Workers,
    /// What this binary is.
    pub build: Build,
    /// What it runs on.
    pub environment: Environment,
    /// The same as the history knows it.
    pub machine: BenchMachine,
    /// The outbox is being emptied.
    pub(super) uploading: tokio::sync::Mutex<()>,
    /// Files of the outbox that the database refused.
    pub refused: Refused,
    work: Semaphore,
    imports: Semaphore,
}

impl Lab {
    /// A lab in `dir` that takes samples with `worker`. Reads `/proc`: blocking.
    ///
    /// # Errors
    /// When `dir` cannot be made.
    pub fn new(
        views: Arc<Views>,
        dir: PathBuf,
        worker: PathBuf,
        workloads: Vec<Offered>,
    ) -> std::io::Result<Self> {
        // Its file system is part of what the machine is.
        std::fs::create_dir_all(&dir)?;
        let build = crate::build::this();
        let environment = Environment::detect(&dir, &build);
        Ok(Self {
            machine: BenchMachine::new(environment.machine_class.clone(), environment.facts.clone()),
            environment,
            views,
            dir,
            workloads,
            workers: Workers::new(worker),
            build,
            uploading: tokio::sync::Mutex::default(),
            refused: Refused::default(),
            work: Semaphore::new(MAX_WORK),
            imports: Semaphore::new(MAX_IMPORTS),
        })
    }

    /// Where measured runs wait for the database.
    #[must_use]
    pub fn outbox(&self) -> PathBuf {
        self.dir.join("outbox")
    }

    /// Runs something that takes the processor for a while, off the async threads and not too many at once.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> ServiceResult<T> + Send + 'static,
    ) -> ServiceResult<T> {
        let _turn = self.work.acquire().await.map_err(ServiceError::internal)?;
        tokio::task::spawn_blocking(work).await?
    }

    /// A place for a file that comes in.
    ///
    /// # Errors
    /// Unavailable, when too many come in already.
    pub fn import_place(&self) -> ServiceResult<SemaphorePermit<'_>> {
        self.imports.try_acquire().map_err(|_| {
            let text = format!("{MAX_IMPORTS} files are being imported already, try again");
            ServiceError::unavailable("bench-imports-busy", text)
        })
    }
}
