//! A configuration file in memory, read again when it changes: one `stat` a look.
//!
//! An edit that cannot be read keeps the last good content, so that a slip of an editor locks nobody out and lets nobody in.

use std::fmt::Display;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

/// Tells one state of a file from another without reading it; `None` when there is no file.
type Identity = Option<(u64, u64, i64, i64)>;

struct Known<T> {
    identity: Identity,
    content: Arc<T>,
}

/// The file and what it held when last read.
pub(super) struct WatchedFile<T, E> {
    path: PathBuf,
    /// What is kept when an edit cannot be read, for the log.
    what: &'static str,
    read: fn(&Path) -> Result<T, E>,
    known: ArcSwap<Known<T>>,
}

impl<T, E: Display> WatchedFile<T, E> {
    /// Reads the file for the first time. Blocks.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn open(
        path: PathBuf,
        what: &'static str,
        read: fn(&Path) -> Result<T, E>,
    ) -> Result<Self, E> {
        // Taken before reading: a change in between is then seen as one by the next look.
        let identity = identity(&path);
        let content = Arc::new(read(&path)?);
        Ok(Self {
            path,
            what,
            read,
            known: ArcSwap::from_pointee(Known { identity, content }),
        })
    }

    /// The content as it is now.
    pub(super) fn get(&self) -> Arc<T> {
        let known = self.known.load();
        let identity = identity(&self.path);
        if identity == known.identity {
            return Arc::clone(&known.content);
        }
        let content = match (self.read)(&self.path) {
            Ok(content) => Arc::new(content),
            Err(error) => {
                tracing::error!(%error, "keeping the last good {}", self.what);
                Arc::clone(&known.content)
            }
        };
        // A broken state is remembered as seen, too, so that it is logged once and not on each request.
        self.known.store(Arc::new(Known {
            identity,
            content: Arc::clone(&content),
        }));
        content
    }
}

fn identity(path: &Path) -> Identity {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}
