//! Taking records that must not be lost.
//!
//! ```text
//! recorder ─▶ bounded queue ─▶ spool thread ─▶ files ─▶ replay task ─▶ PostgreSQL
//! ```
//!
//! Everything goes through the files, whether the database is there or not: there is one way and one order. A job is on
//! the disk when the call returns. Samples are best effort: they are dropped, and counted, before anything waits.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::clock;
use crate::database::{Database, DbState};
use crate::replay;
use crate::rows::{JobRow, Machine, SampleRow};
use crate::spool::thread::{self, Command};
use crate::spool::{Kind, Spool, SpoolError};
use crate::write::Record;

/// Rows of one sample record.
const ROWS_PER_RECORD: usize = 500;
/// Jobs whose sampling is tracked at once; more than can ever be admitted.
const TRACKED_JOBS: usize = 4096;
/// How long a stop waits for a database that is there to take what waits.
const LAST_FLUSH: Duration = Duration::from_secs(3);

/// Where the spool is and how large it may grow.
#[derive(Debug, Clone)]
pub struct RecorderConfig {
    /// The folder, `<state>/spool`; made if it is not there.
    pub spool_dir: PathBuf,
    /// The most that records may take on disk, in bytes.
    pub max_bytes: u64,
}

impl RecorderConfig {
    /// 64 MiB in `<state_dir>/spool`: about 300 hours of one job's samples.
    pub fn in_state_dir(state_dir: &std::path::Path) -> Self {
        Self {
            spool_dir: state_dir.join("spool"),
            max_bytes: 64 * 1024 * 1024,
        }
    }
}

/// What waits for the database, and what was lost since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolStats {
    /// Records about jobs that have not arrived yet.
    pub waiting_jobs: u64,
    /// Samples that have not arrived yet.
    pub waiting_samples: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The bound of `bytes`.
    pub max_bytes: u64,
    /// Records about jobs that found no room.
    pub dropped_jobs: u64,
    /// Samples that found no room, made room for jobs, or had lost their job.
    pub dropped_samples: u64,
    /// Records that the database refused for good; they are in `rejected.jsonl`.
    pub rejected: u64,
    /// Segments that did not read back; their rest is lost.
    pub damaged_segments: u64,
}

/// At most one sample a second is kept, and the last one of all.
#[derive(Debug, Default)]
struct Thinning {
    kept_second: Option<u64>,
    /// The newest sample that was not kept.
    left_out: Option<SampleRow>,
}

