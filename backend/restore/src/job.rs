//! What all stages of one running job share: fetching and decoding a chunk, and the books.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fleethold_datastore::{ChunkSource, IndexFile};
use fleethold_format::blob::Unverified;
use fleethold_format::crypt::{CryptKey, CryptMode};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::budget::{JobShare, MemoryBudget};
use crate::buffers::{ChunkMemory, ChunkNeed, PooledBuf};
use crate::clock;
use crate::cpu_pool::{CpuPool, Worker};
use crate::error::{ChunkPlace, Failure, PlanError, RestoreErrorKind};
use crate::plan::{PlanCounts, RestorePlan};
use crate::report::Progress;
use crate::sink::Sink;
use crate::walk::ChunkStep;

pub(crate) struct Job {
    pub plan: Arc<RestorePlan>,
    pub index: Arc<IndexFile>,
    pub source: Arc<dyn ChunkSource>,
    pub sink: Arc<Sink>,
    pub crypt_mode: CryptMode,
    pub key: Option<Arc<CryptKey>>,
    pub parallel: usize,
    pub pool: Arc<CpuPool>,
    pub share: JobShare,
    /// Set when the job is over: work still queued does nothing.
    pub stop: AtomicBool,
    /// Knows the fetches and the work with the CPU threads, so that their end can be waited for.
    pub running: TaskTracker,
}

/// What a fetch holds, in the order in which it is dropped, also when the fetch never began: who waits for the end of
/// what runs finds all memory back.
pub(crate) struct InFlight {
    memory: ChunkMemory,
    job: Arc<Job>,
    _token: TaskTrackerToken,
}

/// A chunk as it is stored.
pub(crate) struct Fetched {
    pub step: ChunkStep,
    in_flight: InFlight,
    pub encoded_len: u64,
    pub fetch_ns: u64,
}

/// A checked chunk.
pub(crate) struct Decoded {
    pub step: ChunkStep,
    pub plain: PooledBuf,
}

impl Decoded {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.plain.prefix(self.step.len)
    }
}

impl AsRef<[u8]> for Decoded {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Time spent on the CPU threads by one piece of work.
#[derive(Copy, Clone, Default)]
pub(crate) struct Spent {
    pub cpu_ns: u64,
    pub decode_ns: u64,
    pub write_ns: u64,
}

impl Job {
    /// Memory to fetch and decode one chunk.
    pub(crate) fn need(step: &ChunkStep) -> ChunkNeed {
        ChunkNeed::new(encoded_limit(step.len), step.len)
    }

