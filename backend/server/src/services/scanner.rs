//! Looks at every store in the background, a few at a time, so that a list of all stores touches no disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleethold_fleet::StoreEntry;
use fleethold_format::names::DatastoreName;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::scan::{self, ScanResult};
use crate::actors::store::NoteScan;
use crate::clock;
use crate::views::{StoreHandle, Views};

/// Stores looked at, at once.
const AT_ONCE: usize = 4;
/// A store that does not answer for this long makes room for the next one.
const PATIENCE: Duration = Duration::from_secs(10);
/// Stores that do not answer keep a thread each; with this many, scanning waits for one of them.
const MAX_STUCK: usize = 16;
/// A store is looked at again after this long.
const EVERY: Duration = Duration::from_secs(300);
/// New stores are noticed this often.
const TICK: Duration = Duration::from_millis(200);

struct Running {
    since: Instant,
    stuck: bool,
}

/// Scans until `stop`. Runs on a runtime with a blocking pool.
pub async fn run(views: Arc<Views>, stop: CancellationToken) {
    let (done, mut finished) = mpsc::channel::<DatastoreName>(AT_ONCE + MAX_STUCK);
    let mut running: HashMap<DatastoreName, Running> = HashMap::new();
    let mut looked_at: HashMap<DatastoreName, (Instant, Arc<StoreEntry>)> = HashMap::new();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
            Some(name) = finished.recv() => { running.remove(&name); }
        }
        let now = clock::monotonic();
        let stores = views.stores.load();
        note_stuck(&mut running, now, |name| {
            if let Some(handle) = stores.get(name) {
                send(handle, unanswered());
            }
        });
        let stuck = running.values().filter(|scan| scan.stuck).count();
        if stuck >= MAX_STUCK {
            continue;
        }
        looked_at.retain(|name, _| stores.get(name).is_some());
        for handle in &stores.list {
            if running.len() - stuck >= AT_ONCE {
                break;
            }
            let view = &handle.view;
            let entry = view.entry();
            let due = looked_at
                .get(&view.name)
                .is_none_or(|(at, seen)| now.duration_since(*at) >= EVERY || !entry.same_section(seen));
            if !due || running.contains_key(&view.name) {
                continue;
            }
            looked_at.insert(view.name.clone(), (now, Arc::clone(&entry)));
            running.insert(
                view.name.clone(),
                Running {
                    since: now,
                    stuck: false,
                },
            );
            let (handle, done) = (handle.clone(), done.clone());
            tokio::task::spawn_blocking(move || {
                let read = handle.view.read();
                // A mode that forbids reading is told without reading. If only a newer configuration has it, that is
                // looked at next.
                if read.is_ok() || entry.maintenance.is_some() {
                    send(&handle, scan::scan(&entry));
                }
                if done.blocking_send(handle.view.name.clone()).is_err() {
                    tracing::debug!("the scanner stopped while a scan ran");
                }
            });
        }
    }
}

fn note_stuck(
    running: &mut HashMap<DatastoreName, Running>,
    now: Instant,
    mut tell: impl FnMut(&DatastoreName),
) {
    for (name, scan) in running.iter_mut().filter(|(_, scan)| !scan.stuck) {
        if now.duration_since(scan.since) >= PATIENCE {
            scan.stuck = true;
            tell(name);
        }
    }
}

fn unanswered() -> ScanResult {
    let text = format!("no answer from its file system in {} s", PATIENCE.as_secs());
    ScanResult {
        at: Some(clock::now()),
        offline: Some(text),
        ..ScanResult::default()
    }
}

fn send(handle: &StoreHandle, result: ScanResult) {
    if let Err(error) = handle.actor.try_send(NoteScan(result)) {
        tracing::warn!(store = %handle.view.name, %error, "the result of a scan was not taken");
    }
}
