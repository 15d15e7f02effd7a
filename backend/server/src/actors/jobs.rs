//! Admission of restores: at most so many run, a bounded number waits, no two write to the same target.
//!
//! The memory budget itself is the engine's: all running jobs share it. The number of running jobs is bounded so that
//! each gets a useful part.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, AsyncContext as _, Context, Handler, Message,
    MessageResult, ResponseActFuture, WrapFuture as _,
};
use fleethold_api_types::{Job, JobState};
use serde::Serialize;
use tokio::runtime;
use uuid::Uuid;

use super::store::NoteTask;
use crate::clock;
use crate::jobs::run::{self, JobEnd, Runner};
use crate::jobs::spec::RestoreSpec;
use crate::jobs::start;
use crate::jobs::table::JobCell;
use crate::jobs::task_files::{TaskFiles, TaskLog};
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::targets::TargetId;

/// Messages that may wait.
const MAILBOX: usize = 64;
/// Restores that may wait for admission.
const MAX_QUEUED: usize = 256;
/// Restores that run at once, however large the budget.
const MAX_RUNNING: usize = 32;
/// Part of the budget that makes one more restore worth running: two chunks of 4 MiB in flight.
const BYTES_PER_JOB: u64 = 16 << 20;

struct Queued {
    cell: Arc<JobCell>,
    spec: RestoreSpec,
    log: TaskLog,
    target: Option<TargetId>,
}

/// A restore that runs, or one that was cancelled in the queue and is not on disk as such yet.
struct Running {
    cell: Arc<JobCell>,
    target: Option<TargetId>,
}

/// The actor.
pub struct JobsActor {
    runner: Arc<Runner>,
    tasks: Arc<TaskFiles>,
    work: runtime::Handle,
    max_running: usize,
    queue: VecDeque<Queued>,
    running: HashMap<Uuid, Running>,
    /// Targets of jobs that are queued, run, or are just being created.
    targets: HashSet<TargetId>,
    creating: usize,
    stopping: Option<tokio::sync::oneshot::Sender<()>>,
}

impl JobsActor {
    /// An actor whose jobs run on `work` and share `memory_bytes`.
    #[must_use]
    pub fn new(runner: Arc<Runner>, tasks: Arc<TaskFiles>, work: runtime::Handle, memory_bytes: u64) -> Self {
        let fit = usize::try_from(memory_bytes / BYTES_PER_JOB).unwrap_or(MAX_RUNNING);
        Self {
            runner,
            tasks,
            work,
            max_running: fit.clamp(1, MAX_RUNNING),
            queue: VecDeque::new(),
            running: HashMap::new(),
            targets: HashSet::new(),
            creating: 0,
            stopping: None,
        }
    }

    fn pump(&mut self, ctx: &Context<Self>) {
        while self.running.len() < self.max_running
            && let Some(queued) = self.queue.pop_front()
        {
            let Queued {
                cell,
                spec,
                log,
                target,
            } = queued;
            let id = cell.job().id;
            let running = Running {
                cell: Arc::clone(&cell),
                target,
            };
            self.running.insert(id, running);
            let (runner, actor) = (Arc::clone(&self.runner), ctx.address());
            self.work.spawn(async move {
                run::run(runner, cell, spec, log).await;
                actor.do_send(NoteEnded { id });
            });
        }
        let running = self.running.len();
        for (ahead, queued) in self.queue.iter().enumerate() {
            let text = format!("{running} restores run, {ahead} wait before this one");
            if queued.cell.job().waits_for.as_ref() != Some(&text) {
                self.runner
                    .views
                    .jobs
                    .update(&queued.cell, |job| job.waits_for = Some(text));
            }
        }
        if self.running.is_empty()
            && self.queue.is_empty()
            && let Some(done) = self.stopping.take()
            && done.send(()).is_err()
        {
            tracing::debug!("nobody waits for the jobs to end");
        }
    }

    fn release(&mut self, target: Option<&TargetId>) {
        if let Some(target) = target {
            self.targets.remove(target);
        }
    }

    /// Ends a job that never ran. It counts as running until its end is on disk: a shutdown waits for it.
    fn conclude_queued(&mut self, queued: Queued, ctx: &Context<Self>) -> Job {
        let Queued {
            cell, log, target, ..
        } = queued;
        // First of all for everybody to see: whoever asks from here on is told that it ended.
        let job = self.runner.views.jobs.update(&cell, |job| {
            job.state = JobState::Cancelled;
            job.waits_for = None;
            job.finished_at = Some(clock::now());
        });
        let (runner, actor, id) = (Arc::clone(&self.runner), ctx.address(), job.id);
        let running = Running {
            cell: Arc::clone(&cell),
            target,
        };
        self.running.insert(id, running);
        self.work.spawn(async move {
            run::conclude(&runner, &cell, Arc::new(log), JobEnd::Cancelled { report: None }).await;
            actor.do_send(NoteEnded { id });
        });
        job
    }
}

impl Actor for JobsActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

/// Queue a restore.
#[derive(Message)]
#[rtype(result = "ServiceResult<Job>")]
pub struct Admit {
    /// The restore.
    pub spec: RestoreSpec,
    /// The place it writes to.
    pub target: Option<TargetId>,
}

impl Handler<Admit> for JobsActor {
    type Result = ResponseActFuture<Self, ServiceResult<Job>>;

