//! Restoring to a target that takes bytes in any order: each distinct chunk is fetched and decoded once.
//!
//! ```text
//! walk ─▶ reserve memory ─▶ fetch (≤ parallel) ─▶ backlog ─▶ CPU thread: decode, check, write to all places ─▶ memory free
//! ```

use std::sync::Arc;

use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::task::{JoinError, JoinSet};

use crate::backlog::Backlog;
use crate::buffers::ChunkMemory;
use crate::clock;
use crate::cpu_pool::Worker;
use crate::error::{ChunkPlace, Failure, RestoreErrorKind};
use crate::job::{Books, Decoded, Fetched, Job, Spent};
use crate::sink::{Sink, TargetError};
use crate::walk::{ChunkStep, Step, Walker};

/// Data written by one piece of work, so that a chunk with a million places neither keeps a thread from other jobs nor
/// hides its progress.
const WRITE_BATCH_BYTES: u64 = 32 << 20;

/// Zeros written to a device by one piece of work.
const ZERO_BATCH_BYTES: u64 = 64 << 20;

/// Ends with what became of each of its chunks and runs of zeros.
type Working = BoxFuture<'static, Result<(Vec<Done>, Spent), Failure>>;
type Reserving = Fuse<BoxFuture<'static, Result<ChunkMemory, RestoreErrorKind>>>;

/// What is done next.
enum Next {
    Fetch(ChunkStep),
    Zero(ZeroRun),
}

/// Zeros to be written.
#[derive(Copy, Clone)]
struct ZeroRun {
    offset: u64,
    bytes: u64,
    chunks: u64,
}

/// What a piece of work achieved, and what it left for the next.
enum Done {
    Written {
        bytes: u64,
        positions: u64,
        repeats: u64,
        rest: Option<(Decoded, u64)>,
    },
    Zeroed {
        bytes: u64,
        chunks: u64,
        rest: Option<ZeroRun>,
    },
}

/// Restores everything the plan lists, or says which chunk failed.
pub(crate) async fn run(job: &Arc<Job>, books: &mut Books) -> Result<(), Failure> {
    let mut walker = Walker::new(&job.index, &job.plan);
    let mut next = advance(&mut walker, job, books).await?;
    let mut reserving: Reserving = Fuse::terminated();
    let mut fetches: JoinSet<Result<Fetched, Failure>> = JoinSet::new();
    let mut backlog = Backlog::new(job.pool.threads());
    let mut work: FuturesUnordered<Working> = FuturesUnordered::new();
    // Chunks and runs of zeros in `work`.
    let mut in_work = 0;
    // As many chunks may wait for a CPU thread as may be on their way: else the threads run dry while a burst of
    // fetches waits for a slow source. The memory budget bounds the sum.
    let work_ahead = job.parallel.max(backlog.enough());
    loop {
        while let Some(chunks) = backlog.take(work.len()) {
            in_work += chunks.len();
            work.push(place(Arc::clone(job), chunks).boxed());
        }
        let undone = backlog.len() + in_work;
        let room = match job.parallel {
            1 => fetches.is_empty() && undone == 0,
            parallel => fetches.len() < parallel && undone < work_ahead,
        };
        match &next {
            Some(Next::Zero(run)) if room => {
                in_work += 1;
                work.push(zero(Arc::clone(job), *run).boxed());
                next = advance(&mut walker, job, books).await?;
            }
            Some(Next::Fetch(step)) if room && reserving.is_terminated() => {
                let (job, need) = (Arc::clone(job), Job::need(step));
                reserving = async move { job.share.reserve(need).await }.boxed().fuse();
            }
            None if fetches.is_empty() && undone == 0 => break,
            _ => {}
        }
        tokio::select! {
            Some(result) = work.next() => {
                let (done, spent) = result?;
                books.spend(spent);
                in_work -= done.len();
                for done in done {
                    let rest = account(job, books, done);
                    in_work += usize::from(rest.is_some());
                    work.extend(rest);
                }
            }
            Some(joined) = fetches.join_next() => {
                let mut arrived = Some(joined);
                while let Some(joined) = arrived {
                    let fetched = joined.map_err(gone)??;
                    books.fetched(&fetched);
                    backlog.push(fetched);
                    arrived = fetches.try_join_next();
                }
            }
            memory = &mut reserving, if !reserving.is_terminated() => {
                if let Some(Next::Fetch(step)) = next.take() {
                    books.begin();
                    fetches.spawn(Arc::clone(job).fetch(step, memory?));
                    next = advance(&mut walker, job, books).await?;
                }
            }
            else => return Err(RestoreErrorKind::Internal { what: "the pipeline ran dry" }.into()),
        }
    }
    walker.finish()
}

