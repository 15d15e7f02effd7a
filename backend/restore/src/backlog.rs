//! Fetched chunks that wait for a CPU thread. A thread takes several at once where their digests are computed faster
//! together.

use fleethold_format::hash::digests_at_once;

/// Fetched chunks, oldest first.
pub(crate) struct Backlog<T> {
    chunks: Vec<T>,
    /// Most chunks of a batch.
    batch: usize,
    /// Most batches given out at a time.
    hands: usize,
}

impl<T> Backlog<T> {
    pub(crate) fn new(threads: usize) -> Self {
        Self::with_batches(threads, digests_at_once())
    }

    fn with_batches(threads: usize, batch: usize) -> Self {
        // Chunks that go one by one are queued ahead, so that no thread waits for the next. Those that wait here fill
        // the next batch.
        let hands = if batch == 1 { threads * 2 } else { threads };
        Self {
            chunks: Vec::new(),
            batch,
            hands,
        }
    }

    /// Chunks that keep all threads busy with whole batches.
    pub(crate) fn enough(&self) -> usize {
        self.hands * self.batch
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(crate) fn push(&mut self, chunk: T) {
        self.chunks.push(chunk);
    }

    /// The next batch when fewer than all `busy` hands are full: an even share of what waits for each that is free.
    pub(crate) fn take(&mut self, busy: usize) -> Option<Vec<T>> {
        let free = self.hands.checked_sub(busy).filter(|&free| free > 0)?;
        let share = self.chunks.len().div_ceil(free).min(self.batch);
        (share > 0).then(|| self.chunks.drain(..share).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Backlog;

    fn backlog(threads: usize, batch: usize, chunks: usize) -> Backlog<usize> {
        let mut backlog = Backlog::with_batches(threads, batch);
        (0..chunks).for_each(|chunk| backlog.push(chunk));
        backlog
    }

    #[test]
    fn free_threads_share_what_waits() {
        let mut backlog = backlog(2, 16, 5);
        assert_eq!(backlog.take(0), Some(vec![0, 1, 2]));
        assert_eq!(backlog.take(1), Some(vec![3, 4]));
        assert_eq!(backlog.take(1), None, "nothing waits");
        backlog.push(5);
        assert_eq!(backlog.take(2), None, "no thread is free");
        assert_eq!(backlog.len(), 1);
    }

    #[test]
    fn a_batch_is_no_larger_than_the_lanes() {
        let mut backlog = backlog(2, 16, 100);
        assert_eq!(backlog.take(1).map(|batch| batch.len()), Some(16));
        assert_eq!(backlog.len(), 84);
    }

    #[test]
    fn without_lanes_chunks_go_one_by_one() {
        let mut backlog = backlog(2, 1, 3);
        assert_eq!(backlog.take(0), Some(vec![0]));
        assert_eq!(backlog.take(3), Some(vec![1]));
        assert_eq!(backlog.take(4), None);
    }
}
