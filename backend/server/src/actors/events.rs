//! The live feed: collects what changed, sends it at most four times a second to every browser.
//!
//! A client has a bounded queue. One that does not keep up is dropped (and counted), not waited for: it reconnects with
//! `Last-Event-ID` and gets what it missed, or a fresh snapshot.
//!
//! Before anything goes out, each client's session and rights are looked at: the stream of one that is not signed in any
//! more ends, and who may not see everything gets the part of each event that may be seen. The ring holds whole events, so
//! such a client starts again with a snapshot, and the numbers it sees have gaps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix::{Actor, ActorContext as _, AsyncContext as _, Context, Handler, Message};
use bytes::Bytes;
use fleethold_api_types::{Event, FleetSummary, Health, ServerEvent, SnapshotEvent};
use serde::Serialize;
use tokio::sync::mpsc;

use super::audience::{Client, Lost, Viewer};
use super::feed::{self, EventId, Feed};
use crate::clock;
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::rights::Sight;
use crate::views::Views;

/// Deltas go out this often at most.
const TICK: Duration = Duration::from_millis(250);
/// The fleet's figures are summed this often at most.
const SUMMARY_EVERY: Duration = Duration::from_secs(1);
/// A line without meaning keeps proxies from closing a quiet connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Frames that may wait for one client.
const CLIENT_QUEUE: usize = 64;
/// Browsers at once.
const MAX_CLIENTS: usize = 256;
/// Rows in one event; more wait for the next tick.
const ROWS_PER_EVENT: usize = 500;
/// Benchmark samples in one event; more wait for the next tick.
const SAMPLES_PER_EVENT: usize = 500;
/// Messages that may wait for the hub.
const MAILBOX: usize = 64;

/// Figures about the feed.
#[derive(Debug, Default)]
pub struct FeedStats {
    /// Clients connected now.
    pub clients: AtomicU64,
    /// Clients dropped because they did not keep up.
    pub dropped: AtomicU64,
    /// Events sent since the start.
    pub events: AtomicU64,
}

/// The hub.
pub struct EventHub {
    views: Arc<Views>,
    feed: Feed,
    clients: Vec<Client>,
    sent: Option<(FleetSummary, Health)>,
    summed: Instant,
    kept_alive: Instant,
}

