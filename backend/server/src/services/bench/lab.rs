//! What the lab of this server is made of.

use std::path::PathBuf;
use std::sync::Arc;

use fleethold_bench::environment::{Build, Environment};
use fleethold_bench::worker::Workers;
use fleethold_history::bench::BenchMachine;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::keep::Refused;
use super::lock;
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
    work: Arc<Semaphore>,
    imports: Arc<Semaphore>,
}

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
            work: Arc::new(Semaphore::new(MAX_WORK)),
            imports: Arc::new(Semaphore::new(MAX_IMPORTS)),
        })
    }

    /// Where measured runs wait for the database.
    #[must_use]
    pub fn outbox(&self) -> PathBuf {
        self.dir.join("outbox")
    }

    /// Runs something that takes the processor for a while, off the async threads and not too many at once. When nobody
    /// waits for it any more it goes on, and keeps its turn until it ends.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> ServiceResult<T> + Send + 'static,
    ) -> ServiceResult<T> {
        in_turn(&self.work, work).await
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

/// Runs `work` when one of `turns` is free. The turn is with the work, not with who waits for it.
async fn in_turn<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> ServiceResult<T> + Send + 'static,
) -> ServiceResult<T> {
    let turn = Arc::clone(turns).acquire_owned().await;
    let turn = turn.map_err(ServiceError::internal)?;
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await?
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn work_that_nobody_waits_for_keeps_its_turn_until_it_ends() {
        let turns = Arc::new(Semaphore::new(1));
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (end, may_end) = mpsc::channel::<()>();
        let client = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move {
                in_turn(&turns, move || {
                    begun.send(()).unwrap();
                    may_end.recv().unwrap();
                    Ok(())
                })
                .await
            }
        });
        has_begun.await.unwrap();
        client.abort();
        assert!(client.await.unwrap_err().is_cancelled());
        assert_eq!(turns.available_permits(), 0, "the client left, the work goes on");
        end.send(()).unwrap();
        let free = turns.acquire();
        assert!(tokio::time::timeout(Duration::from_secs(30), free).await.is_ok());
    }
}
