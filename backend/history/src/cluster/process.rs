//! One running `postgres`: our child, or an orphan of an earlier run that we adopted.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::watch;

use super::binaries::Binaries;
use super::error::ClusterError;
use super::pdeathsig::die_with_parent;
use super::service_user::ServiceUser;

/// Each is tried for this long before the next, harsher one. INT: sessions are cut and a checkpoint is written; QUIT:
/// stop now, recover at the next start; KILL: the same without asking.
const STOP_STEPS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_secs(30)),
    (Signal::QUIT, Duration::from_secs(5)),
    (Signal::KILL, Duration::from_secs(5)),
];
/// Lines of the server's log kept for the message when it ends.
const KEPT_LINES: usize = 12;

/// A running server.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) socket_dir: PathBuf,
    pub(crate) adopted: bool,
    pidfd: OwnedFd,
    /// Why it ended; `None` while it runs.
    exited: watch::Receiver<Option<String>>,
}

impl Process {
    /// Starts a server that ends with us.
    pub(super) fn spawn(
        home: &Path,
        socket_dir: &Path,
        binaries: &Binaries,
        user: &ServiceUser,
    ) -> Result<Self, ClusterError> {
        let program = binaries.bin.join("postgres");
        let mut command = user.command(&program, home);
        command.arg("-D").arg(home.join("data"));
        for setting in settings(socket_dir) {
            command.arg("-c").arg(setting);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());

        let (started_tx, started_rx) = mpsc::sync_channel(1);
        let (exited_tx, exited) = watch::channel(None);
        // The signal of a parent's death follows the thread that spawned: this one stays until the server ends.
        std::thread::Builder::new()
            .name("pg-keeper".to_owned())
            .spawn(move || {
                die_with_parent(&mut command, Signal::INT);
                let mut child = match command.spawn() {
                    Ok(child) => child,
                    Err(error) => {
                        // The receiver waits for exactly this message.
                        let _ = started_tx.send(Err(error));
                        return;
                    }
                };
                let lines = child.stderr.take().map(follow_log);
                let pid = i32::try_from(child.id()).unwrap_or_default();
                let _ = started_tx.send(open_pidfd(pid).map(|pidfd| (pid, pidfd)));
                let status = match child.wait() {
                    Ok(status) => status.to_string(),
                    Err(error) => format!("unknown status ({error})"),
                };
                let said = lines.map(|log| log.last_words()).unwrap_or_default();
                exited_tx.send_replace(Some(format!("postgres ended with {status}: {}", tail(&said))));
            })
            .map_err(ClusterError::io("start a thread for", &program))?;
        let (pid, pidfd) = started_rx
            .recv()
            .map_err(std::io::Error::other)
            .and_then(|started| started)
            .map_err(ClusterError::io("run", &program))?;
        Ok(Self {
            pid,
            socket_dir: socket_dir.to_owned(),
            adopted: false,
            pidfd,
            exited,
        })
    }

    /// Takes over a server that somebody else started.
    pub(super) fn adopt(pid: i32, socket_dir: PathBuf) -> Result<Self, ClusterError> {
        let watch_process = |source| ClusterError::Io {
            action: "watch process",
            path: PathBuf::from(format!("/proc/{pid}")),
            source,
        };
        let pidfd = open_pidfd(pid).map_err(watch_process)?;
        let watched = pidfd.try_clone().map_err(watch_process)?;
        let (exited_tx, exited) = watch::channel(None);
        std::thread::Builder::new()
            .name("pg-keeper".to_owned())
            .spawn(move || {
                exited_tx.send_replace(Some(wait_for_stranger(&watched)));
            })
            .map_err(watch_process)?;
        Ok(Self {
            pid,
            socket_dir,
            adopted: true,
            pidfd,
            exited,
        })
    }