fn gone(_error: JoinError) -> Failure {
    RestoreErrorKind::Internal {
        what: "a fetch panicked",
    }
    .into()
}

/// The next chunk to fetch or zeros to write. Repeats are written with their first use; holes need nothing.
async fn advance(walker: &mut Walker, job: &Job, books: &mut Books) -> Result<Option<Next>, Failure> {
    while let Some(step) = walker.next().await? {
        match step {
            Step::Chunk(step) if step.first => return Ok(Some(Next::Fetch(step))),
            Step::Chunk(_repeat) => {}
            Step::Zeros {
                offset,
                bytes,
                chunks,
            } => match &*job.sink {
                Sink::Device(device) if device.needs_zeros() => {
                    return Ok(Some(Next::Zero(ZeroRun {
                        offset,
                        bytes,
                        chunks,
                    })));
                }
                _ => books.zeros(bytes, chunks),
            },
        }
    }
    Ok(None)
}

/// Enters what was done; the rest, if any, is the next piece of work.
fn account(job: &Arc<Job>, books: &mut Books, done: Done) -> Option<Working> {
    match done {
        Done::Written {
            bytes,
            positions,
            repeats,
            rest,
        } => {
            books.data(bytes, positions, repeats);
            let (chunk, position) = rest?;
            Some(place_more(Arc::clone(job), chunk, position).boxed())
        }
        Done::Zeroed { bytes, chunks, rest } => {
            books.zeros(bytes, chunks);
            rest.map(|run| zero(Arc::clone(job), run).boxed())
        }
    }
}

async fn place(job: Arc<Job>, fetched: Vec<Fetched>) -> Result<(Vec<Done>, Spent), Failure> {
    job.compute(move |job, worker: &mut Worker, spent| {
        let (chunks, decode_ns) = job.decode(worker, fetched)?;
        spent.decode_ns = decode_ns;
        let write = |chunk: Decoded| {
            let position = chunk.step.place.position;
            write_places(job, chunk, position, spent)
        };
        chunks.into_iter().map(write).collect()
    })
    .await
}

async fn place_more(job: Arc<Job>, chunk: Decoded, position: u64) -> Result<(Vec<Done>, Spent), Failure> {
    job.compute(move |job, _worker, spent| Ok(vec![write_places(job, chunk, position, spent)?]))
        .await
}

/// Writes a chunk to its places from `position` on, up to a batch.
fn write_places(job: &Job, chunk: Decoded, position: u64, spent: &mut Spent) -> Result<Done, Failure> {
    let start = clock::now();
    let place = chunk.step.place;
    let len = chunk.bytes().len() as u64;
    let (mut bytes, mut positions, mut repeats) = (0, 0, 0);
    let mut next = Some(position);
    while let Some(position) = next {
        if bytes >= WRITE_BATCH_BYTES || job.stopped() {
            break;
        }
        let first = position == place.position;
        let offset = if first {
            place.offset
        } else {
            job.offset_of(position, &chunk.step)?
        };
        write(job, chunk.bytes(), offset).map_err(|error| {
            Failure::at(
                ChunkPlace {
                    position,
                    offset,
                    ..place
                },
                error,
            )
        })?;
        bytes += len;
        positions += 1;
        repeats += u64::from(!first);
        next = job.plan.next_use(position);
    }
    spent.write_ns += clock::elapsed_ns(start);
    Ok(Done::Written {
        bytes,
        positions,
        repeats,
        rest: next.map(|position| (chunk, position)),
    })
}

fn write(job: &Job, bytes: &[u8], offset: u64) -> Result<(), TargetError> {
    match &*job.sink {
        Sink::File(file) => file.write_at(bytes, offset),
        Sink::Device(device) => device.write_at(bytes, offset),
        Sink::Null | Sink::Stream(_) => Ok(()),
    }
}

async fn zero(job: Arc<Job>, run: ZeroRun) -> Result<(Vec<Done>, Spent), Failure> {
    job.compute(move |job, _worker, spent| {
        let start = clock::now();
        let bytes = run.bytes.min(ZERO_BATCH_BYTES);
        if let Sink::Device(device) = &*job.sink {
            device.zero(run.offset, bytes)?;
        }
        spent.write_ns = clock::elapsed_ns(start);
        let rest = ZeroRun {
            offset: run.offset + bytes,
            bytes: run.bytes - bytes,
            chunks: run.chunks,
        };
        // The run's positions are done when all of its bytes are.
        Ok(vec![if rest.bytes == 0 {
            Done::Zeroed {
                bytes,
                chunks: run.chunks,
                rest: None,
            }
        } else {
            Done::Zeroed {
                bytes,
                chunks: 0,
                rest: Some(rest),
            }
        }])
    })
    .await
}