impl EventHub {
    /// A hub that watches `views`.
    #[must_use]
    pub fn new(views: Arc<Views>) -> Self {
        let epoch = u64::try_from(clock::now().unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
        let now = clock::monotonic();
        Self {
            views,
            feed: Feed::new(epoch),
            clients: Vec::new(),
            sent: None,
            summed: now,
            kept_alive: now,
        }
    }

    fn tick(&mut self) {
        let now = clock::monotonic();
        self.clients.retain_mut(Client::refresh);
        self.count_clients();
        let stores = self.views.stores.take_changed(ROWS_PER_EVENT);
        if !stores.is_empty() {
            self.publish(&Event::Store { stores });
        }
        let (jobs, samples) = self.views.jobs.take_changed();
        if !jobs.is_empty() {
            self.publish(&Event::Job { jobs, samples });
        }
        let (runs, samples) = self.views.bench.take_changed(SAMPLES_PER_EVENT);
        if !(runs.is_empty() && samples.is_empty()) {
            self.publish(&Event::Bench { runs, samples });
        }
        if let Some((standing, alerts)) = self.views.bench.alerts.take_changed() {
            self.publish(&Event::Alert { standing, alerts });
        }
        let fleet_changed = self.views.stores.take_fleet_changed();
        if fleet_changed || now.duration_since(self.summed) >= SUMMARY_EVERY {
            self.summed = now;
            let state = (self.views.summary(), self.views.health());
            if fleet_changed || self.sent.as_ref() != Some(&state) {
                let (summary, health) = state.clone();
                self.sent = Some(state);
                self.publish(&Event::Server(Box::new(ServerEvent {
                    summary,
                    health,
                    fleet_changed,
                })));
            }
        }
        if now.duration_since(self.kept_alive) >= KEEP_ALIVE {
            self.kept_alive = now;
            self.send(|_| Some(Bytes::from_static(b": keep-alive\n\n")));
        }
    }

    fn publish(&mut self, event: &Event) {
        let Some(json) = json_of(event) else { return };
        let frame = self.feed.push(event.kind(), &json);
        self.views.feed.events.fetch_add(1, Ordering::Relaxed);
        let (views, id) = (Arc::clone(&self.views), self.feed.newest());
        self.send(|sight| match sight {
            None => Some(frame.clone()),
            Some(sight) => {
                let seen = sight.event(event, &views)?;
                Some(feed::frame(id, seen.kind(), &json_of(&seen)?))
            }
        });
    }

    /// Sends each client the frame for what it sees, if any.
    fn send(&mut self, frame: impl Fn(Option<&Sight>) -> Option<Bytes>) {
        let stats = &self.views.feed;
        self.clients.retain(|client| {
            let Some(frame) = frame(client.sight.as_ref()) else {
                return true;
            };
            match client.send(frame) {
                Ok(()) => true,
                Err(Lost::Slow) => {
                    stats.dropped.fetch_add(1, Ordering::Relaxed);
                    tracing::info!("dropped a live feed client that did not keep up");
                    false
                }
                Err(Lost::Gone) => false,
            }
        });
        self.count_clients();
    }

    fn count_clients(&self) {
        let count = self.clients.len() as u64;
        self.views.feed.clients.store(count, Ordering::Relaxed);
    }

    fn snapshot(&self, sight: Option<&Sight>) -> Result<Bytes, ServiceError> {
        let mut event = Event::Snapshot(Box::new(SnapshotEvent {
            summary: self.views.summary(),
            jobs: self.views.jobs.list(),
            health: self.views.health(),
            bench: self.views.bench.list(),
            standing_alerts: self.views.bench.alerts.standing(),
        }));
        if let Some(sight) = sight
            && let Some(seen) = sight.event(&event, &self.views)
        {
            event = seen;
        }
        let json = serde_json::to_string(&event).map_err(ServiceError::internal)?;
        Ok(feed::frame(self.feed.newest(), event.kind(), &json))
    }
}

fn json_of(event: &Event) -> Option<String> {
    serde_json::to_string(event)
        .inspect_err(|error| tracing::error!(%error, "an event cannot be written as JSON"))
        .ok()
}

impl Actor for EventHub {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, |hub, _| hub.tick());
    }
}

/// A browser connects; `last` is its `Last-Event-ID`. The reply yields frames until the client is dropped or not signed
/// in any more.
#[derive(Message)]
#[rtype(result = "ServiceResult<mpsc::Receiver<Bytes>>")]
pub struct Subscribe {
    /// The last event the client saw.
    pub last: Option<EventId>,
    /// Who it is.
    pub viewer: Viewer,
}

impl Handler<Subscribe> for EventHub {
    type Result = ServiceResult<mpsc::Receiver<Bytes>>;

    fn handle(&mut self, message: Subscribe, _: &mut Context<Self>) -> Self::Result {
        self.clients.retain_mut(Client::refresh);
        if self.clients.len() >= MAX_CLIENTS {
            return Err(ServiceError::unavailable(
                "too-many-clients",
                format!("{MAX_CLIENTS} browsers follow the live feed already"),
            ));
        }
        // What is pending belongs to those who are connected: the snapshot below has it already.
        self.tick();
        let (sender, receiver) = mpsc::channel(CLIENT_QUEUE);
        let client = Client::new(message.viewer, sender);
        let missed = message
            .last
            .filter(|_| client.sight.is_none())
            .and_then(|last| self.feed.missed_since(last));
        let first = match missed {
            Some(frames) => {
                let mut bytes = b"retry: 1000\n\n".to_vec();
                frames.iter().for_each(|frame| bytes.extend_from_slice(frame));
                Bytes::from(bytes)
            }
            None => Bytes::from(
                [
                    b"retry: 1000\n\n".as_slice(),
                    &self.snapshot(client.sight.as_ref())?,
                ]
                .concat(),
            ),
        };
        client
            .send(first)
            .map_err(|_| ServiceError::internal("the stream ended before it began"))?;
        self.clients.push(client);
        self.count_clients();
        Ok(receiver)
    }
}

