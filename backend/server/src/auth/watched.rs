//! A configuration file in memory. Requests take what is known and touch no disk; a look reads the file again when it
//! changed: one `stat` otherwise.
//!
//! An edit that cannot be read keeps the last good content, so that a slip of an editor locks nobody out and lets nobody in.

use std::fmt::Display;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

/// Tells one state of a file from another without reading it; `None` when there is no file.
type Identity = Option<(u64, u64, i64, i64)>;

struct Known<T> {
    identity: Identity,
    content: Arc<T>,
    /// Why this state cannot be read and the content is older.
    problem: Option<Arc<str>>,
}

/// The file and what it held when last read.
pub(super) struct WatchedFile<T, E> {
    path: PathBuf,
    /// What is kept when an edit cannot be read, for the log.
    what: &'static str,
    read: fn(&Path) -> Result<T, E>,
    known: ArcSwap<Known<T>>,
    /// Held during a look, so that an older content never replaces a newer one.
    looking: Mutex<()>,
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
        let known = Known {
            identity,
            content: Arc::new(read(&path)?),
            problem: None,
        };
        Ok(Self {
            path,
            what,
            read,
            known: ArcSwap::from_pointee(known),
            looking: Mutex::default(),
        })
    }

    /// The content as of the last look.
    pub(super) fn get(&self) -> Arc<T> {
        Arc::clone(&self.known.load().content)
    }

    /// Why the content is not the file's, if so.
    pub(super) fn problem(&self) -> Option<Arc<str>> {
        self.known.load().problem.clone()
    }

    /// Reads the file if it changed. Blocks.
    pub(super) fn look(&self) {
        self.look_at(false);
    }

    /// Reads the file. Blocks. For a change that is known of: written in place within one tick of the file system's clock,
    /// another content of the same length looks like the old one from outside.
    pub(super) fn reread(&self) {
        self.look_at(true);
    }

    fn look_at(&self, changed: bool) {
        let _one_at_a_time = self.looking.lock();
        let known = self.known.load();
        let identity = identity(&self.path);
        if identity == known.identity && !changed {
            return;
        }
        let (content, problem) = match (self.read)(&self.path) {
            Ok(content) => (Arc::new(content), None),
            Err(error) => {
                tracing::error!(%error, "keeping the last good {}", self.what);
                (Arc::clone(&known.content), Some(error.to_string().into()))
            }
        };
        // A broken state is remembered as seen, too: it is logged once and not at each look.
        self.known.store(Arc::new(Known {
            identity,
            content,
            problem,
        }));
    }
}

fn identity(path: &Path) -> Identity {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}
