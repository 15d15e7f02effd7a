//! The spool's own thread, and the bounded queue before it.

use tokio::sync::{mpsc, oneshot, watch};

use super::stream::Position;
use super::{Batch, Kind, Spool, SpoolError};
use crate::recorder::SpoolStats;

/// Records that may wait for the disk. Samples beyond that are dropped, jobs wait.
const QUEUE_LEN: usize = 256;

/// What the thread is asked for.
#[derive(Debug)]
pub(crate) enum Command {
    /// Add a record; the answer comes when it is kept.
    Append {
        kind: Kind,
        payload: Vec<u8>,
        rows: u32,
        done: Option<oneshot::Sender<Result<(), SpoolError>>>,
    },
    /// Hand out the next records.
    Read {
        done: oneshot::Sender<Result<Option<Batch>, SpoolError>>,
    },
    /// Those have arrived; the rejected ones with the reason.
    Arrived {
        kind: Kind,
        end: Position,
        orphans: u64,
        rejected: Vec<(Vec<u8>, String)>,
    },
    /// Write everything out and end.
    Stop { done: oneshot::Sender<()> },
}

/// Starts the thread. The statistics are published after every command.
pub(crate) fn start(
    mut spool: Spool,
) -> Result<(mpsc::Sender<Command>, watch::Receiver<SpoolStats>), std::io::Error> {
    let (commands, mut queue) = mpsc::channel(QUEUE_LEN);
    let (stats_tx, stats) = watch::channel(spool.stats());
    std::thread::Builder::new().name("spool".to_owned()).spawn(move || {
        while let Some(command) = queue.blocking_recv() {
            // Answers go out after the statistics, so that who waits for one sees the other. Nobody may be waiting.
            match command {
                Command::Append { kind, payload, rows, done } => {
                    let result = spool.append(kind, &payload, rows);
                    if let (None, Err(error)) = (&done, &result) {
                        tracing::warn!(%error, rows, "samples are lost");
                    }
                    stats_tx.send_replace(spool.stats());
                    done.map(|done| done.send(result));
                }
                Command::Read { done } => {
                    let result = spool.read();
                    stats_tx.send_replace(spool.stats());
                    let _ = done.send(result);
                }
                Command::Arrived { kind, end, orphans, rejected } => {
                    for (payload, why) in rejected {
                        tracing::error!(%why, "the database refuses a record: see rejected.jsonl in the spool");
                        log_failure(spool.reject(&payload, &why));
                    }
                    log_failure(spool.acknowledge(kind, end, orphans));
                    stats_tx.send_replace(spool.stats());
                }
                Command::Stop { done } => {
                    log_failure(spool.sync());
                    drop(spool);
                    let _ = done.send(());
                    return;
                }
            }
        }
        log_failure(spool.sync());
    })?;
    Ok((commands, stats))
}

fn log_failure(result: Result<(), SpoolError>) {
    if let Err(error) = result {
        tracing::error!(%error, "the spool does not work");
    }
}
