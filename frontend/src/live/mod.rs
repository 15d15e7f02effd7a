//! What is true on the server right now, held outside the components: the feed writes it as events come, components are
//! told once a frame.

mod state;

use std::{
    cell::{Cell, Ref, RefCell},
    rc::Rc,
};

use fleethold_api_types::{Event, Job, JobSample};
use gloo::{
    events::EventListener,
    render::{AnimationFrame, request_animation_frame},
};
use uuid::Uuid;
use wasm_bindgen_futures::spawn_local;
use web_sys::VisibilityState;
use yew::prelude::*;

use crate::{
    api::{
        self,
        feed::{Feed, Report},
    },
    clock,
    model::{series::Sample, track::Track},
};

pub use state::{Alerts, Conn, Followed, State};

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
    /// Benchmark runs and their samples.
    pub const BENCH: u8 = 16;
    /// Benchmark alerts that stand.
    pub const ALERTS: u8 = 32;
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
    visibility: RefCell<Option<EventListener>>,
    opened_ms: f64,
    signed_out: Callback<()>,
}

impl Live {
    /// Opens the feed and fetches the stores. `signed_out` is called when the server no longer knows us.
    pub fn start(signed_out: Callback<()>) -> Rc<Self> {
        let live = Rc::new(Self {
            state: RefCell::default(),
            listeners: RefCell::default(),
            next_id: Cell::new(0),
            dirty: Cell::new(0),
            frame: RefCell::default(),
            feed: RefCell::default(),
            visibility: RefCell::default(),
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
        live.follow_visibility();
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

    /// A tab that nobody sees needs no feed; when it is seen again, everything is fetched anew.
    fn follow_visibility(self: &Rc<Self>) {
        let Some(document) = web_sys::window().and_then(|w| w.document()) else {
            return;
        };
        let (weak, seen) = (Rc::downgrade(self), document.clone());
        let listener = EventListener::new(&document, "visibilitychange", move |_| {
            let Some(live) = weak.upgrade() else { return };
            let hidden = seen.visibility_state() == VisibilityState::Hidden;
            if let Some(feed) = live.feed.borrow().as_ref() {
                if hidden { feed.pause() } else { feed.reconnect() }
            }
            if !hidden {
                live.fetch_fleet();
                live.refill();
            }
        });
        *self.visibility.borrow_mut() = Some(listener);
    }

    /// Fetches what the charts of running jobs have missed.
    fn refill(self: &Rc<Self>) {
        let running: Vec<Uuid> = self.state.borrow().running().map(|f| f.job.id).collect();
        for id in running {
            let live = self.clone();
            spawn_local(async move {
                match api::restore_samples(id).await {
                    Ok(kept) => live.backfill(id, &kept.samples),
                    Err(problem) => gloo::console::warn!(format!("samples of {id}: {}", problem.detail)),
                }
            });
        }
    }

    /// Asks for a job that was running when the feed broke and is not in its snapshot any more.
    fn ask_again(self: &Rc<Self>, id: Uuid) {
        let live = self.clone();
        spawn_local(async move {
            match api::restore(id).await {
                Ok(job) => live.put_job(job),
                Err(problem) if problem.status == 404 => {
                    live.state.borrow_mut().jobs.remove(&id);
                    live.touch(topic::JOBS);
                }
                Err(problem) => gloo::console::warn!(format!("job {id}: {}", problem.detail)),
            }
        });
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

    /// Puts a benchmark run in that came as the answer to a request.
    pub fn put_bench(self: &Rc<Self>, run: fleethold_api_types::bench::BenchRun) {
        self.state.borrow_mut().bench.take(vec![run], Vec::new());
        self.touch(topic::BENCH);
    }

    fn take(self: &Rc<Self>, report: Report) {
        let touched = match report {
            Report::Open => {
                let was_lost = matches!(self.state.borrow().conn, Conn::Lost { .. });
                self.state.borrow_mut().conn = Conn::Live;
                if was_lost {
                    self.fetch_fleet();
                    self.refill();
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
                let gone =
                    |f: &&Followed| !f.job.state.is_final() && snapshot.jobs.iter().all(|j| j.id != f.job.id);
                let gone: Vec<Uuid> = state.jobs.values().filter(gone).map(|f| f.job.id).collect();
                for job in snapshot.jobs {
                    state.put_job(job);
                }
                for id in gone {
                    self.ask_again(id);
                }
                state.bench.take(snapshot.bench, Vec::new());
                state.alerts.take(snapshot.standing_alerts);
                topic::JOBS | topic::SERVER | topic::BENCH | topic::ALERTS
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
            Event::Bench { runs, samples } => {
                state.bench.take(runs, samples);
                topic::BENCH
            }
            Event::Alert { standing, .. } => {
                state.alerts.take(standing);
                topic::ALERTS
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
