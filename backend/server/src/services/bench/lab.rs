//! What the lab of this server is made of.

use std::path::PathBuf;
use std::sync::Arc;

use fleethold_bench::environment::{Build, Environment};
use fleethold_bench::worker::Workers;
use fleethold_history::bench::BenchMachine;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::keep::Refused;
use super::lock;
use super::turns::Turns;
use super::workloads::Offered;
use crate::services::error::{ServiceError, ServiceResult};
use crate::views::Views;

/// Attachments that are sent at once: each takes some pieces of memory, whatever its size.
const MAX_DOWNLOADS: usize = 32;
/// Files that are read from the network at once; each may take 128 MiB of memory.
const MAX_IMPORTS: usize = 2;

/// The lab.
pub struct Lab {
    /// What is published.
    pub views: Arc<Views>,
    /// Data and outbox.
    pub dir: PathBuf,
    /// Name of the lock that keeps two measurements apart.
    pub lock: String,
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
    /// Something was put into the outbox.
    pub(super) put: Notify,
    /// Judgements, layouts and imports, a bounded number at once.
    pub turns: Turns,
    imports: Arc<Semaphore>,
    downloads: Arc<Semaphore>,
}

/// Held as long as an attachment is on its way out.
#[derive(Debug)]
pub struct DownloadPlace(#[expect(dead_code, reason = "holding it is its use")] OwnedSemaphorePermit);

/// Held as long as the bytes of a file that came in are in memory, whoever waits for them.
#[derive(Debug)]
pub struct ImportPlace(#[expect(dead_code, reason = "holding it is its use")] OwnedSemaphorePermit);

impl Lab {
    /// A lab in `dir` that takes samples with `worker` while it has `lock`, or that of the machine. Reads `/proc`: blocking.
    ///
    /// # Errors
    /// When `dir` cannot be made.
    pub fn new(
        views: Arc<Views>,
        dir: PathBuf,
        lock: Option<String>,
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
            lock: lock.unwrap_or_else(lock::name),
            workloads,
            workers: Workers::new(worker),
            build,
            uploading: tokio::sync::Mutex::default(),
            refused: Refused::default(),
            put: Notify::new(),
            turns: Turns::default(),
            imports: Arc::new(Semaphore::new(MAX_IMPORTS)),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
        })
    }

    /// Where measured runs wait for the database.
    #[must_use]
    pub fn outbox(&self) -> PathBuf {
        self.dir.join("outbox")
    }

    /// Attachments that are on their way out.
    #[must_use]
    pub fn downloading(&self) -> u64 {
        MAX_DOWNLOADS.saturating_sub(self.downloads.available_permits()) as u64
    }

    /// A place for an attachment that goes out.
    ///
    /// # Errors
    /// Unavailable, when too many go out already.
    pub fn download_place(&self) -> ServiceResult<DownloadPlace> {
        let place = Arc::clone(&self.downloads).try_acquire_owned();
        place.map(DownloadPlace).map_err(|_| {
            let text = format!("{MAX_DOWNLOADS} attachments are being sent already, try again");
            ServiceError::unavailable("bench-downloads-busy", text)
        })
    }

    /// A place for a file that comes in.
    ///
    /// # Errors
    /// Unavailable, when too many come in already.
    pub fn import_place(&self) -> ServiceResult<ImportPlace> {
        let place = Arc::clone(&self.imports).try_acquire_owned();
        place.map(ImportPlace).map_err(|_| {
            let text = format!("{MAX_IMPORTS} files are being imported already, try again");
            ServiceError::unavailable("bench-imports-busy", text)
        })
    }
}
