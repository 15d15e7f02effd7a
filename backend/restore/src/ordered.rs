//! Restoring to a reader that takes bytes in order.
//!
//! ```text
//! walk ─▶ window of slots, in order ─▶ emit the front: hash (if asked), send
//!            │ data slot ─▶ chunk: reserve ─▶ fetch ─▶ decode ─▶ ready
//!            └ zero slot
//! ```
//!
//! A slot's chunk is shared by all slots that use it. After its last slot in the window a chunk is kept for its next
//! use while memory allows; the one needed last is given up first, and fetched again later (counted). A slow reader
//! stops the window, then the fetches; it never holds a CPU thread.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use fleethold_format::hash::Sha256;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::task::JoinSet;

use crate::backlog::Backlog;
use crate::buffers::{ChunkMemory, ChunkNeed};
use crate::deliver;
use crate::error::{Failure, RestoreErrorKind};
use crate::job::{Books, Decoded, Fetched, Job, Spent};
use crate::plan::RestorePlan;
use crate::sink::Sink;
use crate::walk::{ChunkStep, Step, Walker};

/// Slots without data of their own (repeats, zero runs) that may wait in the window.
const MAX_SLOTS: usize = 4096;

/// Zeros sent as one piece.
const ZERO_PIECE_BYTES: usize = 256 << 10;

/// Zeros emitted between two looks at the rest of the job.
const ZERO_BATCH_BYTES: u64 = 16 << 20;

type Fetches = JoinSet<Result<Fetched, Failure>>;
type Reserving = Fuse<BoxFuture<'static, Result<ChunkMemory, RestoreErrorKind>>>;
type Decoding = BoxFuture<'static, Result<(Vec<Decoded>, Spent), Failure>>;
type Emitting = Fuse<BoxFuture<'static, Result<Emitted, Failure>>>;

/// A place in the output.
enum Slot {
    Data { position: u64, chunk: u64 },
    Zeros { bytes: u64, chunks: u64 },
}

/// A chunk that one or more slots use; known by the position it was fetched for.
struct Shared {
    data: Option<Bytes>,
    /// Slots in the window that use it.
    slots: usize,
    /// Its next use behind the window.
    upcoming: Option<u64>,
    held_bytes: u64,
}

/// A piece went out.
struct Emitted {
    hasher: Option<Sha256>,
    spent: Spent,
}

#[derive(Default)]
struct Window {
    slots: VecDeque<Slot>,
    chunks: HashMap<u64, Shared>,
    /// Next use behind the window → chunk.
    upcoming: BTreeMap<u64, u64>,
    /// Data slots whose chunk was fetched for them and which are not emitted.
    fetched_ahead: usize,
    kept_bytes: u64,
}

/// Restores everything in order. Returns the SHA-256 of all bytes when `sha256` is set.
pub(crate) async fn run(
    job: &Arc<Job>,
    books: &mut Books,
    sha256: bool,
) -> Result<Option<[u8; 32]>, Failure> {
    let stuck = AtomicBool::new(false);
    let work = pipeline(job, books, sha256, &stuck);
    match &*job.sink {
        Sink::Stream(stream) => deliver::while_read(work, stream, &job.share, &stuck).await,
        _ => work.await,
    }
}