/// See the module. Cheap to share in an `Arc`.
#[derive(Debug)]
pub struct Recorder {
    instance: Uuid,
    commands: mpsc::Sender<Command>,
    stats: watch::Receiver<SpoolStats>,
    overflowed: AtomicU64,
    thinning: Mutex<HashMap<Uuid, Thinning>>,
    database: Arc<Database>,
    replay: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Recorder {
    /// Opens the spool and starts to hand on what waits in it. `machine` is recorded first: jobs refer to it.
    ///
    /// # Errors
    /// The folder cannot be used: this is a matter of set-up, unlike a database that is away.
    pub async fn start(
        config: RecorderConfig,
        machine: Machine,
        database: Arc<Database>,
    ) -> Result<Arc<Self>, SpoolError> {
        let dir = config.spool_dir.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let spool = Spool::open(&config.spool_dir, config.max_bytes)?;
            let instance = spool.instance();
            let (commands, stats) = thread::start(spool).map_err(|source| SpoolError::Io {
                action: "start a thread for",
                path: config.spool_dir,
                source,
            })?;
            Ok::<_, SpoolError>((instance, commands, stats))
        });
        let (instance, commands, stats) = opened.await.map_err(|error| SpoolError::Io {
            action: "open",
            path: dir,
            source: std::io::Error::other(error),
        })??;
        let replay = tokio::spawn(replay::run(
            Arc::clone(&database),
            commands.clone(),
            stats.clone(),
        ));
        let recorder = Self {
            instance,
            commands,
            stats,
            overflowed: AtomicU64::new(0),
            thinning: Mutex::new(HashMap::new()),
            database,
            replay: tokio::sync::Mutex::new(Some(replay)),
        };
        recorder.keep(&Record::Machine { machine }).await?;
        Ok(Arc::new(recorder))
    }

    /// Records a job that was asked for or admitted. May be called again when it changes.
    pub async fn job_started(&self, job: JobRow) -> Result<(), SpoolError> {
        self.job(job).await
    }

    /// Records the end of a job: the whole row, with outcome and totals.
    pub async fn job_finished(&self, job: JobRow) -> Result<(), SpoolError> {
        if job.outcome.is_none() {
            return Err(SpoolError::Invalid {
                id: job.id,
                message: "a finished job has no outcome",
            });
        }
        let thinning = self.thinning.lock().remove(&job.id);
        if let Some(last) = thinning.and_then(|thinning| thinning.left_out) {
            self.offer(job.id, vec![last]);
        }
        self.job(job).await
    }

    async fn job(&self, job: JobRow) -> Result<(), SpoolError> {
        if job.outcome.is_some() != job.finished_at.is_some() {
            return Err(SpoolError::Invalid {
                id: job.id,
                message: "outcome and end have to be set together",
            });
        }
        self.keep(&Record::Job {
            instance: self.instance,
            job: Box::new(job),
        })
        .await
    }

    /// Records samples of a job, in order of time, as many as there are: one a second is kept, and the last.
    /// Never waits.
    pub fn samples(&self, job_id: Uuid, samples: Vec<SampleRow>) {
        let kept: Vec<SampleRow> = {
            let mut jobs = self.thinning.lock();
            if jobs.len() >= TRACKED_JOBS && !jobs.contains_key(&job_id) {
                self.overflowed.fetch_add(samples.len() as u64, Ordering::Relaxed);
                return;
            }
            let thinning = jobs.entry(job_id).or_default();
            samples
                .into_iter()
                .filter(|sample| thinning.keeps(sample))
                .collect()
        };
        for rows in kept.chunks(ROWS_PER_RECORD) {
            self.offer(job_id, rows.to_vec());
        }
    }

    /// Records that the jobs of an earlier process, all those that have not ended but `alive`, were interrupted.
    /// Jobs of other servers on the same database are left alone.
    pub async fn mark_interrupted(&self, alive: &[Uuid]) -> Result<(), SpoolError> {
        let record = Record::Interrupted {
            instance: self.instance,
            at: clock::now(),
            alive: alive.to_vec(),
        };
        self.keep(&record).await
    }

    /// What waits and what was lost.
    pub fn stats(&self) -> SpoolStats {
        let mut stats = *self.stats.borrow();
        stats.dropped_samples += self.overflowed.load(Ordering::Relaxed);
        stats
    }

    /// Returns when nothing waits any more: all that was recorded before is in the database (or counted as lost).
    pub async fn flushed(&self) {
        // Behind everything that is in the queue by now.
        let (done, answer) = oneshot::channel();
        if self.commands.send(Command::Read { done }).await.is_err() || answer.await.is_err() {
            return;
        }
        let mut stats = self.stats.clone();
        // An error is a thread that has ended: nothing will arrive any more.
        let _ = stats
            .wait_for(|stats| stats.waiting_jobs == 0 && stats.waiting_samples == 0)
            .await;
    }

    /// Hands on what a present database takes within a moment, writes the rest to the disk, and ends. To be called
    /// before [`Database::stop`]. A second call does nothing.
    pub async fn stop(&self) {
        let Some(replay) = self.replay.lock().await.take() else {
            return;
        };
        let ready = *self.database.state().borrow() == DbState::Ready;
        if ready && tokio::time::timeout(LAST_FLUSH, self.flushed()).await.is_err() {
            tracing::info!(stats = ?self.stats(), "records stay in the spool for the next start");
        }
        replay.abort();
        // An aborted task is what is expected here.
        let _ = replay.await;
        let (done, written) = oneshot::channel();
        if self.commands.send(Command::Stop { done }).await.is_ok() {
            let _ = written.await;
        }
    }

    async fn keep(&self, record: &Record) -> Result<(), SpoolError> {
        let payload = serde_json::to_vec(record)?;
        let (done, answer) = oneshot::channel();
        let command = Command::Append {
            kind: Kind::Job,
            payload,
            rows: 1,
            done: Some(done),
        };
        self.commands
            .send(command)
            .await
            .map_err(|_| SpoolError::Stopped)?;
        answer.await.map_err(|_| SpoolError::Stopped)?
    }

    fn offer(&self, job_id: Uuid, rows: Vec<SampleRow>) {
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let sent = serde_json::to_vec(&Record::Samples { job_id, rows }).is_ok_and(|payload| {
            let command = Command::Append {
                kind: Kind::Sample,
                payload,
                rows: count,
                done: None,
            };
            self.commands.try_send(command).is_ok()
        });
        if !sent {
            self.overflowed.fetch_add(u64::from(count), Ordering::Relaxed);
        }
    }
}

impl Thinning {
    fn keeps(&mut self, sample: &SampleRow) -> bool {
        let second = sample.t_ns / 1_000_000_000;
        let keeps = self.kept_second.is_none_or(|kept| second > kept);
        if keeps {
            self.kept_second = Some(second);
            self.left_out = None;
        } else {
            self.left_out = Some(*sample);
        }
        keeps
    }
}
