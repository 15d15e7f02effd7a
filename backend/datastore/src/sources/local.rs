//! Chunks in a directory: `.chunks/<first 4 hex digits>/<64 hex digits>` (FORMAT.md §4).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fleethold_format::digest::ChunkDigest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::fs::{Dir, open_beneath, read_up_to};
use crate::source::{ChunkSource, SourceError, SourceErrorKind};

/// Reads at a time, unless told otherwise: deep enough for a flash array, far below the runtime's threads.
const DEFAULT_READS: usize = 64;

/// Chunks of a datastore's directory, read on the runtime's blocking threads. Clones share one bound.
#[derive(Debug, Clone)]
pub struct LocalSource {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: Dir,
    reads: Arc<Semaphore>,
    in_flight: AtomicUsize,
}

impl LocalSource {
    pub(crate) fn new(dir: Dir) -> Self {
        Self::bounded(dir, DEFAULT_READS)
    }

    fn bounded(dir: Dir, reads: usize) -> Self {
        let reads = Arc::new(Semaphore::new(reads.clamp(1, Semaphore::MAX_PERMITS)));
        Self {
            inner: Arc::new(Inner {
                dir,
                reads,
                in_flight: AtomicUsize::new(0),
            }),
        }
    }

    /// The same directory with at most `reads` reads at a time (at least 1).
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn with_reads(&self, reads: usize) -> io::Result<Self> {
        Ok(Self::bounded(self.inner.dir.try_clone()?, reads))
    }

    /// Reads that occupy a thread at this moment.
    pub fn in_flight(&self) -> usize {
        self.inner.in_flight.load(Ordering::Relaxed)
    }

    /// Reads one chunk on this thread. See [`ChunkSource::fetch`].
    ///
    /// # Errors
    /// As [`ChunkSource::fetch`].
    pub fn read_blocking(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> Result<Vec<u8>, SourceError> {
        self.inner.read(digest, max_encoded, buf)
    }
}

impl Inner {
    fn read(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        mut buf: Vec<u8>,
    ) -> Result<Vec<u8>, SourceError> {
        let rel = chunk_path(&digest);
        let error = |kind| SourceError::new(kind, digest).at(self.dir.path().join(&rel));
        let refused = |source: io::Error| error(SourceErrorKind::Io).because(source);

        let file = match open_beneath(self.dir.fd(), &rel, false) {
            Ok(fd) => File::from(fd),
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                return Err(error(SourceErrorKind::NotFound));
            }
            Err(source) => return Err(refused(source)),
        };
        let metadata = file.metadata().map_err(refused)?;
        if !metadata.is_file() {
            return Err(error(SourceErrorKind::NotAFile));
        }
        if metadata.len() == 0 {
            return Err(error(SourceErrorKind::Empty));
        }
        let too_large = SourceErrorKind::TooLarge {
            encoded_bytes: metadata.len(),
            max_bytes: max_encoded as u64,
        };
        let len = match usize::try_from(metadata.len()) {
            Ok(len) if len <= max_encoded => len,
            _ => return Err(error(too_large)),
        };
        buf.clear();
        buf.reserve_exact(len);
        read_up_to(file.as_fd(), &mut buf, len).map_err(refused)?;
        if buf.len() != len {
            return Err(error(SourceErrorKind::Short {
                expected_bytes: len as u64,
                actual_bytes: buf.len() as u64,
            }));
        }
        Ok(buf)
    }
}

impl ChunkSource for LocalSource {
    fn fetch(
        &self,
        digest: ChunkDigest,
        max_encoded: usize,
        buf: Vec<u8>,
    ) -> BoxFuture<'_, Result<Vec<u8>, SourceError>> {
        async move {
            let stopped = || SourceError::new(SourceErrorKind::Stopped, digest);
            let permit = Arc::clone(&self.inner.reads)
                .acquire_owned()
                .await
                .map_err(|_| stopped())?;
            let inner = Arc::clone(&self.inner);
            // The permit moves along: a fetch that was given up still occupies its thread until the read ends.
            let read = tokio::task::spawn_blocking(move || {
                inner.in_flight.fetch_add(1, Ordering::Relaxed);
                let outcome = inner.read(digest, max_encoded, buf);
                inner.in_flight.fetch_sub(1, Ordering::Relaxed);
                drop(permit);
                outcome
            });
            read.await.map_err(|_| stopped())?
        }
        .boxed()
    }

    fn describe(&self) -> String {
        format!("local {}", self.inner.dir.path().display())
    }
}

/// `abcd/abcd…` below `.chunks`.
pub(crate) fn chunk_path(digest: &ChunkDigest) -> PathBuf {
    let name = digest.to_string();
    let prefix = name.get(..4).unwrap_or_default();
    Path::new(prefix).join(&name)
}
