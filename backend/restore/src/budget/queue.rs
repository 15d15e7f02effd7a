//! Who gets memory next: the state behind the budget's lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{JobNeed, JobShare, Shared};
use crate::buffers::{BufferKind, ChunkMemory, ChunkNeed, IdleBuffers, PooledBuf};

/// Encoded and plain buffer of the largest legal chunk; ordered jobs never grow into the last of them.
const LARGEST_CHUNK_BYTES: u64 = 36 << 20;

/// So many later jobs may be admitted before one that waits; from then on only those that are not in its way.
const MOST_OVERTAKEN: u32 = 16;

/// A reader that takes nothing for so long, while somebody else waits for as long, has to go.
pub(crate) const READER_PATIENCE: Duration = Duration::from_secs(30);

/// Idle readers go one by one, so far apart: what the first gives back may be enough for those who wait.
pub(crate) const BETWEEN_EVICTIONS: Duration = Duration::from_secs(1);

/// The most that plans and chunks of ordered jobs take together.
fn ordered_limit(total: u64) -> u64 {
    total / 4 * 3
}

/// The most that ordered jobs take together beyond one chunk each; the rest is for the first chunks of later ones.
fn growth_limit(total: u64) -> u64 {
    (total / 2).min(total.saturating_sub(LARGEST_CHUNK_BYTES))
}

#[derive(Default)]
pub(super) struct State {
    pub(super) used: u64,
    /// The part of `used` behind which memory stands: plans, and buffers that were touched.
    pub(super) real: u64,
    pub(super) high_water: u64,
    pub(super) idle: IdleBuffers,
    pub(super) jobs: HashMap<u64, Job>,
    pub(super) admissions: VecDeque<Admission>,
    pub(super) waiters: VecDeque<Waiter>,
    next_job: u64,
    last_eviction: Option<Instant>,
}

pub(super) struct Job {
    need: JobNeed,
    held: u64,
    /// The job is over, but buffers of it are still with its reader.
    left: bool,
}

impl Job {
    /// What it may hold without asking anybody: one chunk, or what its reader has not given back.
    fn committed(&self) -> u64 {
        self.held.max(self.need.chunk_bytes)
    }
}

/// What all admitted jobs are promised.
#[derive(Default)]
pub(super) struct Sums {
    /// Plans.
    fixed: u64,
    /// Plans of ordered jobs.
    ordered_fixed: u64,
    /// Chunks of ordered jobs: [`Job::committed`].
    committed: u64,
    /// Ordered jobs that are not over.
    ordered_jobs: u64,
    /// The largest chunk of any unordered job.
    largest: u64,
}

pub(super) struct Admission {
    pub(super) need: JobNeed,
    pub(super) reply: oneshot::Sender<JobShare>,
    pub(super) since: Instant,
    /// Later jobs that were admitted before this one.
    pub(super) overtaken: u32,
}

pub(super) struct Waiter {
    pub(super) job: u64,
    pub(super) need: ChunkNeed,
    pub(super) reply: oneshot::Sender<ChunkMemory>,
    pub(super) since: Instant,
}

pub(super) enum Grant {
    Job {
        reply: oneshot::Sender<JobShare>,
        job: u64,
    },
    Chunk {
        reply: oneshot::Sender<ChunkMemory>,
        granted: Granted,
    },
}

/// A granted chunk.
pub(super) struct Granted {
    job: u64,
    need: ChunkNeed,
}

/// Where the memory of a buffer comes from.
pub(super) enum Filled {
    Idle(Vec<u8>),
    New { surplus: Vec<Vec<u8>> },
}

impl State {
    /// Takes the next request that can be served out of its queue.
    pub(super) fn next_grant(&mut self, total: u64) -> Option<Grant> {
        self.admissions.retain(|admission| !admission.reply.is_closed());
        self.waiters.retain(|waiter| !waiter.reply.is_closed());
        if let Some(index) = self.next_admission(total) {
            let fixed = self.admissions.get(index)?.need.fixed_bytes;
            if self.used.saturating_add(fixed) > total {
                // Its turn has come: chunks wait until its plan fits, or it would starve.
                return None;
            }
            for earlier in self.admissions.iter_mut().take(index) {
                earlier.overtaken += 1;
            }
            let admission = self.admissions.remove(index)?;
            return Some(self.admit(admission, total));
        }
        let sums = self.sums();
        let next = self
            .waiters
            .iter()
            .enumerate()
            .find(|(_index, waiter)| self.below_cap(&sums, waiter.job, waiter.need, total))
            .map(|(index, waiter)| (index, waiter.job, waiter.need));
        let (index, job, need) = next?;
        if !self.fits(need, total) {
            return None;
        }
        let waiter = self.waiters.remove(index)?;
        Some(Grant::Chunk {
            reply: waiter.reply,
            granted: self.take(job, need),
        })
    }

