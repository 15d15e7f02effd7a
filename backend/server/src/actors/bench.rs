//! Turns of benchmark runs: one measures, a bounded number waits in order.
//!
//! Two measurements at once would measure each other. The other processes of this machine are kept away by a lock file.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Actor, ActorContext as _, Addr, AsyncContext as _, Context, Handler, Message, MessageResult};
use fleethold_api_types::bench::{BenchRun, BenchState};
use serde::Serialize;
use tokio::runtime;
use uuid::Uuid;

use crate::clock;
use crate::services::bench::lab::Lab;
use crate::services::bench::plan::Plan;
use crate::services::bench::table::BenchCell;
use crate::services::bench::{keep, measure};
use crate::services::error::{ServiceError, ServiceResult};

/// Messages that may wait.
const MAILBOX: usize = 32;
/// Runs that may wait for their turn.
const MAX_QUEUED: usize = 32;

/// The actor.
pub struct BenchActor {
    lab: Arc<Lab>,
    work: runtime::Handle,
    queue: VecDeque<Arc<BenchCell>>,
    running: Option<Arc<BenchCell>>,
    stopping: Option<tokio::sync::oneshot::Sender<()>>,
}

impl BenchActor {
    /// An actor whose runs are looked after on `work`.
    #[must_use]
    pub fn new(lab: Arc<Lab>, work: runtime::Handle) -> Self {
        Self {
            lab,
            work,
            queue: VecDeque::new(),
            running: None,
            stopping: None,
        }
    }

    fn pump(&mut self, ctx: &Context<Self>) {
        if self.running.is_none()
            && let Some(cell) = self.queue.pop_front()
        {
            self.running = Some(Arc::clone(&cell));
            self.lab.views.bench.update(&cell, |run| run.waits_for = None);
            let (lab, actor) = (Arc::clone(&self.lab), ctx.address());
            self.work.spawn(async move {
                let turn = Turn { lab, cell, actor };
                measure::run(&turn.lab, &turn.cell).await;
                keep::keep(&turn.lab, &turn.cell).await;
            });
        }
        for (ahead, cell) in self.queue.iter().enumerate() {
            let text = match ahead {
                0 => "the run that measures now".to_owned(),
                ahead => format!("the run that measures now and {ahead} before this one"),
            };
            if cell.run().waits_for.as_ref() != Some(&text) {
                self.lab
                    .views
                    .bench
                    .update(cell, |run| run.waits_for = Some(text));
            }
        }
        if self.running.is_none()
            && self.queue.is_empty()
            && let Some(done) = self.stopping.take()
            && done.send(()).is_err()
        {
            tracing::debug!("nobody waits for the benchmark to end");
        }
    }
}

/// The turn of the run that measures. However it ends, by a panic too, the run has ended and the next one has its turn.
struct Turn {
    lab: Arc<Lab>,
    cell: Arc<BenchCell>,
    actor: Addr<BenchActor>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.cell.state().is_final() {
            let text = "the measurement stopped without a result: a bug of fleethold, its log says where";
            measure::fail(&self.lab, &self.cell, text.to_owned());
        }
        // Unlike `try_send` never refused by a full mailbox, nor by one that is closed.
        self.actor.do_send(NoteEnded);
    }
}

impl Actor for BenchActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

/// Queue a run.
#[derive(Message)]
#[rtype(result = "ServiceResult<BenchRun>")]
pub struct Admit {
    /// What is measured.
    pub plan: Plan,
    /// Who asks.
    pub operator: String,
}

impl Handler<Admit> for BenchActor {
    type Result = ServiceResult<BenchRun>;

    fn handle(&mut self, Admit { plan, operator }: Admit, ctx: &mut Context<Self>) -> Self::Result {
        if self.stopping.is_some() {
            let text = "the server is shutting down";
            return Err(ServiceError::unavailable("shutting-down", text));
        }
        if self.queue.len() >= MAX_QUEUED {
            self.lab.views.bench.stats.refused.fetch_add(1, Ordering::Relaxed);
            let text = format!("{MAX_QUEUED} benchmark runs are waiting already");
            return Err(ServiceError::unavailable("bench-queue-full", text));
        }
        let run = new_run(&self.lab, &plan, operator);
        let cell = self.lab.views.bench.insert(run, plan);
        self.queue.push_back(Arc::clone(&cell));
        self.pump(ctx);
        Ok(cell.run())
    }
}

