//! The byte budget that all restore jobs of a process share.
//!
//! ```text
//!   admit ──▶ JobShare ──reserve──▶ ChunkMemory {encoded, plain} ──drop──▶ idle buffers ──▶ next chunk
//!     │  waits until the guarantee below holds        (FIFO over all jobs)       (never more than fits)
//! ```
//!
//! * `used ≤ total` at every moment: what jobs may touch (chunk buffers, plans). Memory stands behind the part they
//!   have touched, `real`; and `real + idle ≤ total`, where `idle` is buffers kept for the next chunk.
//! * Waiters are served first come, first served. A job asks for one chunk at a time, so jobs take turns.
//! * A job is *ordered* when somebody outside, its reader, decides when its buffers come back. What any other job holds
//!   comes back by itself. Hence the rule: **every admitted job can always get one chunk, however slow the readers of
//!   the others are.** It holds because
//!   `plans + Σ ordered max(held, one chunk) + the largest chunk of any unordered job ≤ total`
//!   is true of the jobs admitted, and is kept true by every admission and by every grant to an ordered job.
//! * Ordered jobs together take at most three quarters of the budget, plans included, so that unordered jobs get on
//!   beside any number of idle readers. (An ordered job that is larger than that by itself runs, as the only one.)
//! * Beyond its one chunk an ordered job grows up to its cap: an equal share of half the budget, one share left for the
//!   next to come. Caps are computed anew at each request, so they grow when others leave. The last quarter is for the
//!   first chunks of later ones. What is held above a cap that shrank comes back as the reader reads.
//! * A job that cannot be admitted blocks nobody behind it that can, until it was overtaken 16 times; from then on only
//!   those pass that would fit beside it. So it waits for those that run, not for those that come.
//! * A reader that takes nothing for 30 s while somebody else waits, also for 30 s, for admission or memory, loses its
//!   job. One goes per second, until nobody waits. A paused download is therefore safe as long as it is in nobody's way.

mod queue;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::buffers::{BufferKind, ChunkMemory, ChunkNeed};
use crate::error::RestoreErrorKind;
use queue::{Admission, Filled, Grant, State, Waiter};
pub(crate) use queue::{BETWEEN_EVICTIONS, READER_PATIENCE};

/// The smallest budget an engine starts with: one chunk of the largest legal size fits into it.
pub const MIN_MEMORY_BYTES: u64 = 64 << 20;

/// Counters of the budget, for metrics and tests. All but the counts are bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetStats {
    /// The budget.
    pub total_bytes: u64,
    /// Reserved by jobs now: chunk buffers and plans.
    pub used_bytes: u64,
    /// Buffers kept for the next chunk.
    pub idle_bytes: u64,
    /// The most memory that plans and buffers, in use and idle, have ever stood for.
    pub high_water_bytes: u64,
    /// Jobs admitted.
    pub jobs: usize,
    /// Jobs waiting to be admitted.
    pub waiting_jobs: usize,
    /// Chunks waiting for memory.
    pub waiting_chunks: usize,
}

/// What a job declares when it asks to be admitted.
#[derive(Copy, Clone, Debug)]
pub(crate) struct JobNeed {
    /// Held for the whole job: the plan.
    pub fixed_bytes: u64,
    /// Its largest single reservation.
    pub chunk_bytes: u64,
    /// Whether somebody outside decides when its buffers come back.
    pub ordered: bool,
}

#[derive(Clone)]
pub(crate) struct MemoryBudget {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    total: u64,
    state: Mutex<State>,
}

impl MemoryBudget {
    pub(crate) fn new(total: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                total,
                state: Mutex::default(),
            }),
        }
    }

    /// Waits for a place among the jobs. Fails at once when the job could never run within this budget.
    pub(crate) async fn admit(&self, need: JobNeed) -> Result<JobShare, RestoreErrorKind> {
        let required = need.fixed_bytes.saturating_add(need.chunk_bytes);
        if required > self.shared.total {
            return Err(RestoreErrorKind::MemoryBudget {
                required_bytes: required,
                budget_bytes: self.shared.total,
            });
        }
        let (reply, granted) = oneshot::channel();
        self.shared.state.lock().admissions.push_back(Admission {
            need,
            reply,
            since: Instant::now(),
            overtaken: 0,
        });
        self.shared.pump();
        granted.await.map_err(|_gone| RestoreErrorKind::Internal {
            what: "the memory budget is gone",
        })
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.shared.total
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.shared.state.lock().used
    }

    pub(crate) fn stats(&self) -> BudgetStats {
        let state = self.shared.state.lock();
        BudgetStats {
            total_bytes: self.shared.total,
            used_bytes: state.used,
            idle_bytes: state.idle.bytes(),
            high_water_bytes: state.high_water,
            jobs: state.jobs.len(),
            waiting_jobs: state.admissions.len(),
            waiting_chunks: state.waiters.len(),
        }
    }
}