    /// Where `position`, which uses the chunk of `step`, too, begins in the archive. A dynamic index is read again for
    /// it, before its checksum is: the entry must still be of this chunk, and within the archive.
    pub(crate) fn offset_of(&self, position: u64, step: &ChunkStep) -> Result<u64, Failure> {
        if let Some(chunk_size) = self.index.chunk_size() {
            return Ok(position.saturating_mul(chunk_size));
        }
        let entry = self.index.entry(position).map_err(PlanError::from)?;
        let end = entry.offset.saturating_add(entry.len);
        let same = entry.digest == step.place.digest && entry.len == step.len as u64;
        if same && end <= self.plan.counts().bytes_total {
            return Ok(entry.offset);
        }
        let place = ChunkPlace {
            position,
            offset: entry.offset,
            ..step.place
        };
        let changed = RestoreErrorKind::IndexEntryChanged {
            path: self.index.path().to_owned(),
            planned_len: step.len as u64,
            found: entry.digest,
            found_len: entry.len,
        };
        Err(Failure::at(place, changed))
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Fetches one chunk into its memory. The job is not over before this has ended, or was dropped.
    pub(crate) fn fetch(
        self: Arc<Self>,
        step: ChunkStep,
        memory: ChunkMemory,
    ) -> impl Future<Output = Result<Fetched, Failure>> + Send {
        let mut in_flight = InFlight {
            memory,
            _token: self.running.token(),
            job: self,
        };
        async move {
            let InFlight { memory, job, .. } = &mut in_flight;
            let (encoded_len, fetch_ns) = job.fetch_into(step, memory).await?;
            Ok(Fetched {
                step,
                in_flight,
                encoded_len,
                fetch_ns,
            })
        }
    }

    async fn fetch_into(&self, step: ChunkStep, memory: &mut ChunkMemory) -> Result<(u64, u64), Failure> {
        let start = clock::now();
        let buffer = memory.encoded.lend();
        let fetched = self
            .source
            .fetch(step.place.digest, encoded_limit(step.len), buffer)
            .await;
        let encoded = fetched.map_err(|error| Failure::at(step.place, error))?;
        let encoded_len = encoded.len() as u64;
        memory.encoded.restore(encoded);
        Ok((encoded_len, clock::elapsed_ns(start)))
    }

    /// Checks and decodes fetched chunks; their encoded buffers are free afterwards. Returns the time spent, too.
    pub(crate) fn decode(
        &self,
        worker: &mut Worker,
        fetched: Vec<Fetched>,
    ) -> Result<(Vec<Decoded>, u64), Failure> {
        let start = clock::now();
        let mut decoded = Vec::with_capacity(fetched.len());
        let mut encoded = Vec::with_capacity(fetched.len());
        for Fetched { step, in_flight, .. } in fetched {
            decoded.push(Decoded {
                step,
                plain: in_flight.memory.plain,
            });
            encoded.push(in_flight.memory.encoded);
        }
        let mut unverified = Vec::with_capacity(decoded.len());
        for (Decoded { step, plain }, mut encoded) in decoded.iter_mut().zip(encoded) {
            if self.stopped() {
                return Err(RestoreErrorKind::Cancelled.into());
            }
            let too_short = RestoreErrorKind::Internal {
                what: "a chunk buffer is too short",
            };
            let out = plain
                .prefix_mut(step.len)
                .ok_or_else(|| Failure::at(step.place, too_short))?;
            let chunk = worker
                .decoder
                .decode_chunk_unverified(
                    encoded.content_mut(),
                    &step.place.digest,
                    self.crypt_mode,
                    self.key.as_deref(),
                    out,
                )
                .map_err(|error| Failure::at(step.place, error))?;
            unverified.push(chunk);
        }
        let results = Unverified::verify_all(&unverified);
        for (chunk, result) in decoded.iter().zip(results) {
            result.map_err(|error| Failure::at(chunk.step.place, error))?;
        }
        Ok((decoded, clock::elapsed_ns(start)))
    }

    /// Runs work of this job on the CPU threads and adds its CPU time; skipped when the job is over.
    pub(crate) async fn compute<T, F>(self: Arc<Self>, work: F) -> Result<(T, Spent), Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Self, &mut Worker, &mut Spent) -> Result<T, Failure> + Send + 'static,
    {
        let token = self.running.token();
        let pool = Arc::clone(&self.pool);
        pool.run(token, move |worker| {
            if self.stopped() {
                return Err(RestoreErrorKind::Cancelled.into());
            }
            let mut spent = Spent::default();
            let start = clock::thread_cpu_ns();
            let result = work(&self, worker, &mut spent)?;
            spent.cpu_ns = clock::thread_cpu_ns().saturating_sub(start);
            Ok((result, spent))
        })
        .await?
    }
}

/// The longest a stored chunk can be: what zstd can make of incompressible data, and the larger header.
fn encoded_limit(plain: usize) -> usize {
    const HEADER: usize = 44;
    const SMALL: usize = 128 << 10;
    plain + (plain >> 8) + (SMALL.saturating_sub(plain) >> 11) + 64 + HEADER
}

/// The most memory a job with chunks of this length takes at once, in bytes.
pub(crate) fn largest_need(largest_chunk_bytes: u64) -> u64 {
    let len = usize::try_from(largest_chunk_bytes).unwrap_or(usize::MAX);
    ChunkNeed::new(encoded_limit(len), len).bytes()
}

/// The books of a job; every entry is published.
pub(crate) struct Books {
    pub progress: Progress,
    pub cpu_ns: u64,
    publish: watch::Sender<Progress>,
    budget: MemoryBudget,
    started: Instant,
}

impl Books {
    pub(crate) fn new(publish: watch::Sender<Progress>, budget: MemoryBudget, counts: PlanCounts) -> Self {
        let progress = Progress {
            bytes_total: counts.bytes_total,
            chunks_total: counts.chunks_total,
            ..Progress::default()
        };
        let books = Self {
            progress,
            cpu_ns: 0,
            publish,
            budget,
            started: clock::now(),
        };
        books.publish.send_replace(progress);
        books
    }

    pub(crate) fn duration_ns(&self) -> u64 {
        clock::elapsed_ns(self.started)
    }

    /// A fetch began.
    pub(crate) fn begin(&mut self) {
        self.progress.in_flight += 1;
    }

    /// A fetch ended.
    pub(crate) fn fetched(&mut self, fetched: &Fetched) {
        self.progress.in_flight = self.progress.in_flight.saturating_sub(1);
        self.progress.chunks_fetched += 1;
        self.progress.encoded_bytes_read += fetched.encoded_len;
        self.progress.fetch_ns += fetched.fetch_ns;
        self.publish();
    }

    /// Time on a CPU thread.
    pub(crate) fn spend(&mut self, spent: Spent) {
        self.cpu_ns += spent.cpu_ns;
        self.progress.decode_ns += spent.decode_ns;
        self.progress.write_ns += spent.write_ns;
    }

    /// Positions with data are done; `duplicates` of them used a chunk fetched for another position.
    pub(crate) fn data(&mut self, bytes: u64, positions: u64, duplicates: u64) {
        self.progress.bytes_done += bytes;
        self.progress.bytes_written += bytes;
        self.progress.chunks_done += positions;
        self.progress.chunks_duplicate += duplicates;
        self.publish();
    }

    /// Zeros are done.
    pub(crate) fn zeros(&mut self, bytes: u64, positions: u64) {
        self.progress.bytes_done += bytes;
        self.progress.zero_bytes += bytes;
        self.progress.chunks_done += positions;
        self.publish();
    }

    pub(crate) fn publish(&mut self) {
        self.progress.budget_used_bytes = self.budget.used_bytes();
        self.publish.send_replace(self.progress);
    }
}
