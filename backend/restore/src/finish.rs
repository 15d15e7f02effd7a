//! The end of a restore: durable and visible, or gone.

use std::sync::Arc;

use fleethold_format::hash::Sha256;

use crate::clock;
use crate::error::{Failure, RestoreErrorKind};
use crate::job::Books;
use crate::sink::{Sink, TargetError};

/// Bytes read back at once.
const READ_BYTES: usize = 1 << 20;

/// Checks and sizes the target before the first chunk.
pub(crate) async fn prepare(sink: &Arc<Sink>, size: u64) -> Result<(), Failure> {
    let sink = Arc::clone(sink);
    blocking(move || match &*sink {
        Sink::File(file) => file.set_size(size),
        Sink::Device(device) => device.check_size(size),
        Sink::Null | Sink::Stream(_) => Ok(()),
    })
    .await
}

/// Makes the data durable; hashes what the target now holds when asked to. Nothing is visible yet.
pub(crate) async fn sync(
    sink: &Arc<Sink>,
    size: u64,
    sha256: bool,
    books: &mut Books,
) -> Result<Option<[u8; 32]>, Failure> {
    let sink = Arc::clone(sink);
    let work = move || {
        let start = clock::thread_cpu_ns();
        let digest = if sha256 {
            Some(read_back(&sink, size)?)
        } else {
            None
        };
        match &*sink {
            Sink::File(file) => file.sync()?,
            Sink::Device(device) => device.sync()?,
            Sink::Null | Sink::Stream(_) => {}
        }
        Ok((digest, clock::thread_cpu_ns().saturating_sub(start)))
    };
    let (digest, cpu_ns) = blocking(work).await?;
    books.cpu_ns += cpu_ns;
    Ok(digest)
}

/// Gives a file its name, a stream its clean end. Not to be interrupted.
pub(crate) async fn publish(sink: &Arc<Sink>) -> Result<(), Failure> {
    let sink = Arc::clone(sink);
    blocking(move || {
        match &*sink {
            Sink::File(file) => file.publish()?,
            Sink::Stream(stream) => stream.complete(),
            Sink::Null | Sink::Device(_) => {}
        }
        Ok(())
    })
    .await
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TargetError> + Send + 'static,
) -> Result<T, Failure> {
    let panicked = |_error| RestoreErrorKind::Internal {
        what: "finishing the target panicked",
    };
    Ok(tokio::task::spawn_blocking(work).await.map_err(panicked)??)
}

fn read_back(sink: &Sink, size: u64) -> Result<[u8; 32], TargetError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut at = 0;
    while at < size {
        let want = usize::try_from(size - at).unwrap_or(usize::MAX).min(READ_BYTES);
        let part = buffer.get_mut(..want).unwrap_or_default();
        let read = match sink {
            Sink::File(file) => file.read_at(part, at)?,
            Sink::Device(device) => device.read_at(part, at)?,
            Sink::Null | Sink::Stream(_) => 0,
        };
        if read == 0 {
            return Err(short(sink, size, at));
        }
        hasher.update(part.get(..read).unwrap_or_default());
        at += read as u64;
    }
    Ok(hasher.finalize())
}

fn short(sink: &Sink, expected: u64, actual: u64) -> TargetError {
    let path = match sink {
        Sink::File(file) => file.path().to_owned(),
        Sink::Device(device) => device.path().to_owned(),
        Sink::Null | Sink::Stream(_) => std::path::PathBuf::new(),
    };
    TargetError::Unsuitable {
        path,
        reason: format!("read back {actual} bytes, expected {expected}"),
    }
}

/// Sees to it that a target which was not published is discarded, even when the job's task is dropped.
pub(crate) struct Settle {
    /// `None` when it is settled.
    sink: Option<Arc<Sink>>,
}

impl Settle {
    pub(crate) fn new(sink: Arc<Sink>) -> Self {
        Self { sink: Some(sink) }
    }

    /// Discards the target when the job failed. Should hold the last reference to it: giving back the space of a large
    /// file takes a while, and happens when it is closed.
    pub(crate) async fn settle<T>(mut self, result: &Result<T, Failure>) {
        let Some(sink) = self.sink.take() else { return };
        let reason = result.as_ref().err().map(|failure| failure.kind.to_string());
        let close = move || {
            if let Some(reason) = reason {
                discard(&sink, &reason);
            }
        };
        if tokio::task::spawn_blocking(close).await.is_err() {
            tracing::error!("closing a restore target panicked");
        }
    }
}

impl Drop for Settle {
    fn drop(&mut self) {
        // Here and now: nobody is left to wait for another thread.
        if let Some(sink) = self.sink.take() {
            discard(&sink, "the restore job was dropped");
        }
    }
}

fn discard(sink: &Sink, reason: &str) {
    match sink {
        Sink::File(file) => file.discard(),
        Sink::Stream(stream) => stream.abort(reason),
        Sink::Null | Sink::Device(_) => {}
    }
}
