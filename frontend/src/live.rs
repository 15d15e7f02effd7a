//! What is true on the server right now, held outside the components: the feed writes it as events come, components are
//! told once a frame.

use std::{
    cell::{Cell, Ref, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use fleethold_api_types::{Event, FleetSummary, Health, Job, JobSample, JobState};
use gloo::render::{AnimationFrame, request_animation_frame};
use uuid::Uuid;
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;

use crate::{
    api::{
        self,
        feed::{Feed, Report},
    },
    clock,
    model::{
        fleet::Fleet,
        load::Problem,
        series::{Sample, Series},
        track::Track,
    },
};

/// What a component wants to hear of.
pub mod topic {
    /// Store rows.
    pub const FLEET: u8 = 1;
    /// Jobs and their samples.
    pub const JOBS: u8 = 2;
    /// Fleet figures and health.
    pub const SERVER: u8 = 4;
    /// The connection itself.
    pub const CONN: u8 = 8;
}

/// State of the feed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Conn {
    /// First attempt.
    Connecting,
    /// Open.
    Live,
    /// Lost since then; attempts and seconds to the next.
    Lost {
        /// Milliseconds since the epoch.
        since_ms: f64,
        /// Attempts.
        attempt: u32,
        /// Seconds.
        retry_in_s: u32,
    },
}

/// A job and what its chart shows.
#[derive(Clone, PartialEq)]
pub struct Followed {
    /// The job.
    pub job: Rc<Job>,
    /// Its rates.
    pub track: Track,
}

/// Everything the feed keeps up to date.
pub struct State {
    /// Stores.
    pub fleet: Fleet,
    /// Why the list of stores could not be fetched.
    pub fleet_error: Option<Rc<Problem>>,
    /// Figures.
    pub summary: Option<FleetSummary>,
    /// Queued, running and lately ended jobs by id (ids are in order of time).
    pub jobs: BTreeMap<Uuid, Followed>,
    /// The first snapshot of jobs has come.
    pub jobs_known: bool,
    /// All running jobs together, MiB/s over seconds since the page was opened.
    pub total: Rc<Series>,
    /// Server.
    pub health: Option<Health>,
    /// Feed.
    pub conn: Conn,
}

type Listener = (u32, u8, Callback<()>);

/// The live state and who listens to it.
pub struct Live {
    state: RefCell<State>,
    listeners: RefCell<Vec<Listener>>,
    next_id: Cell<u32>,
    dirty: Cell<u8>,
    frame: RefCell<Option<AnimationFrame>>,
    feed: RefCell<Option<Feed>>,
    opened_ms: f64,
    signed_out: Callback<()>,
}

/// Ended jobs kept beside the live ones.
const KEEP_ENDED: usize = 100;

impl Live {
    /// Opens the feed and fetches the stores. `signed_out` is called when the server no longer knows us.
    pub fn start(signed_out: Callback<()>) -> Rc<Self> {
        let live = Rc::new(Self {
            state: RefCell::new(State {
                fleet: Fleet::default(),
                fleet_error: None,
                summary: None,
                jobs: BTreeMap::new(),
                jobs_known: false,
                total: Rc::default(),
                health: None,
                conn: Conn::Connecting,
            }),
            listeners: RefCell::default(),
            next_id: Cell::new(0),
            dirty: Cell::new(0),
            frame: RefCell::default(),
            feed: RefCell::default(),
            opened_ms: clock::now_ms(),
            signed_out,
        });
        let weak = Rc::downgrade(&live);
        let feed = Feed::open(Rc::new(move |report| {
            if let Some(live) = weak.upgrade() {
                live.take(report);
            }
        }));
        *live.feed.borrow_mut() = Some(feed);
        live.fetch_fleet();
        live
    }

    /// Reads the state.
    pub fn read(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    /// Tries the feed again at once.
    pub fn reconnect(self: &Rc<Self>) {
        if let Some(feed) = self.feed.borrow().as_ref() {
            feed.reconnect();
        }
        self.fetch_fleet();
    }

    /// Fetches all stores.
    pub fn fetch_fleet(self: &Rc<Self>) {
        let live = self.clone();
        spawn_local(async move {
            let outcome = api::stores().await;
            {
                let mut state = live.state.borrow_mut();
                match outcome {
                    Ok(rows) => {
                        state.fleet.replace(rows);
                        state.fleet_error = None;
                    }
                    Err(problem) => {
                        if problem.status == 401 {
                            live.signed_out.emit(());
                        }
                        state.fleet_error = Some(Rc::new(problem));
                    }
                }
            }
            live.touch(topic::FLEET);
        });
    }

    /// Puts a job in that came as the answer to a request.
    pub fn put_job(self: &Rc<Self>, job: Job) {
        self.state.borrow_mut().put_job(job);
        self.touch(topic::JOBS);
    }

    /// Fills a job's chart with what was measured before the page was opened.
    pub fn backfill(self: &Rc<Self>, id: Uuid, samples: &[JobSample]) {
        if let Some(followed) = self.state.borrow_mut().jobs.get_mut(&id) {
            followed.track = Track::from_samples(samples);
        }
        self.touch(topic::JOBS);
    }

    fn take(self: &Rc<Self>, report: Report) {
        let touched = match report {
            Report::Open => {
                let was_lost = matches!(self.state.borrow().conn, Conn::Lost { .. });
                self.state.borrow_mut().conn = Conn::Live;
                if was_lost {
                    self.fetch_fleet();
                }
                topic::CONN
            }
            Report::Lost { attempt, retry_in_s } => {
                self.lost(attempt, retry_in_s);
                topic::CONN
            }
            Report::Event(event) => self.apply(*event),
            Report::Unreadable(what) => {
                gloo::console::error!(format!("event not understood, reload the page: {what}"));
                0
            }
        };
        self.touch(touched);
    }

    fn lost(self: &Rc<Self>, attempt: u32, retry_in_s: u32) {
        {
            let mut state = self.state.borrow_mut();
            let since_ms = match state.conn {
                Conn::Lost { since_ms, .. } => since_ms,
                Conn::Connecting | Conn::Live => clock::now_ms(),
            };
            state.conn = Conn::Lost {
                since_ms,
                attempt,
                retry_in_s,
            };
        }
        // a refused stream does not say why: the session may have ended
        let live = self.clone();
        spawn_local(async move {
            if let Err(problem) = api::session().await
                && problem.status == 401
            {
                live.signed_out.emit(());
            }
        });
    }

    fn apply(self: &Rc<Self>, event: Event) -> u8 {
        let mut state = self.state.borrow_mut();
        match event {
            Event::Snapshot(snapshot) => {
                state.summary = Some(snapshot.summary);
                state.health = Some(snapshot.health);
                state.jobs_known = true;
                for job in snapshot.jobs {
                    state.put_job(job);
                }
                topic::JOBS | topic::SERVER
            }
            Event::Store { stores } => {
                if state.fleet.merge(stores) {
                    topic::FLEET
                } else {
                    0
                }
            }
            Event::Job { jobs, samples } => {
                for job in jobs {
                    state.put_job(job);
                }
                for (id, sample) in samples {
                    if let Some(followed) = state.jobs.get_mut(&id) {
                        followed.track.push(sample);
                    }
                }
                let t = (clock::now_ms() - self.opened_ms) / 1000.0;
                let v = state.running().map(|f| f.track.rate()).sum();
                Rc::make_mut(&mut state.total).push(Sample { t, v });
                topic::JOBS
            }
            Event::Server(server) => {
                state.summary = Some(server.summary);
                state.health = Some(server.health);
                if server.fleet_changed {
                    self.fetch_fleet();
                }
                topic::SERVER
            }
        }
    }

    /// Announces a change on the next frame.
    fn touch(self: &Rc<Self>, topics: u8) {
        if topics == 0 {
            return;
        }
        self.dirty.set(self.dirty.get() | topics);
        if self.frame.borrow().is_some() {
            return;
        }
        let live = self.clone();
        let frame = request_animation_frame(move |_| {
            live.frame.borrow_mut().take();
            let dirty = live.dirty.replace(0);
            let called: Vec<_> = live
                .listeners
                .borrow()
                .iter()
                .filter(|l| l.1 & dirty != 0)
                .map(|l| l.2.clone())
                .collect();
            for callback in called {
                callback.emit(());
            }
        });
        *self.frame.borrow_mut() = Some(frame);
    }

    fn listen(&self, topics: u8, callback: Callback<()>) -> u32 {
        let id = self.next_id.get();
        self.next_id.set(id.wrapping_add(1));
        self.listeners.borrow_mut().push((id, topics, callback));
        id
    }

    fn forget(&self, id: u32) {
        self.listeners.borrow_mut().retain(|l| l.0 != id);
    }
}

impl State {
    /// Jobs that run.
    pub fn running(&self) -> impl Iterator<Item = &Followed> {
        self.jobs.values().filter(|f| f.job.state == JobState::Running)
    }

    fn put_job(&mut self, job: Job) {
        let id = job.id;
        match self.jobs.get_mut(&id) {
            // the answer to a request may arrive behind a newer event
            Some(followed) if followed.job.state.is_final() && !job.state.is_final() => {}
            Some(followed) => followed.job = Rc::new(job),
            None => {
                self.jobs.insert(
                    id,
                    Followed {
                        job: Rc::new(job),
                        track: Track::default(),
                    },
                );
            }
        }
        let ended: Vec<Uuid> = self
            .jobs
            .values()
            .filter(|f| f.job.state.is_final())
            .map(|f| f.job.id)
            .collect();
        for id in ended.iter().take(ended.len().saturating_sub(KEEP_ENDED)) {
            self.jobs.remove(id);
        }
    }
}

/// Draws the component again when one of the topics changes.
#[hook]
pub fn use_topics(live: &Rc<Live>, topics: u8) {
    let update = use_force_update();
    use_effect_with((), {
        let live = live.clone();
        move |()| {
            let id = live.listen(topics, Callback::from(move |()| update.force_update()));
            move || live.forget(id)
        }
    });
}
