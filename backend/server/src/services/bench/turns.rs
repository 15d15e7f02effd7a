//! Turns at work that takes the processor and much memory: a bounded number at once, a bounded number that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::services::error::{ServiceError, ServiceResult};

/// Turns at once.
const MAX_WORK: usize = 2;
/// Requests that may wait for a turn; more are refused.
const MAX_WAITING: u64 = 64;

/// All turns.
pub struct Turns {
    permits: Arc<Semaphore>,
    waiting: AtomicU64,
    /// Somebody put down memory that may be given back.
    freed: Arc<Notify>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(MAX_WORK)),
            waiting: AtomicU64::new(0),
            freed: Arc::new(Notify::new()),
        }
    }
}

/// The right to read large runs and to take the processor for a while. Whoever works for its holder has a copy: it ends
/// with the last of them, and so the memory of what was read is bounded, too.
#[derive(Clone)]
pub struct Turn(#[expect(dead_code, reason = "holding it is its use")] Arc<Held>);

struct Held {
    _permit: OwnedSemaphorePermit,
    freed: Arc<Notify>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.freed.notify_one();
    }
}

impl Turn {
    /// Runs something that takes the processor for a while, off the async threads. When nobody waits for it any more it
    /// goes on, and keeps the turn until it ends.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> ServiceResult<T> + Send + 'static,
    ) -> ServiceResult<T> {
        let turn = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await?
    }
}

/// Counts who waits, as long as they do.
struct Waiting<'a>(&'a AtomicU64);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Turns {
    /// Waits for a turn. Who has one must not wait for another.
    ///
    /// # Errors
    /// Unavailable, when too many wait already.
    pub async fn turn(&self) -> ServiceResult<Turn> {
        if self.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            let text = format!("{MAX_WAITING} requests wait for the benchmark lab already, try again");
            return Err(ServiceError::unavailable("bench-busy", text));
        }
        self.next_turn().await
    }

    async fn next_turn(&self) -> ServiceResult<Turn> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(&self.waiting);
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        drop(waiting);
        Ok(Turn(Arc::new(Held {
            _permit: permit.map_err(ServiceError::internal)?,
            freed: Arc::clone(&self.freed),
        })))
    }

    /// Runs something in a turn of its own, however many wait.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> ServiceResult<T> + Send + 'static,
    ) -> ServiceResult<T> {
        self.next_turn().await?.compute(work).await
    }

    /// Requests that wait for a turn.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Turns that are taken.
    #[must_use]
    pub fn working(&self) -> u64 {
        MAX_WORK.saturating_sub(self.permits.available_permits()) as u64
    }

    /// Waits until somebody has put down memory.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn work_that_nobody_waits_for_keeps_its_turn_until_it_ends() {
        let turns = Arc::new(Turns::default());
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (end, may_end) = mpsc::channel::<()>();
        let client = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move {
                let turn = turns.turn().await?;
                let work = turn.compute(move || {
                    begun.send(()).unwrap();
                    may_end.recv().unwrap();
                    Ok(())
                });
                work.await
            }
        });
        has_begun.await.unwrap();
        client.abort();
        assert!(client.await.unwrap_err().is_cancelled());
        assert_eq!(turns.working(), 1, "the client left, the work goes on");
        end.send(()).unwrap();
        let both = async { (turns.turn().await.unwrap(), turns.turn().await.unwrap()) };
        let both = tokio::time::timeout(Duration::from_secs(30), both).await.unwrap();

        // Those that wait are counted as long as they wait, and there are not too many of them.
        let waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| {
                let turns = Arc::clone(&turns);
                tokio::spawn(async move { turns.turn().await.map(drop) })
            })
            .collect();
        while turns.waiting() < MAX_WAITING {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            turns.turn().await.err().map(|error| error.code),
            Some("bench-busy".into())
        );
        for one in waiting {
            one.abort();
            assert!(one.await.unwrap_err().is_cancelled());
        }
        assert_eq!((turns.waiting(), turns.working()), (0, 2));
        drop(both);
        assert_eq!(turns.working(), 0);
    }
}