/// [`run`] without patience. `stuck` is kept up to date: nothing goes on before the reader gives memory back.
async fn pipeline(
    job: &Arc<Job>,
    books: &mut Books,
    sha256: bool,
    stuck: &AtomicBool,
) -> Result<Option<[u8; 32]>, Failure> {
    let mut walker = Walker::new(&job.index, &job.plan);
    let mut next = walker.next().await?;
    let mut window = Window::default();
    let mut reserving: Reserving = Fuse::terminated();
    let mut fetches: Fetches = JoinSet::new();
    let mut backlog = Backlog::new(job.pool.threads());
    let mut decodes: FuturesUnordered<Decoding> = FuturesUnordered::new();
    let mut emitting: Emitting = Fuse::terminated();
    let mut hasher = sha256.then(Sha256::new);
    let ahead = job.parallel + backlog.enough();
    loop {
        while let Some(chunks) = backlog.take(decodes.len()) {
            decodes.push(decode(Arc::clone(job), chunks).boxed());
        }
        // Fill the window.
        while window.slots.len() < MAX_SLOTS && reserving.is_terminated() {
            let Some(step) = next.take() else { break };
            let Some(step) = window.absorb(step, &job.plan) else {
                next = walker.next().await?;
                continue;
            };
            let room = match job.parallel {
                1 => window.slots.is_empty(),
                parallel => fetches.len() < parallel && window.fetched_ahead < ahead,
            };
            if room && let Some(memory) = window.memory_now(job, Job::need(&step)) {
                window.start(job, books, &mut fetches, step, memory);
                next = walker.next().await?;
                continue;
            }
            if room {
                let (job, need) = (Arc::clone(job), Job::need(&step));
                reserving = async move { job.share.reserve(need).await }.boxed().fuse();
            }
            next = Some(Step::Chunk(step));
            break;
        }
        // Empty it from the front.
        if emitting.is_terminated() {
            if let Some(pieces) = window.front_pieces() {
                emitting = emit(Arc::clone(job), hasher.take(), pieces).boxed().fuse();
            } else if window.slots.is_empty() && next.is_none() {
                break;
            }
        }
        let idle = fetches.is_empty() && decodes.is_empty() && emitting.is_terminated();
        stuck.store(idle && !reserving.is_terminated(), Ordering::Release);
        tokio::select! {
            emitted = &mut emitting, if !emitting.is_terminated() => {
                let emitted = emitted?;
                hasher = emitted.hasher;
                books.spend(emitted.spent);
                let keep = window.keep_bytes(job, !reserving.is_terminated());
                window.pop_front(books, keep);
            }
            Some(decoded) = decodes.next() => {
                let (decoded, spent) = decoded?;
                books.spend(spent);
                decoded.into_iter().for_each(|chunk| window.ready(chunk));
            }
            Some(joined) = fetches.join_next() => {
                let panicked = |_error| RestoreErrorKind::Internal { what: "a fetch panicked" };
                let mut arrived = Some(joined);
                while let Some(joined) = arrived {
                    let fetched = joined.map_err(panicked)??;
                    books.fetched(&fetched);
                    backlog.push(fetched);
                    arrived = fetches.try_join_next();
                }
            }
            memory = &mut reserving, if !reserving.is_terminated() => {
                if let Some(Step::Chunk(step)) = next.take() {
                    window.start(job, books, &mut fetches, step, memory?);
                    next = walker.next().await?;
                }
            }
            else => return Err(RestoreErrorKind::Internal { what: "the pipeline ran dry" }.into()),
        }
    }
    walker.finish()?;
    if let Sink::Stream(stream) = &*job.sink {
        stream.drain().await?;
    }
    Ok(hasher.map(|hasher| hasher.finalize()))
}

async fn decode(job: Arc<Job>, fetched: Vec<Fetched>) -> Result<(Vec<Decoded>, Spent), Failure> {
    job.compute(|job, worker, spent| {
        let (decoded, decode_ns) = job.decode(worker, fetched)?;
        spent.decode_ns = decode_ns;
        Ok(decoded)
    })
    .await
}

/// Hashes and sends pieces one after the other.
async fn emit(job: Arc<Job>, mut hasher: Option<Sha256>, pieces: Pieces) -> Result<Emitted, Failure> {
    let mut spent = Spent::default();
    let mut left = pieces.repeat;
    while left > 0 {
        let take = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(pieces.bytes.len());
        left -= take as u64;
        let piece = pieces.bytes.slice(..take);
        if let Some(mut state) = hasher.take() {
            let bytes = piece.clone();
            let hash = move |_: &Job, _: &mut _, _: &mut _| {
                state.update(&bytes);
                Ok(state)
            };
            let (state, hashing) = Arc::clone(&job).compute(hash).await?;
            hasher = Some(state);
            spent.cpu_ns += hashing.cpu_ns;
        }
        if let Sink::Stream(stream) = &*job.sink {
            let start = crate::clock::now();
            stream.send(piece).await?;
            spent.write_ns += crate::clock::elapsed_ns(start);
        }
    }
    Ok(Emitted { hasher, spent })
}

/// The same bytes until `repeat` bytes are sent.
struct Pieces {
    bytes: Bytes,
    repeat: u64,
}

impl Window {
    /// Takes in a step that needs no fetch; hands back one that does.
    fn absorb(&mut self, step: Step, plan: &RestorePlan) -> Option<ChunkStep> {
        let step = match step {
            Step::Zeros { bytes, chunks, .. } => {
                self.slots.push_back(Slot::Zeros { bytes, chunks });
                return None;
            }
            Step::Chunk(step) => step,
        };
        let position = step.place.position;
        let Some(chunk) = self.upcoming.remove(&position) else {
            return Some(step);
        };
        if let Some(shared) = self.chunks.get_mut(&chunk) {
            if shared.slots == 0 {
                self.kept_bytes = self.kept_bytes.saturating_sub(shared.held_bytes);
            }
            shared.slots += 1;
            shared.upcoming = plan.next_use(position);
            if let Some(next) = shared.upcoming {
                self.upcoming.insert(next, chunk);
            }
            self.slots.push_back(Slot::Data { position, chunk });
        }
        None
    }

