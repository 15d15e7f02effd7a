//! Following the file: inotify on the configuration directory, and a look every so often in case an event is lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use notify::Watcher;

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::generation::Generation;

enum Wake {
    Look,
    Stop,
}

/// A running watch; dropping it stops it and waits for its thread.
pub struct Watch {
    wake: SyncSender<Wake>,
    thread: Option<JoinHandle<()>>,
}

impl Fleet {
    /// Starts a thread that calls [`Fleet::refresh`] after each change of the configuration directory and at least every `ttl`, and
    /// then `on_change` with the newest generation whenever it differs from the last one it was given, whoever published it.
    /// A burst of events is one look.
    ///
    /// # Errors
    /// The thread cannot be started. A directory that cannot be watched is no error: the ttl still applies, and it is logged.
    pub fn watch(
        &self,
        ttl: Duration,
        on_change: impl Fn(Arc<Generation>) + Send + 'static,
    ) -> Result<Watch, FleetError> {
        // One waiting wake-up is enough: it means "look again", not what happened. The second slot is for the stop.
        let (wake, woken) = sync_channel(2);
        let fleet = self.clone();
        let for_events = wake.clone();
        // What the caller has seen is what is published now, not when the thread gets to run.
        let seen = self.current().number;
        let thread = std::thread::Builder::new()
            .name("fleet-watch".to_owned())
            .spawn(move || follow(&fleet, ttl, seen, &for_events, &woken, &on_change))
            .map_err(|source| FleetError::Io {
                action: "start a thread to watch",
                path: self.inner.directory.clone(),
                source,
            })?;
        Ok(Watch {
            wake,
            thread: Some(thread),
        })
    }
}

fn follow(
    fleet: &Fleet,
    ttl: Duration,
    mut seen: u64,
    wake: &SyncSender<Wake>,
    woken: &Receiver<Wake>,
    on_change: &dyn Fn(Arc<Generation>),
) {
    let directory = fleet.inner.directory.clone();
    let mut watcher = None;
    let mut complained = false;
    loop {
        if watcher.is_none() {
            match watch_directory(&directory, wake.clone()) {
                Ok(started) => watcher = Some(started),
                Err(error) if !complained => {
                    complained = true;
                    tracing::warn!(directory = %directory.display(), %error, ?ttl, "cannot watch the configuration, looking at it now and then");
                }
                Err(_) => {}
            }
        }
        fleet.refresh();
        let current = fleet.current();
        if current.number != seen {
            seen = current.number;
            on_change(current);
        }
        match woken.recv_timeout(ttl) {
            Ok(Wake::Look) => {}
            // The directory may have been moved away or come into being: watch it anew.
            Err(RecvTimeoutError::Timeout) => watcher = None,
            Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn watch_directory(directory: &Path, wake: SyncSender<Wake>) -> notify::Result<notify::RecommendedWatcher> {
    let name: PathBuf = "datastore.cfg".into();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Locks and other files come and go in this directory; an error may hide an event of ours.
        let ours = event.as_ref().map_or(true, |event| {
            !event.kind.is_access()
                && (event.paths.is_empty() || event.paths.iter().any(|path| path.ends_with(&name)))
        });
        if ours && let Err(TrySendError::Disconnected(_)) = wake.try_send(Wake::Look) {
            tracing::debug!("a change of the configuration after its watch ended");
        }
    })?;
    watcher.watch(directory, notify::RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Blocks only while two wake-ups wait, which the thread is about to take. An error means that it is gone already.
        if self.wake.send(Wake::Stop).is_ok()
            && let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that watches the configuration panicked");
        }
    }
}