/// One job's place in the budget; leaving happens on drop.
pub(crate) struct JobShare {
    shared: Arc<Shared>,
    job: u64,
}

impl JobShare {
    /// Waits for memory. Dropping the future gives up the place in the queue and anything already granted.
    pub(crate) async fn reserve(&self, need: ChunkNeed) -> Result<ChunkMemory, RestoreErrorKind> {
        let (reply, granted) = oneshot::channel();
        self.shared.state.lock().waiters.push_back(Waiter {
            job: self.job,
            need,
            reply,
            since: Instant::now(),
        });
        self.shared.pump();
        granted.await.map_err(|_gone| RestoreErrorKind::Internal {
            what: "the memory budget is gone",
        })
    }

    /// Memory now, or nothing: never overtakes anybody who waits.
    pub(crate) fn try_reserve(&self, need: ChunkNeed) -> Option<ChunkMemory> {
        let granted = {
            let mut state = self.shared.state.lock();
            let total = self.shared.total;
            let sums = state.sums();
            let may = !state.waits(&sums, None, total) && state.below_cap(&sums, self.job, need, total);
            if may && state.fits(need, total) {
                Some(state.take(self.job, need))
            } else {
                None
            }
        };
        granted.map(|granted| granted.finish(&self.shared))
    }

    /// Whether another job waits for memory at this moment.
    pub(crate) fn others_wait(&self) -> bool {
        let state = self.shared.state.lock();
        state.waits(&state.sums(), Some(self.job), self.shared.total)
    }

    /// The most this job may hold in chunk buffers, as things are now.
    pub(crate) fn cap_bytes(&self) -> u64 {
        self.shared.state.lock().cap_bytes(self.job, self.shared.total)
    }

    /// Whether the job holds chunks, and its next one does not fit beside them.
    pub(crate) fn waits_for_its_reader(&self) -> bool {
        self.shared.state.lock().waits_for_its_reader(self.job)
    }

    /// Whether this job, whose reader has taken nothing since `idle_since`, has to make room for others.
    pub(crate) fn must_go(&self, idle_since: Instant) -> bool {
        self.shared
            .state
            .lock()
            .evict(self.job, idle_since, Instant::now())
    }
}

impl Drop for JobShare {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock();
            state.leave(self.job);
        }
        self.shared.pump();
    }
}

impl Shared {
    /// Memory for a buffer that is accounted for.
    pub(crate) fn fill(&self, kind: BufferKind, bytes: usize) -> Vec<u8> {
        let filled = self.state.lock().fill(kind, bytes, self.total);
        match filled {
            Filled::Idle(buffer) => buffer,
            Filled::New { surplus } => {
                // First give memory back, then ask for more.
                drop(surplus);
                match kind {
                    BufferKind::Encoded => Vec::with_capacity(bytes),
                    BufferKind::Plain => vec![0; bytes],
                }
            }
        }
    }

    /// Gives memory back; the buffer, if it was ever filled, is kept for the next chunk when it fits.
    pub(crate) fn release(self: &Arc<Self>, job: u64, bytes: u64, kind: BufferKind, buffer: Option<Vec<u8>>) {
        let surplus = {
            let mut state = self.state.lock();
            state.give_back(job, bytes);
            buffer.and_then(|buffer| state.empty(kind, bytes, buffer, self.total))
        };
        drop(surplus);
        self.pump();
    }

    /// Serves as many of those who wait as fit. Replies are sent outside the lock: a reply nobody waits for any
    /// more comes back here through its drop.
    fn pump(self: &Arc<Self>) {
        loop {
            let grant = self.state.lock().next_grant(self.total);
            match grant {
                None => return,
                Some(Grant::Job { reply, job }) => {
                    drop(reply.send(JobShare {
                        shared: Arc::clone(self),
                        job,
                    }));
                }
                Some(Grant::Chunk { reply, granted }) => drop(reply.send(granted.finish(self))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
