//! One datastore: its configuration entry, what the last look found, the tasks that ran on it. The actor alone changes
//! these; it publishes the row that everybody reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Actor, ActorContext as _, Context, Handler, Message, MessageResult};
use fleethold_api_types::StoreRow;
use fleethold_fleet::StoreEntry;
use serde::Serialize;

use crate::clock;
use crate::services::scan::{self, ScanResult};
use crate::views::{Published, StoreView, Views};

/// Messages that may wait for one store.
const MAILBOX: usize = 16;
/// Tasks remembered for one store.
const TASKS: usize = 32;

/// The actor of one datastore.
pub struct StoreActor {
    views: Arc<Views>,
    view: Arc<StoreView>,
    entry: Arc<StoreEntry>,
    scan: ScanResult,
    tasks: VecDeque<String>,
}

impl StoreActor {
    /// An actor for the store that `view` shows.
    #[must_use]
    pub fn new(views: Arc<Views>, view: Arc<StoreView>) -> Self {
        let entry = view.entry();
        Self {
            views,
            view,
            entry,
            scan: ScanResult::default(),
            tasks: VecDeque::new(),
        }
    }

    /// What a store shows before anybody looked at it.
    #[must_use]
    pub fn unseen(entry: &Arc<StoreEntry>) -> Published {
        Published {
            row: scan::row(entry, &ScanResult::default(), clock::now()),
            file_system: None,
        }
    }

    fn publish(&self) {
        let row = scan::row(&self.entry, &self.scan, clock::now());
        let published = Published {
            row,
            file_system: self.scan.file_system,
        };
        self.views
            .stores
            .publish(&self.view, Arc::clone(&self.entry), published);
    }
}

impl Actor for StoreActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

/// The configuration of the store changed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ApplyEntry(pub Arc<StoreEntry>);

impl Handler<ApplyEntry> for StoreActor {
    type Result = ();

    fn handle(&mut self, ApplyEntry(entry): ApplyEntry, _: &mut Context<Self>) {
        if entry.path != self.entry.path {
            self.scan = ScanResult::default();
        }
        self.entry = entry;
        self.publish();
    }
}

/// Somebody looked at the store.
#[derive(Message)]
#[rtype(result = "()")]
pub struct NoteScan(pub ScanResult);

impl Handler<NoteScan> for StoreActor {
    type Result = ();

    fn handle(&mut self, NoteScan(mut scan): NoteScan, _: &mut Context<Self>) {
        // Behind a maintenance mode or a dead mount the last figures are still the best there are.
        if scan.content.is_none() {
            scan.usage = scan.usage.or(self.scan.usage);
            scan.file_system = scan.file_system.or(self.scan.file_system);
            scan.content = self.scan.content.take();
        }
        self.scan = scan;
        self.publish();
    }
}

/// A task began on the store.
#[derive(Message)]
#[rtype(result = "()")]
pub struct NoteTask {
    /// The task.
    pub upid: String,
}

impl Handler<NoteTask> for StoreActor {
    type Result = ();

    fn handle(&mut self, NoteTask { upid }: NoteTask, _: &mut Context<Self>) {
        self.tasks.push_front(upid);
        self.tasks.truncate(TASKS);
    }
}

/// The store left the configuration.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Retire;

impl Handler<Retire> for StoreActor {
    type Result = ();

    fn handle(&mut self, _: Retire, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

/// What an actor holds, for tests and the administrator.
#[derive(Debug, Clone, Serialize)]
pub struct StoreObservation {
    /// Its row.
    pub row: StoreRow,
    /// Reads under way.
    pub reads: u64,
    /// UPIDs of its latest tasks, the newest first.
    pub tasks: Vec<String>,
    /// Device number of its file system.
    pub file_system: Option<u64>,
}

/// Asks for [`StoreObservation`].
#[derive(Message)]
#[rtype(result = "StoreObservation")]
pub struct Observe;

impl Handler<Observe> for StoreActor {
    type Result = MessageResult<Observe>;

    fn handle(&mut self, _: Observe, _: &mut Context<Self>) -> Self::Result {
        let published = self.view.published();
        MessageResult(StoreObservation {
            row: published.row.clone(),
            reads: self.view.reads.load(Ordering::Relaxed),
            tasks: self.tasks.iter().cloned().collect(),
            file_system: published.file_system,
        })
    }
}
