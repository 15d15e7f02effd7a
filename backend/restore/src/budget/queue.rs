//! Who gets memory next: the state behind the budget's lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{JobNeed, JobShare, Shared};
use crate::buffers::{BufferKind, ChunkMemory, ChunkNeed, IdleBuffers, PooledBuf};

/// Encoded and plain buffer of the largest legal chunk; left free when the caps of ordered jobs are chosen.
const LARGEST_CHUNK_BYTES: u64 = 36 << 20;

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
}

pub(super) struct Job {
    need: JobNeed,
    /// The most it may hold in chunk buffers; `u64::MAX` for unordered jobs.
    cap: u64,
    held: u64,
    /// The job is over, but buffers of it are still with its reader.
    left: bool,
}

pub(super) struct Admission {
    pub(super) need: JobNeed,
    pub(super) reply: oneshot::Sender<JobShare>,
}

pub(super) struct Waiter {
    pub(super) job: u64,
    pub(super) need: ChunkNeed,
    pub(super) reply: oneshot::Sender<ChunkMemory>,
}

pub(super) enum Grant {
    Job {
        reply: oneshot::Sender<JobShare>,
        job: u64,
        cap_bytes: u64,
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
        if let Some(need) = self.admissions.front().map(|admission| admission.need)
            && let Some(cap) = self.admissible(need, total)
        {
            if self.used.saturating_add(need.fixed_bytes) <= total {
                let admission = self.admissions.pop_front()?;
                return Some(self.admit(admission, cap, total));
            }
            // Its turn has come: chunks wait until its plan fits, or it would starve.
            return None;
        }
        let next = self
            .waiters
            .iter()
            .enumerate()
            .find(|(_index, waiter)| self.below_cap(waiter.job, waiter.need))
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

    /// The cap the job would get, or `None` while it has to wait for others to finish.
    fn admissible(&self, need: JobNeed, total: u64) -> Option<u64> {
        let fixed: u64 = self.jobs.values().map(|job| job.need.fixed_bytes).sum::<u64>() + need.fixed_bytes;
        let caps: u64 = self
            .jobs
            .values()
            .filter(|job| job.need.ordered)
            .map(|job| job.cap)
            .sum();
        let largest = self
            .jobs
            .values()
            .filter(|job| !job.need.ordered)
            .map(|job| job.need.chunk_bytes)
            .max()
            .unwrap_or(0);
        if need.ordered {
            let generous = total.saturating_sub(fixed + caps + LARGEST_CHUNK_BYTES) / 2;
            let cap = need.chunk_bytes.max(generous);
            (fixed + caps + cap + largest <= total).then_some(cap)
        } else {
            (fixed + caps + largest.max(need.chunk_bytes) <= total).then_some(u64::MAX)
        }
    }

    fn admit(&mut self, admission: Admission, cap: u64, total: u64) -> Grant {
        let job = self.next_job;
        self.next_job += 1;
        self.used += admission.need.fixed_bytes;
        drop(self.grow(admission.need.fixed_bytes, total));
        self.jobs.insert(
            job,
            Job {
                need: admission.need,
                cap,
                held: 0,
                left: false,
            },
        );
        Grant::Job {
            reply: admission.reply,
            job,
            cap_bytes: cap.min(total),
        }
    }

    pub(super) fn below_cap(&self, job: u64, need: ChunkNeed) -> bool {
        self.jobs
            .get(&job)
            .is_none_or(|job| job.held == 0 || job.held.saturating_add(need.bytes()) <= job.cap)
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
        if entry.held == 0 {
            self.jobs.remove(&job);
        }
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