/// Ends all connections: the server shuts down.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Close;

impl Handler<Close> for EventHub {
    type Result = ();

    fn handle(&mut self, _: Close, ctx: &mut Context<Self>) {
        self.tick();
        self.clients.clear();
        ctx.stop();
    }
}

/// What the hub holds, for tests and the administrator.
#[derive(Debug, Clone, Serialize)]
pub struct HubObservation {
    /// Clients connected.
    pub clients: usize,
    /// Frames in the ring.
    pub ring_frames: usize,
    /// Bytes in the ring.
    pub ring_bytes: usize,
    /// Id of the newest event.
    pub newest: String,
}

/// Asks for [`HubObservation`].
#[derive(Message)]
#[rtype(result = "HubObservation")]
pub struct Observe;

impl Handler<Observe> for EventHub {
    type Result = actix::MessageResult<Observe>;

    fn handle(&mut self, _: Observe, _: &mut Context<Self>) -> Self::Result {
        let (ring_frames, ring_bytes) = self.feed.size();
        actix::MessageResult(HubObservation {
            clients: self.clients.len(),
            ring_frames,
            ring_bytes,
            newest: self.feed.newest().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::csrf::CsrfKey;
    use crate::auth::session::{Caller, Sessions, Via};
    use crate::auth::ticket::TicketKey;
    use crate::auth::users::UserStore;
    use fleethold_api_types::StoreRow;
    use fleethold_history::{Database, DatabaseConfig, Machine, Recorder, RecorderConfig};

    async fn views(dir: &std::path::Path) -> Arc<Views> {
        let database = Database::start(DatabaseConfig::External(
            "postgres://nobody@127.0.0.1:1/none".into(),
        ));
        let config = RecorderConfig::in_state_dir(dir);
        let recorder = Recorder::start(config, Machine::detect(dir), Arc::clone(&database))
            .await
            .unwrap();
        Arc::new(Views {
            fleet: fleethold_fleet::Fleet::open(dir).unwrap(),
            users: Arc::new(UserStore::open(dir).unwrap()),
            stores: crate::views::StoreTable::default(),
            jobs: crate::jobs::table::JobTable::default(),
            bench: crate::services::bench::table::BenchTable::default(),
            database,
            recorder,
            downloads: crate::views::Downloads::default(),
            feed: FeedStats::default(),
        })
    }

    /// Somebody who sees everything.
    fn viewer(dir: &std::path::Path) -> Viewer {
        std::fs::write(dir.join("acl.cfg"), "acl:1:/:ann@pbs:Admin\n").unwrap();
        std::fs::write(dir.join("user.cfg"), "user: ann@pbs\n").unwrap();
        let sessions = Sessions::new(
            Arc::new(UserStore::open(dir).unwrap()),
            TicketKey::load_or_create(dir).unwrap(),
            CsrfKey::load_or_create(dir).unwrap(),
        );
        Viewer {
            sessions: Arc::new(sessions),
            caller: Caller {
                authid: "ann@pbs".parse().unwrap(),
                via: Via::Ticket {
                    issued: crate::clock::epoch(),
                },
            },
        }
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_dropped_and_the_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let views = views(dir.path()).await;
        let mut hub = EventHub::new(Arc::clone(&views));
        let (slow, mut unread) = mpsc::channel(CLIENT_QUEUE);
        let (quick, mut read) = mpsc::channel(CLIENT_QUEUE);
        let viewer = || viewer(dir.path());
        hub.clients = vec![Client::new(viewer(), slow), Client::new(viewer(), quick)];
        for _ in 0..=CLIENT_QUEUE {
            hub.publish(&Event::Store {
                stores: Vec::<StoreRow>::new(),
            });
            assert!(read.recv().await.is_some());
        }
        assert_eq!(hub.clients.len(), 1);
        assert_eq!(views.feed.dropped.load(Ordering::Relaxed), 1);
        assert_eq!(views.feed.clients.load(Ordering::Relaxed), 1);
        let mut left = 0;
        while unread.recv().await.is_some() {
            left += 1;
        }
        assert_eq!(
            left, CLIENT_QUEUE,
            "what was queued is still delivered, then the stream ends"
        );
    }
}