    /// The first in the queue that can be admitted, and is in the way of none that has waited for long.
    fn next_admission(&self, total: u64) -> Option<usize> {
        let sums = self.sums();
        let mut patient: Vec<JobNeed> = Vec::new();
        for (index, admission) in self.admissions.iter().enumerate() {
            let need = admission.need;
            if sums.admit(need, total) && patient.iter().all(|head| !sums.in_the_way(need, *head, total)) {
                return Some(index);
            }
            if admission.overtaken >= MOST_OVERTAKEN {
                patient.push(need);
            }
        }
        None
    }

    pub(super) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for job in self.jobs.values() {
            sums.fixed += job.need.fixed_bytes;
            if job.need.ordered {
                sums.ordered_fixed += job.need.fixed_bytes;
                sums.committed += job.committed();
                sums.ordered_jobs += u64::from(!job.left);
            } else {
                sums.largest = sums.largest.max(job.need.chunk_bytes);
            }
        }
        sums
    }

    fn admit(&mut self, admission: Admission, total: u64) -> Grant {
        let job = self.next_job;
        self.next_job += 1;
        self.used += admission.need.fixed_bytes;
        drop(self.grow(admission.need.fixed_bytes, total));
        self.jobs.insert(
            job,
            Job {
                need: admission.need,
                held: 0,
                left: false,
            },
        );
        Grant::Job {
            reply: admission.reply,
            job,
        }
    }

    /// Whether the job may hold this chunk, too: an ordered job always one, and more up to its cap while the first
    /// chunk of every other job stays free.
    pub(super) fn below_cap(&self, sums: &Sums, job: u64, need: ChunkNeed, total: u64) -> bool {
        let Some(entry) = self.jobs.get(&job) else {
            return true;
        };
        let after = entry.held.saturating_add(need.bytes());
        if !entry.need.ordered || entry.held == 0 || after <= entry.need.chunk_bytes {
            return true;
        }
        let committed = sums.committed - entry.committed() + after.max(entry.need.chunk_bytes);
        after <= sums.share(total)
            && sums.ordered_fixed + committed <= growth_limit(total)
            && sums.fixed + committed + sums.largest <= total
    }

    /// Whether anybody but `job` waits for what others hold: not for its own reader.
    pub(super) fn waits(&self, sums: &Sums, except: Option<u64>, total: u64) -> bool {
        let eligible = |waiter: &Waiter| {
            except != Some(waiter.job) && self.below_cap(sums, waiter.job, waiter.need, total)
        };
        !self.admissions.is_empty() || self.waiters.iter().any(eligible)
    }

    /// The most the job may hold in chunk buffers now; of an unordered job, what it should keep for later at most.
    pub(super) fn cap_bytes(&self, job: u64, total: u64) -> u64 {
        let least = self.jobs.get(&job).map_or(0, |job| job.need.chunk_bytes);
        self.sums().share(total).max(least)
    }

    /// Whether this job, whose reader has taken nothing since `idle_since`, has to make room for somebody who waits.
    pub(super) fn evict(&mut self, job: u64, idle_since: Instant, now: Instant) -> bool {
        let admissions = self
            .admissions
            .iter()
            .filter(|admission| !admission.reply.is_closed())
            .map(|admission| admission.since);
        let chunks = self
            .waiters
            .iter()
            .filter(|waiter| !waiter.reply.is_closed() && !self.waits_for_its_reader(waiter.job))
            .map(|waiter| waiter.since);
        let Some(waiting_since) = admissions.chain(chunks).min() else {
            return false;
        };
        let both_since = waiting_since.max(idle_since);
        let recent = self
            .last_eviction
            .is_some_and(|last| now.saturating_duration_since(last) < BETWEEN_EVICTIONS);
        let goes = !recent
            && self.jobs.contains_key(&job)
            && now.saturating_duration_since(both_since) >= READER_PATIENCE;
        if goes {
            self.last_eviction = Some(now);
        }
        goes
    }

    /// An ordered job that holds chunks gets on when its own reader does.
    pub(super) fn waits_for_its_reader(&self, job: u64) -> bool {
        self.jobs
            .get(&job)
            .is_some_and(|job| job.need.ordered && job.held > 0)
    }

    pub(super) fn fits(&self, need: ChunkNeed, total: u64) -> bool {
        self.used.saturating_add(need.bytes()) <= total
    }

    /// Accounts for a chunk.
    pub(super) fn take(&mut self, job: u64, need: ChunkNeed) -> Granted {
        self.used += need.bytes();
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.held += need.bytes();
        }
        Granted { job, need }
    }

    /// Memory for a buffer that is accounted for: an idle one, or else what has to be freed before one is allocated.
    pub(super) fn fill(&mut self, kind: BufferKind, bytes: usize, total: u64) -> Filled {
        if let Some(buffer) = self.idle.take(kind, bytes) {
            self.real += bytes as u64;
            return Filled::Idle(buffer);
        }
        Filled::New {
            surplus: self.grow(bytes as u64, total),
        }
    }

    /// Keeps a buffer that came back when it fits, else hands it back to be freed.
    pub(super) fn empty(
        &mut self,
        kind: BufferKind,
        bytes: u64,
        buffer: Vec<u8>,
        total: u64,
    ) -> Option<Vec<u8>> {
        self.real = self.real.saturating_sub(bytes);
        let room = total.saturating_sub(self.real + self.idle.bytes());
        self.idle.put(kind, buffer, room)
    }

    /// More memory is real from now on; answers the idle buffers that make room for it.
    fn grow(&mut self, bytes: u64, total: u64) -> Vec<Vec<u8>> {
        self.real += bytes;
        let surplus = self
            .idle
            .evict((self.real + self.idle.bytes()).saturating_sub(total));
        self.high_water = self.high_water.max(self.real + self.idle.bytes());
        surplus
    }

    /// Accounts for memory of a job that came back.
    pub(super) fn give_back(&mut self, job: u64, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.held = entry.held.saturating_sub(bytes);
            if entry.left && entry.held == 0 {
                self.jobs.remove(&job);
            }
        }
    }

    /// The job is over; what its reader still holds keeps counting.
    pub(super) fn leave(&mut self, job: u64) {
        let Some(entry) = self.jobs.get_mut(&job) else {
            return;
        };
        entry.left = true;
        self.used = self.used.saturating_sub(entry.need.fixed_bytes);
        self.real = self.real.saturating_sub(entry.need.fixed_bytes);
        entry.need.fixed_bytes = 0;
        entry.need.chunk_bytes = 0;
        if entry.held == 0 {
            self.jobs.remove(&job);
        }
    }
}

