//! Restored bytes in order, for a reader that sets the pace: an HTTP body, standard output.
//!
//! The end of the stream is clean only when the restore succeeded; in every other case (failure, cancellation, even a
//! crash of the job's task) the reader gets an error, so that half an archive is never taken for a whole one.
//!
//! The job is over when the reader has taken everything, and an error takes what is queued away from the reader: memory
//! must not stay with one that never reads.

use std::io::{self, Write};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bytes::Bytes;
use futures_util::Stream;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::TargetError;

/// The restore ended before the stream did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("restore stream ended early: {reason}")]
pub struct StreamAborted {
    /// Why, for a person.
    pub reason: Arc<str>,
}

/// What both ends share.
#[derive(Debug)]
struct Queue {
    /// Never locked for long: nobody waits while holding it.
    receiver: Mutex<mpsc::Receiver<Bytes>>,
    /// Pieces the reader has taken.
    taken: AtomicU64,
    end: OnceLock<Result<(), StreamAborted>>,
}

impl Queue {
    /// Nothing goes in any more, and what is there is freed.
    fn close(&self) {
        let mut left = Vec::new();
        {
            let mut receiver = self.receiver.lock();
            receiver.close();
            while let Ok(piece) = receiver.try_recv() {
                left.push(piece);
            }
        }
        drop(left);
    }
}

/// The job's end.
#[derive(Debug)]
pub struct StreamSink {
    sender: mpsc::Sender<Bytes>,
    sent: AtomicU64,
    queue: Arc<Queue>,
}

/// The reader's end.
#[derive(Debug)]
pub struct StreamReceiver {
    queue: Arc<Queue>,
    over: bool,
}

impl StreamSink {
    /// A stream of at most `pieces` queued pieces (a piece is at most one chunk; at least 1).
    pub fn channel(pieces: usize) -> (Self, StreamReceiver) {
        let (sender, receiver) = mpsc::channel(pieces.max(1));
        let queue = Arc::new(Queue {
            receiver: Mutex::new(receiver),
            taken: AtomicU64::new(0),
            end: OnceLock::new(),
        });
        let sink = Self {
            sender,
            sent: AtomicU64::new(0),
            queue: Arc::clone(&queue),
        };
        (sink, StreamReceiver { queue, over: false })
    }

    pub(crate) async fn send(&self, piece: Bytes) -> Result<(), TargetError> {
        self.sender
            .send(piece)
            .await
            .map_err(|_closed| TargetError::ReaderGone)?;
        self.sent.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Waits until the reader has taken everything: until then its pieces are the job's memory.
    pub(crate) async fn drain(&self) -> Result<(), TargetError> {
        // All places free: no piece is queued.
        match self.sender.reserve_many(self.sender.max_capacity()).await {
            Ok(_places) => Ok(()),
            Err(_closed) if self.taken() == self.sent.load(Ordering::Acquire) => Ok(()),
            Err(_closed) => Err(TargetError::ReaderGone),
        }
    }

    /// Pieces the reader has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.queue.taken.load(Ordering::Acquire)
    }

    /// Whether there is something for the reader to take.
    pub(crate) fn queued(&self) -> bool {
        self.sender.capacity() < self.sender.max_capacity()
    }

    /// Resolves when the reader has gone away.
    pub(crate) async fn reader_gone(&self) {
        self.sender.closed().await;
    }

    /// The stream is complete.
    pub(crate) fn complete(&self) {
        // Set once: by whoever ends the job first.
        let _set = self.queue.end.set(Ok(()));
    }

    /// The stream is not complete, and why.
    pub(crate) fn abort(&self, reason: &str) {
        let _set = self.queue.end.set(Err(StreamAborted {
            reason: reason.into(),
        }));
        self.queue.close();
    }
}

impl StreamReceiver {
    /// The next piece; `None` is the clean end.
    ///
    /// # Errors
    /// [`StreamAborted`], once, when the restore did not succeed.
    pub async fn next_piece(&mut self) -> Option<Result<Bytes, StreamAborted>> {
        std::future::poll_fn(|context| self.poll_piece(context)).await
    }

    /// Writes everything to `target` from a thread that may block.
    ///
    /// # Errors
    /// What the target refuses, or an error of kind `Other` around [`StreamAborted`]. Bytes written are returned on
    /// success.
    pub fn write_to(mut self, mut target: impl Write) -> io::Result<u64> {
        let mut written = 0;
        while let Some(piece) = block_on(self.next_piece()) {
            let piece = piece.map_err(io::Error::other)?;
            target.write_all(&piece)?;
            written += piece.len() as u64;
        }
        target.flush()?;
        Ok(written)
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamAborted>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut receiver = self.queue.receiver.lock();
        receiver.poll_recv(context).map(|piece| match piece {
            Some(piece) => {
                self.queue.taken.fetch_add(1, Ordering::AcqRel);
                Some(Ok(piece))
            }
            None => {
                self.over = true;
                self.queue.verdict().map(Err)
            }
        })
    }
}

impl Queue {
    fn verdict(&self) -> Option<StreamAborted> {
        match self.end.get() {
            Some(Ok(())) => None,
            Some(Err(aborted)) => Some(aborted.clone()),
            None => Some(StreamAborted {
                reason: "the restore job disappeared".into(),
            }),
        }
    }
}

impl Drop for StreamReceiver {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Stream for StreamReceiver {
    type Item = Result<Bytes, StreamAborted>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_piece(context)
    }
}

/// Wakes a thread that waits for a piece.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which may block, without a runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
