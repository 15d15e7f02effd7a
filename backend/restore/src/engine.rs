//! The engine: one per process, shared by all jobs. It owns the memory budget and the CPU threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fleethold_datastore::{ChunkSource, IndexFile};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::manifest::ManifestFile;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::{BudgetStats, JobNeed, MIN_MEMORY_BYTES, MemoryBudget};
use crate::cpu_pool::CpuPool;
use crate::error::{EngineError, Failure, PlanError, RestoreError, RestoreErrorKind};
use crate::finish;
use crate::job::{Books, Job, largest_need};
use crate::plan::gate::PlanGate;
use crate::plan::{PlanLimit, RestorePlan};
use crate::report::{Outcome, Progress, RestoreIdentity, RestoreReport, hex};
use crate::sink::Sink;
use crate::{ordered, random};

/// Most fetches one job may have outstanding.
pub const MAX_PARALLEL: usize = 1024;

/// Size of an engine.
#[derive(Copy, Clone, Debug)]
pub struct EngineConfig {
    /// Budget for chunk buffers and plans of all jobs, in bytes; at least [`MIN_MEMORY_BYTES`].
    pub memory_bytes: u64,
    /// Threads that decode, verify and write; 0 for one per core.
    pub cpu_threads: usize,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            memory_bytes: 512 << 20,
            cpu_threads: 0,
        }
    }
}

/// Counters of an engine.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct EngineStats {
    /// The memory budget.
    pub budget: BudgetStats,
    /// CPU threads.
    pub cpu_threads: usize,
    /// Work that waits for a CPU thread.
    pub cpu_queued: usize,
}

/// What to restore, from where, to where.
pub struct RestoreRequest {
    /// Made from `index`.
    pub plan: Arc<RestorePlan>,
    /// The archive's index.
    pub index: Arc<IndexFile>,
    /// The archive's entry in the verified manifest: crypt mode, size and checksum are taken from here.
    pub file: ManifestFile,
    /// Where chunks come from.
    pub source: Arc<dyn ChunkSource>,
    /// Where bytes go.
    pub sink: Sink,
    /// Needed for an encrypted archive.
    pub key: Option<Arc<CryptKey>>,
    /// Most fetches outstanding, 1 to [`MAX_PARALLEL`]; with 1 each chunk is written before the next is asked for.
    pub parallel: usize,
    /// Published after every chunk.
    pub progress: watch::Sender<Progress>,
    /// Ends the job at once.
    pub cancel: CancellationToken,
    /// For errors and the report.
    pub identity: RestoreIdentity,
    /// Compute the SHA-256 of the restored bytes: inline for ordered targets and null, else by reading back.
    pub sha256: bool,
}

/// Restores archives; cheap to clone.
#[derive(Clone)]
pub struct RestoreEngine {
    pub(crate) budget: MemoryBudget,
    pub(crate) pool: Arc<CpuPool>,
    plans: Arc<PlanGate>,
}