impl Sums {
    /// Whether one more job could always get one chunk beside the others, however slow their readers are.
    fn admit(&self, need: JobNeed, total: u64) -> bool {
        let ordered = self.ordered_fixed + self.committed;
        if need.ordered {
            let least = need.fixed_bytes.saturating_add(need.chunk_bytes);
            // One that is larger than all ordered jobs may be has to run some time: alone among them.
            let within = ordered == 0 || ordered.saturating_add(least) <= ordered_limit(total);
            within && (self.fixed + self.committed + self.largest).saturating_add(least) <= total
        } else {
            let largest = self.largest.max(need.chunk_bytes);
            (self.fixed + self.committed + largest).saturating_add(need.fixed_bytes) <= total
        }
    }

    /// Whether `newcomer` could keep `head` waiting: ordered ones might stay for ever, and of the unordered ones those
    /// that do not fit beside it. Ordered jobs that run already are what `head` waits for in any case.
    fn in_the_way(&self, newcomer: JobNeed, head: JobNeed, total: u64) -> bool {
        let unordered = self.fixed - self.ordered_fixed;
        let chunks = if head.ordered {
            self.largest
                .max(newcomer.chunk_bytes)
                .saturating_add(head.chunk_bytes)
        } else {
            self.largest.max(newcomer.chunk_bytes).max(head.chunk_bytes)
        };
        let plans = newcomer.fixed_bytes.saturating_add(head.fixed_bytes);
        newcomer.ordered || unordered.saturating_add(plans).saturating_add(chunks) > total
    }

    /// What each ordered job may hold in chunk buffers: an equal share, and one is left for the next to come.
    fn share(&self, total: u64) -> u64 {
        growth_limit(total).saturating_sub(self.ordered_fixed) / (self.ordered_jobs + 1)
    }
}

impl Granted {
    /// The chunk's buffers, which take memory when they are first used.
    pub(super) fn finish(self, shared: &Arc<Shared>) -> ChunkMemory {
        ChunkMemory {
            encoded: PooledBuf::new(BufferKind::Encoded, self.need.encoded, self.job, shared),
            plain: PooledBuf::new(BufferKind::Plain, self.need.plain, self.job, shared),
        }
    }
}
