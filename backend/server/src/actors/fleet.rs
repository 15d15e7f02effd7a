//! Keeps one store actor per configured datastore: spawns and retires them when the configuration's generation moves.

use std::collections::HashMap;
use std::sync::Arc;

use actix::{Actor, ActorContext as _, Arbiter, Context, Handler, Message, MessageResult};
use fleethold_format::names::DatastoreName;
use serde::Serialize;

use super::store::{ApplyEntry, Retire, StoreActor};
use crate::views::{StoreHandle, StoreView, Views};

/// Messages that may wait; one "the generation moved" is as good as many.
const MAILBOX: usize = 8;

/// The actor.
pub struct FleetActor {
    views: Arc<Views>,
    arbiters: Vec<Arbiter>,
    stores: HashMap<DatastoreName, StoreHandle>,
    generation: Option<u64>,
    spawned: u64,
}

impl FleetActor {
    /// A fleet whose store actors run on `threads` threads.
    #[must_use]
    pub fn new(views: Arc<Views>, threads: usize) -> Self {
        let arbiters = (0..threads.max(1)).map(|_| Arbiter::new()).collect();
        Self {
            views,
            arbiters,
            stores: HashMap::new(),
            generation: None,
            spawned: 0,
        }
    }

    fn reconcile(&mut self) {
        let generation = self.views.fleet.current();
        if self.generation == Some(generation.number) {
            return;
        }
        self.generation = Some(generation.number);
        let mut kept = HashMap::with_capacity(generation.stores.len());
        for entry in generation.stores.iter() {
            let handle = match self.stores.remove(&entry.name) {
                Some(handle) => {
                    if !handle.view.entry().same_section(entry) {
                        // Waits in the actor's mailbox beyond its bound at worst once per edit of the configuration.
                        handle.actor.do_send(ApplyEntry(Arc::clone(entry)));
                    }
                    handle
                }
                None => self.spawn(entry),
            };
            kept.insert(entry.name.clone(), handle);
        }
        let gone = std::mem::replace(&mut self.stores, kept);
        self.views.stores.replace(self.stores.values().cloned().collect());
        for handle in gone.into_values() {
            handle.actor.do_send(Retire);
        }
        tracing::info!(
            generation = generation.number,
            stores = self.stores.len(),
            "configuration in force"
        );
    }

    fn spawn(&mut self, entry: &Arc<fleethold_fleet::StoreEntry>) -> StoreHandle {
        let view = Arc::new(StoreView::new(
            self.views.fleet.clone(),
            Arc::clone(entry),
            StoreActor::unseen(entry),
        ));
        let actor = StoreActor::new(Arc::clone(&self.views), Arc::clone(&view));
        let at = usize::try_from(self.spawned).unwrap_or(0) % self.arbiters.len().max(1);
        self.spawned += 1;
        let actor = match self.arbiters.get(at) {
            Some(arbiter) => StoreActor::start_in_arbiter(&arbiter.handle(), move |_| actor),
            None => actor.start(),
        };
        StoreHandle { view, actor }
    }
}

impl Actor for FleetActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.reconcile();
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }
}

/// The configuration's generation moved (or its problem came or went).
#[derive(Message)]
#[rtype(result = "()")]
pub struct NoteGeneration;

impl Handler<NoteGeneration> for FleetActor {
    type Result = ();

    fn handle(&mut self, _: NoteGeneration, _: &mut Context<Self>) {
        self.reconcile();
    }
}

/// The server shuts down.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop;

impl Handler<Stop> for FleetActor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        for handle in self.stores.values() {
            handle.actor.do_send(Retire);
        }
        ctx.stop();
    }
}

/// What the actor holds, for tests and the administrator.
#[derive(Debug, Clone, Serialize)]
pub struct FleetObservation {
    /// Generation that was last acted upon.
    pub generation: Option<u64>,
    /// Store actors that run.
    pub stores: usize,
    /// Store actors ever started.
    pub spawned: u64,
    /// Threads they run on.
    pub threads: usize,
}

/// Asks for [`FleetObservation`].
#[derive(Message)]
#[rtype(result = "FleetObservation")]
pub struct Observe;

impl Handler<Observe> for FleetActor {
    type Result = MessageResult<Observe>;

    fn handle(&mut self, _: Observe, _: &mut Context<Self>) -> Self::Result {
        MessageResult(FleetObservation {
            generation: self.generation,
            stores: self.stores.len(),
            spawned: self.spawned,
            threads: self.arbiters.len(),
        })
    }
}
