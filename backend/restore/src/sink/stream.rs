//! Restored bytes in order, for a reader that sets the pace: an HTTP body, standard output.
//!
//! The end of the stream is clean only when the restore succeeded; in every other case (failure, cancellation, even a
//! crash of the job's task) the reader gets an error, so that half an archive is never taken for a whole one.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;

use super::TargetError;

/// The restore ended before the stream did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("restore stream ended early: {reason}")]
pub struct StreamAborted {
    /// Why, for a person.
    pub reason: Arc<str>,
}

/// The job's end.
#[derive(Debug)]
pub struct StreamSink {
    sender: mpsc::Sender<Bytes>,
    end: Arc<OnceLock<Result<(), StreamAborted>>>,
}

/// The reader's end.
#[derive(Debug)]
pub struct StreamReceiver {
    receiver: mpsc::Receiver<Bytes>,
    end: Arc<OnceLock<Result<(), StreamAborted>>>,
    over: bool,
}

impl StreamSink {
    /// A stream of at most `pieces` queued pieces (a piece is at most one chunk; at least 1).
    pub fn channel(pieces: usize) -> (Self, StreamReceiver) {
        let (sender, receiver) = mpsc::channel(pieces.max(1));
        let end = Arc::new(OnceLock::new());
        (
            Self {
                sender,
                end: Arc::clone(&end),
            },
            StreamReceiver {
                receiver,
                end,
                over: false,
            },
        )
    }

    pub(crate) async fn send(&self, piece: Bytes) -> Result<(), TargetError> {
        self.sender
            .send(piece)
            .await
            .map_err(|_closed| TargetError::ReaderGone)
    }

    /// Resolves when the reader has gone away.
    pub(crate) async fn reader_gone(&self) {
        self.sender.closed().await;
    }

    /// The stream is complete.
    pub(crate) fn complete(&self) {
        // Set once: by whoever ends the job first.
        let _set = self.end.set(Ok(()));
    }

    /// The stream is not complete, and why.
    pub(crate) fn abort(&self, reason: &str) {
        let _set = self.end.set(Err(StreamAborted {
            reason: reason.into(),
        }));
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
        while let Some(piece) = self.receiver.blocking_recv() {
            target.write_all(&piece)?;
            written += piece.len() as u64;
        }
        target.flush()?;
        match self.verdict() {
            None => Ok(written),
            Some(aborted) => Err(io::Error::other(aborted)),
        }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamAborted>>> {
        if self.over {
            return Poll::Ready(None);
        }
        self.receiver.poll_recv(context).map(|piece| match piece {
            Some(piece) => Some(Ok(piece)),
            None => {
                self.over = true;
                self.verdict().map(Err)
            }
        })
    }

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

impl Stream for StreamReceiver {
    type Item = Result<Bytes, StreamAborted>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_piece(context)
    }
}