impl RestoreEngine {
    /// Starts the CPU threads.
    ///
    /// # Errors
    /// [`EngineError`] when the budget is too small or the system refuses threads.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        if config.memory_bytes < MIN_MEMORY_BYTES {
            return Err(EngineError::Memory {
                given: config.memory_bytes,
                least: MIN_MEMORY_BYTES,
            });
        }
        let threads = match config.cpu_threads {
            0 => std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
            threads => threads,
        };
        let pool = CpuPool::start(threads).map_err(|source| EngineError::Threads { source })?;
        Ok(Self {
            budget: MemoryBudget::new(config.memory_bytes),
            pool: Arc::new(pool),
            plans: Arc::new(PlanGate::new(config.memory_bytes)),
        })
    }

    /// Makes a plan within the budget. Blocks: reads the whole index, and waits while two others are being made.
    ///
    /// # Errors
    /// As [`RestorePlan::build`]; [`PlanError::Budget`] at once, before anything is read or allocated.
    pub fn plan(
        &self,
        index: &IndexFile,
        crypt_mode: CryptMode,
        key: Option<&CryptKey>,
    ) -> Result<RestorePlan, PlanError> {
        let limit = PlanLimit {
            bytes: self.budget.total_bytes(),
        };
        let _leave = self.plans.enter(RestorePlan::needed_bytes(index, limit)?);
        RestorePlan::build(index, crypt_mode, key, limit)
    }

    /// The counters now.
    pub fn stats(&self) -> EngineStats {
        EngineStats {
            budget: self.budget.stats(),
            cpu_threads: self.pool.threads(),
            cpu_queued: self.pool.queued(),
        }
    }

    /// Restores one archive. Needs a tokio runtime; blocks none of its threads.
    ///
    /// When it returns an error, or is dropped, no file stands under the final name and no temporary file remains.
    ///
    /// # Errors
    /// [`RestoreError`] with the store, snapshot, file, chunk and position at fault.
    pub async fn execute(&self, request: RestoreRequest) -> Result<RestoreReport, RestoreError> {
        let parallel = request.parallel.clamp(1, MAX_PARALLEL);
        let identity = request.identity.clone();
        let mut report = RestoreReport::start(&identity, request.plan.counts(), parallel);
        report.index_csum = hex(&request.plan.index_csum());
        let mut books = Books::new(
            request.progress.clone(),
            self.budget.clone(),
            request.plan.counts(),
        );
        let result = self.restore(request, parallel, &mut books).await;
        books.progress.in_flight = 0;
        books.publish();
        report.finish(&books.progress, books.duration_ns(), books.cpu_ns);
        match result {
            Ok(sha256) => {
                report.outcome = Outcome::Ok;
                report.sha256 = sha256.map(|digest| hex(&digest));
                Ok(report)
            }
            Err(failure) => Err(RestoreError::new(failure, identity, report)),
        }
    }

    async fn restore(
        &self,
        request: RestoreRequest,
        parallel: usize,
        books: &mut Books,
    ) -> Result<Option<[u8; 32]>, Failure> {
        let sink = Arc::new(request.sink);
        // Whatever ends this function early, even its own drop: the target must not look complete.
        let guard = finish::Settle::new(Arc::clone(&sink));
        let size = request.plan.counts().bytes_total;
        let result = async {
            check(&request.plan, &request.file, request.key.is_some())?;
            finish::prepare(&sink, size).await?;
            let ordered = matches!(*sink, Sink::Stream(_)) || (matches!(*sink, Sink::Null) && request.sha256);
            let need = JobNeed {
                fixed_bytes: request.plan.memory_bytes(),
                chunk_bytes: largest_need(request.plan.largest_chunk_bytes()),
                // Null is hashed in order, but nobody outside holds what it holds.
                ordered: matches!(*sink, Sink::Stream(_)),
            };
            let share = unless_over(&sink, &request.cancel, async {
                Ok(self.budget.admit(need).await?)
            })
            .await?;
            let job = Arc::new(Job {
                plan: request.plan,
                index: request.index,
                source: request.source,
                sink: Arc::clone(&sink),
                crypt_mode: request.file.crypt_mode,
                key: request.key,
                parallel,
                pool: Arc::clone(&self.pool),
                share,
                stop: AtomicBool::new(false),
                running: TaskTracker::new(),
            });
            let stop = StopOnDrop(Arc::clone(&job));
            let ran = unless_over(&sink, &request.cancel, async {
                if ordered {
                    ordered::run(&job, books, request.sha256).await
                } else {
                    random::run(&job, books).await.map(|()| None)
                }
            })
            .await;
            // What is with the CPU threads may still write: wait until that is over and all memory is back.
            drop(stop);
            job.running.close();
            job.running.wait().await;
            let mut sha256 = ran?;
            drop(job);
            let finishing = finish::sync(&sink, size, request.sha256 && !ordered, books);
            sha256 = sha256.or(unless_over(&sink, &request.cancel, finishing).await?);
            finish::publish(&sink).await?;
            Ok(sha256)
        }
        .await;
        drop(sink);
        guard.settle(&result).await;
        result
    }
}

/// Runs `work` until it is done, the job is cancelled, or the reader of the stream is gone.
pub(crate) async fn unless_over<T>(
    sink: &Sink,
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let reader_gone = async {
        match sink {
            Sink::Stream(stream) => stream.reader_gone().await,
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(RestoreErrorKind::Cancelled.into()),
        result = work => result,
        () = reader_gone => Err(RestoreErrorKind::from(crate::sink::TargetError::ReaderGone).into()),
    }
}

/// What can be known before the first fetch.
fn check(plan: &RestorePlan, file: &ManifestFile, has_key: bool) -> Result<(), Failure> {
    let (expected, actual) = (file.csum, plan.index_csum());
    if expected != actual {
        return Err(RestoreErrorKind::IndexCsum { expected, actual }.into());
    }
    let (expected, actual) = (file.size, plan.counts().bytes_total);
    if expected != actual {
        return Err(RestoreErrorKind::IndexSize { expected, actual }.into());
    }
    if file.crypt_mode.is_encrypted() && !has_key {
        return Err(RestoreErrorKind::KeyMissing.into());
    }
    Ok(())
}

struct StopOnDrop(Arc<Job>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
    }
}