    /// Waits for the end and says why it came.
    pub(crate) async fn ended(&self) -> String {
        let mut exited = self.exited.clone();
        match exited.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "the thread that watches postgres ended".to_owned(),
        }
    }

    /// Stops it and waits until it is gone.
    pub(crate) async fn stop(&self) {
        for (signal, limit) in STOP_STEPS {
            if self.exited.borrow().is_some() {
                return;
            }
            if let Err(error) = pidfd_send_signal(&self.pidfd, signal) {
                tracing::debug!(pid = self.pid, %error, "postgres is gone already");
            }
            if tokio::time::timeout(limit, self.ended()).await.is_ok() {
                return;
            }
            tracing::warn!(pid = self.pid, ?signal, ?limit, "postgres does not stop");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exited.borrow().is_none() {
            // Nobody is left who could wait; a failure means that it has ended.
            let _ = pidfd_send_signal(&self.pidfd, Signal::INT);
        }
    }
}

/// Waits for the end of a process that is not our child.
fn wait_for_stranger(pidfd: &OwnedFd) -> String {
    loop {
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], None) {
            Ok(_) => return "the adopted postgres ended".to_owned(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return format!("the adopted postgres cannot be watched: {error}"),
        }
    }
}

fn open_pidfd(pid: i32) -> std::io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(std::io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Given on the command line, so that they hold whatever stands in the files of an existing data directory.
fn settings(socket_dir: &Path) -> Vec<std::ffi::OsString> {
    // The setting is a list: quotes keep a comma in the name from splitting it.
    let mut socket = std::ffi::OsString::from("unix_socket_directories=\"");
    socket.push(socket_dir);
    socket.push("\"");
    let fixed = [
        "listen_addresses=",
        "unix_socket_permissions=0700",
        "fsync=on",
        "full_page_writes=on",
        "synchronous_commit=on",
        "max_connections=20",
        "shared_buffers=32MB",
        "max_wal_size=256MB",
        "logging_collector=off",
        "log_destination=stderr",
        "log_line_prefix=",
        "log_min_messages=warning",
        "log_checkpoints=off",
        "timezone=UTC",
        "cluster_name=fleethold",
    ];
    fixed
        .iter()
        .map(std::ffi::OsString::from)
        .chain([socket, format!("port={}", super::socket::PORT).into()])
        .collect()
}

/// The last lines that the server printed.
struct Log {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Hangs up when the server has closed its end.
    open: mpsc::Receiver<()>,
}

impl Log {
    fn last_words(&self) -> String {
        // The server has ended, but its last lines may still be in the pipe; a child of it may hold the pipe for a while.
        if self.open.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::debug!("somebody still holds the log of the ended postgres");
        }
        Vec::from(self.lines.lock().clone()).join(" | ")
    }
}

/// Hands the server's log on to ours, line by line.
fn follow_log(stderr: ChildStderr) -> Log {
    let lines = Arc::new(Mutex::new(VecDeque::new()));
    let kept = Arc::clone(&lines);
    let (until_closed, open) = mpsc::channel();
    let spawned = std::thread::Builder::new()
        .name("pg-log".to_owned())
        .spawn(move || {
            let _until_closed: mpsc::Sender<()> = until_closed;
            for line in BufReader::new(stderr).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line)
                    .trim()
                    .chars()
                    .take(1000)
                    .collect::<String>();
                if ["WARNING:", "ERROR:", "FATAL:", "PANIC:"]
                    .iter()
                    .any(|severity| line.contains(severity))
                {
                    tracing::warn!(target: "fleethold_history::postgres", "{line}");
                } else {
                    tracing::debug!(target: "fleethold_history::postgres", "{line}");
                }
                let mut kept = kept.lock();
                if kept.len() == KEPT_LINES {
                    kept.pop_front();
                }
                kept.push_back(line);
            }
        });
    if let Err(error) = spawned {
        tracing::warn!(%error, "the log of postgres is lost: no thread for it");
    }
    Log { lines, open }
}

/// The end of a program's output, short enough for a message.
pub(super) fn tail(text: &str) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(1000);
    if text.is_empty() {
        "no output".to_owned()
    } else {
        text.chars().skip(skip).collect()
    }
}
