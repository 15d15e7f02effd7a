//! Walking over an index in order, in windows, while hashing it once more.

use std::sync::Arc;

use fleethold_datastore::{IndexEntry, IndexFile};

use crate::error::{ChunkPlace, Failure, RestoreErrorKind};
use crate::plan::{IndexHasher, RestorePlan, Use, WINDOW, read_window};

/// What comes next in the archive.
pub(crate) enum Step {
    /// A run of zero chunks.
    Zeros { offset: u64, bytes: u64, chunks: u64 },
    /// A chunk that is not zeros.
    Chunk(ChunkStep),
}

/// One position of the index.
#[derive(Copy, Clone)]
pub(crate) struct ChunkStep {
    pub place: ChunkPlace,
    /// Plain length in bytes.
    pub len: usize,
    pub first: bool,
}

pub(crate) struct Walker {
    index: Arc<IndexFile>,
    plan: Arc<RestorePlan>,
    position: u64,
    total: u64,
    window: Vec<IndexEntry>,
    window_start: u64,
    hasher: IndexHasher,
}

impl Walker {
    pub(crate) fn new(index: &Arc<IndexFile>, plan: &Arc<RestorePlan>) -> Self {
        Self {
            index: Arc::clone(index),
            plan: Arc::clone(plan),
            position: 0,
            total: plan.counts().chunks_total,
            window: Vec::new(),
            window_start: 0,
            hasher: IndexHasher::new(index),
        }
    }

    /// The next run of zeros or chunk; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Step>, Failure> {
        let Some(entry) = self.peek().await? else {
            return Ok(None);
        };
        if self.plan.use_at(self.position) != Use::Zero {
            return Ok(Some(Step::Chunk(self.take_chunk(&entry)?)));
        }
        let offset = entry.offset;
        let (mut bytes, mut chunks) = (0, 0);
        while let Some(entry) = self.peek().await? {
            if self.plan.use_at(self.position) != Use::Zero {
                break;
            }
            self.advance(&entry);
            bytes += entry.len;
            chunks += 1;
        }
        Ok(Some(Step::Zeros {
            offset,
            bytes,
            chunks,
        }))
    }

    /// At the end: whether the entries were those of the plan.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let (planned, actual) = (self.plan.index_csum(), self.hasher.finish());
        if planned == actual {
            Ok(())
        } else {
            Err(RestoreErrorKind::IndexChanged { planned, actual }.into())
        }
    }

    fn take_chunk(&mut self, entry: &IndexEntry) -> Result<ChunkStep, Failure> {
        let place = ChunkPlace {
            digest: entry.digest,
            position: self.position,
            offset: entry.offset,
        };
        let first = self.plan.use_at(self.position) == Use::First;
        // Cannot be longer than planned, unless the index was changed in place.
        if entry.len > self.plan.largest_chunk_bytes() {
            let what = "the index changed while it was read: a chunk became longer";
            return Err(Failure::at(place, RestoreErrorKind::Internal { what }));
        }
        self.advance(entry);
        Ok(ChunkStep {
            place,
            len: usize::try_from(entry.len).unwrap_or(usize::MAX),
            first,
        })
    }

    fn advance(&mut self, entry: &IndexEntry) {
        self.hasher.update(entry);
        self.position += 1;
    }

    async fn peek(&mut self) -> Result<Option<IndexEntry>, Failure> {
        if self.position >= self.total {
            return Ok(None);
        }
        if self.position >= self.window_start + self.window.len() as u64 {
            self.load().await?;
        }
        let at = usize::try_from(self.position - self.window_start).unwrap_or(usize::MAX);
        let missing = RestoreErrorKind::Internal {
            what: "the index window is empty",
        };
        self.window.get(at).copied().map(Some).ok_or(missing.into())
    }

    async fn load(&mut self) -> Result<(), Failure> {
        let index = Arc::clone(&self.index);
        let range = self.position..self.total.min(self.position + WINDOW);
        let mut window = std::mem::take(&mut self.window);
        let read = move || read_window(&index, range, &mut window).map(|()| window);
        let gone = |_panicked| RestoreErrorKind::Internal {
            what: "reading the index panicked",
        };
        self.window = tokio::task::spawn_blocking(read).await.map_err(gone)??;
        self.window_start = self.position;
        Ok(())
    }
}
