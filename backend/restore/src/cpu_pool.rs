//! OS threads that decode, verify, write and hash for all jobs of the process.
//!
//! Async code hands work over without ever blocking: a slot of the bounded channel is acquired first (waiters in
//! order of arrival, so jobs take turns), and a thread frees the slot when it takes the work out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use fleethold_format::blob::BlobDecoder;
use tokio::sync::{Semaphore, oneshot};

use crate::error::RestoreErrorKind;

/// What a thread keeps between two pieces of work.
pub(crate) struct Worker {
    pub decoder: BlobDecoder,
}

type Work = Box<dyn FnOnce(&mut Worker) + Send>;

pub(crate) struct CpuPool {
    work: Sender<Work>,
    slots: Arc<Semaphore>,
    threads: usize,
}

impl CpuPool {
    /// Starts the threads; fails when the system has no thread left.
    pub(crate) fn start(threads: usize) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let capacity = threads * 2;
        let (work, queue) = bounded::<Work>(capacity);
        for number in 0..threads {
            let queue = queue.clone();
            thread::Builder::new()
                .name(format!("restore-cpu-{number}"))
                .spawn(move || run(&queue))?;
        }
        Ok(Self {
            work,
            slots: Arc::new(Semaphore::new(capacity)),
            threads,
        })
    }

    /// Runs `work` on one of the threads. When the future is dropped, work already handed over still runs; `guard` is
    /// dropped when it is over and nothing of it is left.
    pub(crate) async fn run<T, F, G>(&self, guard: G, work: F) -> Result<T, RestoreErrorKind>
    where
        T: Send + 'static,
        G: Send + 'static,
        F: FnOnce(&mut Worker) -> T + Send + 'static,
    {
        const GONE: RestoreErrorKind = RestoreErrorKind::Internal {
            what: "the CPU threads are gone",
        };
        let slot = Arc::clone(&self.slots)
            .acquire_owned()
            .await
            .map_err(|_closed| GONE)?;
        let (reply, result) = oneshot::channel();
        let boxed: Work = Box::new(move |worker| {
            drop(slot);
            // Nobody listens any more after a cancellation.
            drop(reply.send(work(worker)));
            drop(guard);
        });
        self.work.try_send(boxed).map_err(|_refused| GONE)?;
        result.await.map_err(|_dropped| RestoreErrorKind::Internal {
            what: "a CPU thread panicked",
        })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Pieces of work that wait for a thread.
    pub(crate) fn queued(&self) -> usize {
        self.work.len()
    }
}

fn run(queue: &Receiver<Work>) {
    let mut worker = Worker {
        decoder: BlobDecoder::new(),
    };
    while let Ok(work) = queue.recv() {
        // A panic must not take the thread from the other jobs; its own job fails, since its reply is dropped.
        if catch_unwind(AssertUnwindSafe(|| work(&mut worker))).is_err() {
            tracing::error!("a restore worker panicked; its job fails");
            worker = Worker {
                decoder: BlobDecoder::new(),
            };
        }
    }
}