    fn handle(&mut self, Admit { spec, target }: Admit, _: &mut Context<Self>) -> Self::Result {
        let refused = if self.stopping.is_some() || self.runner.stopping.load(Ordering::Acquire) {
            Some(ServiceError::unavailable(
                "shutting-down",
                "the server is shutting down",
            ))
        } else if self.queue.len() + self.creating >= MAX_QUEUED {
            let text = format!("{MAX_QUEUED} restores are waiting already");
            Some(ServiceError::unavailable("queue-full", text))
        } else {
            target
                .as_ref()
                .filter(|target| self.targets.contains(target))
                .map(|_| {
                    let path = spec.target.path.as_deref().unwrap_or_default();
                    ServiceError::conflict("target-busy", format!("another restore writes to {path}"))
                })
        };
        if let Some(error) = refused {
            return Box::pin(async move { Err(error) }.into_actor(self));
        }
        self.targets.extend(target.clone());
        self.creating += 1;
        let (runner, tasks) = (Arc::clone(&self.runner), Arc::clone(&self.tasks));
        let created = self
            .work
            .spawn_blocking(move || start::create(&runner, &tasks, spec));
        Box::pin(created.into_actor(self).map(move |created, actor, ctx| {
            actor.creating -= 1;
            let (cell, spec, log) = match created.map_err(ServiceError::from).and_then(|created| created) {
                Ok(created) => created,
                Err(error) => {
                    actor.release(target.as_ref());
                    return Err(error);
                }
            };
            let job = cell.job();
            let store = actor
                .runner
                .views
                .stores
                .load()
                .get(&spec.file.store.name)
                .cloned();
            if let Some(store) = store
                && store
                    .actor
                    .try_send(NoteTask {
                        upid: job.upid.clone(),
                    })
                    .is_err()
            {
                tracing::debug!(upid = %job.upid, "the store's actor took no note of the task");
            }
            actor.queue.push_back(Queued {
                cell: Arc::clone(&cell),
                spec,
                log,
                target,
            });
            actor.pump(ctx);
            Ok(cell.job())
        }))
    }
}

/// Ask a restore to stop.
#[derive(Message)]
#[rtype(result = "ServiceResult<Job>")]
pub struct Cancel {
    /// Which.
    pub id: Uuid,
    /// Who asks, for the log.
    pub by: String,
}

impl Handler<Cancel> for JobsActor {
    type Result = ServiceResult<Job>;

    fn handle(&mut self, Cancel { id, by }: Cancel, ctx: &mut Context<Self>) -> Self::Result {
        if let Some(Running { cell, .. }) = self.running.get(&id)
            && !cell.state().is_final()
        {
            tracing::info!(%id, %by, "restore cancelled");
            cell.cancel.cancel();
            return Ok(cell.job());
        }
        if let Some(at) = self.queue.iter().position(|queued| queued.cell.job().id == id)
            && let Some(queued) = self.queue.remove(at)
        {
            tracing::info!(%id, %by, "queued restore cancelled");
            let job = self.conclude_queued(queued, ctx);
            self.pump(ctx);
            return Ok(job);
        }
        match self.runner.views.jobs.get(id) {
            Some(cell) if cell.state().is_final() => Err(ServiceError::conflict(
                "already-ended",
                format!("restore {id} ended already: {}", state_word(cell.state())),
            )),
            _ => Err(ServiceError::not_found(
                "unknown-job",
                format!("there is no restore {id}"),
            )),
        }
    }
}

fn state_word(state: JobState) -> &'static str {
    match state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Ok => "ok",
        JobState::Failed => "failed",
        JobState::Cancelled => "cancelled",
        JobState::Interrupted => "interrupted",
    }
}

/// A restore ended; everything about it is on disk.
#[derive(Message)]
#[rtype(result = "()")]
struct NoteEnded {
    id: Uuid,
}

impl Handler<NoteEnded> for JobsActor {
    type Result = ();

    fn handle(&mut self, NoteEnded { id }: NoteEnded, ctx: &mut Context<Self>) {
        if let Some(ended) = self.running.remove(&id) {
            self.release(ended.target.as_ref());
        }
        self.pump(ctx);
    }
}

/// The server shuts down: what waits or runs is interrupted. Answers when all of it is on disk.
#[derive(Message)]
#[rtype(result = "tokio::sync::oneshot::Receiver<()>")]
pub struct Shutdown;

impl Handler<Shutdown> for JobsActor {
    type Result = MessageResult<Shutdown>;

    fn handle(&mut self, _: Shutdown, ctx: &mut Context<Self>) -> Self::Result {
        let (done, wait) = tokio::sync::oneshot::channel();
        self.runner.stopping.store(true, Ordering::Release);
        self.stopping = Some(done);
        // Queued ones take the way of the running ones, so that the wait covers them, too.
        self.max_running = usize::MAX;
        self.queue.iter().for_each(|queued| queued.cell.cancel.cancel());
        self.running
            .values()
            .for_each(|running| running.cell.cancel.cancel());
        self.pump(ctx);
        MessageResult(wait)
    }
}

/// Ends the actor, after [`Shutdown`].
#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop;

impl Handler<Stop> for JobsActor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

/// What the actor holds, for tests and the administrator.
#[derive(Debug, Clone, Serialize)]
pub struct JobsObservation {
    /// Restores that wait.
    pub queued: usize,
    /// Restores that run.
    pub running: usize,
    /// Restores that may run at once.
    pub max_running: usize,
    /// Targets in use.
    pub targets: usize,
}

/// Asks for [`JobsObservation`].
#[derive(Message)]
#[rtype(result = "JobsObservation")]
pub struct Observe;

impl Handler<Observe> for JobsActor {
    type Result = MessageResult<Observe>;

    fn handle(&mut self, _: Observe, _: &mut Context<Self>) -> Self::Result {
        MessageResult(JobsObservation {
            queued: self.queue.len(),
            running: self.running.len(),
            max_running: self.max_running,
            targets: self.targets.len(),
        })
    }
}