    /// Memory without waiting; kept chunks make room for it.
    fn memory_now(&mut self, job: &Job, need: ChunkNeed) -> Option<ChunkMemory> {
        loop {
            if let Some(memory) = job.share.try_reserve(need) {
                return Some(memory);
            }
            if self.kept_bytes <= self.keep_bytes(job, true) || !self.give_up_one() {
                return None;
            }
        }
    }

    /// Fetches a chunk for this position.
    fn start(
        &mut self,
        job: &Arc<Job>,
        books: &mut Books,
        fetches: &mut Fetches,
        step: ChunkStep,
        memory: ChunkMemory,
    ) {
        let position = step.place.position;
        let upcoming = job.plan.next_use(position);
        if let Some(next) = upcoming {
            self.upcoming.insert(next, position);
        }
        let held_bytes = ChunkNeed::new(0, step.len).bytes();
        self.chunks.insert(
            position,
            Shared {
                data: None,
                slots: 1,
                upcoming,
                held_bytes,
            },
        );
        self.slots.push_back(Slot::Data {
            position,
            chunk: position,
        });
        self.fetched_ahead += 1;
        books.begin();
        books.progress.refetched += u64::from(!step.first);
        fetches.spawn(Arc::clone(job).fetch(step, memory));
    }

    fn ready(&mut self, decoded: Decoded) {
        if let Some(shared) = self.chunks.get_mut(&decoded.step.place.position) {
            shared.data = Some(Bytes::from_owner(decoded));
        }
    }

    /// What the front slot has to emit now, when it is there.
    fn front_pieces(&self) -> Option<Pieces> {
        match self.slots.front()? {
            Slot::Zeros { bytes, .. } => Some(Pieces {
                bytes: zero_piece(),
                repeat: (*bytes).min(ZERO_BATCH_BYTES),
            }),
            Slot::Data { chunk, .. } => {
                let bytes = self.chunks.get(chunk)?.data.clone()?;
                Some(Pieces {
                    repeat: bytes.len() as u64,
                    bytes,
                })
            }
        }
    }

    /// The front was emitted. Chunks that no slot uses any more are kept for later up to `keep_bytes`.
    fn pop_front(&mut self, books: &mut Books, keep_bytes: u64) {
        match self.slots.pop_front() {
            None => {}
            Some(Slot::Zeros { bytes, chunks }) => {
                let sent = bytes.min(ZERO_BATCH_BYTES);
                if sent < bytes {
                    books.zeros(sent, 0);
                    self.slots.push_front(Slot::Zeros {
                        bytes: bytes - sent,
                        chunks,
                    });
                } else {
                    books.zeros(sent, chunks);
                }
            }
            Some(Slot::Data { position, chunk }) => {
                let repeat = position != chunk;
                if !repeat {
                    self.fetched_ahead = self.fetched_ahead.saturating_sub(1);
                }
                let Some(shared) = self.chunks.get_mut(&chunk) else {
                    return;
                };
                shared.slots = shared.slots.saturating_sub(1);
                let bytes = shared.data.as_ref().map_or(0, Bytes::len) as u64;
                if shared.slots == 0 {
                    if shared.upcoming.is_some() {
                        self.kept_bytes += shared.held_bytes;
                    } else {
                        self.chunks.remove(&chunk);
                    }
                }
                books.data(bytes, 1, u64::from(repeat));
            }
        }
        while self.kept_bytes > keep_bytes && self.give_up_one() {}
    }

    /// How much may be kept for later uses. When a fetch waits for memory, fetches come first, up to a point: a source
    /// with latency needs several of them. Nothing is kept at the cost of other jobs, or of the only fetch.
    fn keep_bytes(&self, job: &Job, fetch_waits: bool) -> u64 {
        let cap = job.share.cap_bytes();
        match fetch_waits {
            _ if job.share.others_wait() => 0,
            false => cap / 2,
            true if self.fetched_ahead == 0 => 0,
            true => cap / 4,
        }
    }

    /// Gives up the kept chunk that is needed last; false when none is kept.
    fn give_up_one(&mut self) -> bool {
        let kept = |chunk: &u64| self.chunks.get(chunk).is_some_and(|shared| shared.slots == 0);
        let Some((&next, &chunk)) = self.upcoming.iter().rev().find(|(_next, chunk)| kept(chunk)) else {
            return false;
        };
        self.upcoming.remove(&next);
        if let Some(shared) = self.chunks.remove(&chunk) {
            self.kept_bytes = self.kept_bytes.saturating_sub(shared.held_bytes);
        }
        true
    }
}

fn zero_piece() -> Bytes {
    static ZEROS: [u8; ZERO_PIECE_BYTES] = [0; ZERO_PIECE_BYTES];
    Bytes::from_static(&ZEROS)
}