fn new_run(lab: &Lab, plan: &Plan, operator: String) -> BenchRun {
    BenchRun {
        id: Uuid::now_v7(),
        workload: plan.workload.definition.name.clone(),
        state: BenchState::Queued,
        error: None,
        waits_for: None,
        stored: false,
        source: "run".to_owned(),
        created_at: clock::now(),
        started_at: None,
        finished_at: None,
        quick: plan.options.quick,
        cold: plan.options.cold,
        seed: plan.options.seed,
        samples: u32::try_from(plan.options.samples).unwrap_or(u32::MAX),
        revision: lab.build.revision.clone().unwrap_or_default(),
        dirty: lab.build.dirty,
        machine_class: lab.environment.machine_class.clone(),
        machine: lab.machine.fingerprint.clone(),
        operator,
        reason: plan.reason.clone(),
        verdicts: None,
        progress: None,
        rolled_up: false,
        pinned: false,
    }
}

/// Ask a run to stop. One that measures keeps what it has.
#[derive(Message)]
#[rtype(result = "ServiceResult<BenchRun>")]
pub struct Cancel {
    /// Which.
    pub id: Uuid,
    /// Who asks, for the log.
    pub by: String,
}

impl Handler<Cancel> for BenchActor {
    type Result = ServiceResult<BenchRun>;

    fn handle(&mut self, Cancel { id, by }: Cancel, ctx: &mut Context<Self>) -> Self::Result {
        if let Some(cell) = &self.running
            && cell.id() == id
            && !cell.state().is_final()
        {
            tracing::info!(%id, %by, "benchmark run cancelled");
            cell.cancel.cancel();
            return Ok(cell.run());
        }
        if let Some(at) = self.queue.iter().position(|cell| cell.id() == id)
            && let Some(cell) = self.queue.remove(at)
        {
            tracing::info!(%id, %by, "queued benchmark run cancelled");
            let run = measure::fail(&self.lab, &cell, format!("cancelled by {by} before its turn"));
            self.pump(ctx);
            return Ok(run);
        }
        match self.lab.views.bench.get(id) {
            Some(_) => Err(already_ended(id)),
            None => Err(ServiceError::not_found(
                "unknown-run",
                format!("there is no benchmark run {id} that waits or measures"),
            )),
        }
    }
}

/// There is nothing to stop any more.
#[must_use]
pub fn already_ended(id: Uuid) -> ServiceError {
    ServiceError::conflict("already-ended", format!("benchmark run {id} ended already"))
}

/// The run that measured ended; what it has is kept.
#[derive(Message)]
#[rtype(result = "()")]
struct NoteEnded;

impl Handler<NoteEnded> for BenchActor {
    type Result = ();

    fn handle(&mut self, _: NoteEnded, ctx: &mut Context<Self>) {
        self.running = None;
        self.pump(ctx);
    }
}

/// The server shuts down: what measures is interrupted and kept, what waits ends. Answers when all of it is kept.
#[derive(Message)]
#[rtype(result = "tokio::sync::oneshot::Receiver<()>")]
pub struct Shutdown;

impl Handler<Shutdown> for BenchActor {
    type Result = MessageResult<Shutdown>;

    fn handle(&mut self, _: Shutdown, ctx: &mut Context<Self>) -> Self::Result {
        let (done, wait) = tokio::sync::oneshot::channel();
        self.stopping = Some(done);
        for cell in self.queue.drain(..) {
            measure::fail(&self.lab, &cell, "the server stopped before its turn".to_owned());
        }
        if let Some(cell) = &self.running {
            cell.cancel.cancel();
        }
        self.pump(ctx);
        MessageResult(wait)
    }
}

/// Ends the actor, after [`Shutdown`].
#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop;

impl Handler<Stop> for BenchActor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

/// What the actor holds, for tests and the administrator.
#[derive(Debug, Clone, Serialize)]
pub struct BenchObservation {
    /// Runs that wait.
    pub queued: usize,
    /// The run that measures.
    pub running: Option<Uuid>,
}

/// Asks for [`BenchObservation`].
#[derive(Message)]
#[rtype(result = "BenchObservation")]
pub struct Observe;

impl Handler<Observe> for BenchActor {
    type Result = MessageResult<Observe>;

    fn handle(&mut self, _: Observe, _: &mut Context<Self>) -> Self::Result {
        MessageResult(BenchObservation {
            queued: self.queue.len(),
            running: self.running.as_ref().map(|cell| cell.id()),
        })
    }
}
