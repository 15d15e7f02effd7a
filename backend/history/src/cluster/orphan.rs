//! What an earlier run left behind: a server to adopt, one that is still stopping, a stale `postmaster.pid`.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::ClusterError;
use crate::clock;

/// How long processes of an earlier run may take to end: a fast shutdown writes a checkpoint.
const END_LIMIT: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The lines of `postmaster.pid` that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: i32,
    /// Empty when it listens on no socket.
    pub(super) socket_dir: PathBuf,
    pub(super) stopping: bool,
}

/// Looks for a server that runs on `data`. Processes that are on their way out are waited for, and a `postmaster.pid`
/// without a process is removed: PostgreSQL itself would take a zombie, or any process that has the number by now, for
/// the old server and refuse to start.
pub(super) fn find(data: &Path, cancelled: &dyn Fn() -> bool) -> Result<Option<PidFile>, ClusterError> {
    let pid_file = read_pid_file(data)?;
    if let Some(file) = &pid_file
        && !file.stopping
        && processes_in(data).contains(&file.pid)
    {
        return Ok(pid_file);
    }
    wait_until_gone(data, cancelled)?;
    let path = data.join("postmaster.pid");
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(ClusterError::Io {
            action: "remove",
            path,
            source: error,
        }),
        _ => Ok(None),
    }
}

/// Waits until no process runs on `data` any more.
pub(super) fn wait_until_gone(data: &Path, cancelled: &dyn Fn() -> bool) -> Result<(), ClusterError> {
    let started = clock::instant();
    loop {
        let pids = processes_in(data);
        if pids.is_empty() {
            return Ok(());
        }
        if cancelled() {
            return Err(ClusterError::Cancelled);
        }
        if started.elapsed() > END_LIMIT {
            return Err(ClusterError::StillRunning {
                pids,
                data: data.to_owned(),
                waited: END_LIMIT,
            });
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The living `postgres` processes whose working directory is `data`. A zombie has none, so it does not count.
pub(super) fn processes_in(data: &Path) -> Vec<i32> {
    let Ok(data) = data.canonicalize() else {
        return Vec::new();
    };
    let Ok(proc) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    proc.filter_map(Result::ok)
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
            let name = std::fs::read(entry.path().join("comm")).ok()?;
            // A shell that somebody left standing in the folder is no server.
            (cwd == data && name.starts_with(b"postgres")).then_some(pid)
        })
        .collect()
}

fn read_pid_file(data: &Path) -> Result<Option<PidFile>, ClusterError> {
    let path = data.join("postmaster.pid");
    match std::fs::read(&path) {
        // An empty file is what a crash between creating and writing it leaves.
        Ok(text) => Ok(Some(parse(&text).unwrap_or(PidFile {
            pid: 0,
            socket_dir: PathBuf::new(),
            stopping: true,
        }))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ClusterError::Io {
            action: "read",
            path,
            source,
        }),
    }
}

/// Line 1 is the pid, 5 the first socket folder, 8 the state; later lines appear as the server gets there.
fn parse(text: &[u8]) -> Option<PidFile> {
    let mut lines = text.split(|byte| *byte == b'\n');
    // Negative for a single-user session.
    let pid: i32 = std::str::from_utf8(lines.next()?).ok()?.trim().parse().ok()?;
    let socket_dir = PathBuf::from(std::ffi::OsStr::from_bytes(lines.nth(3).unwrap_or_default()));
    let stopping = lines.nth(2).is_some_and(|line| line.starts_with(b"stopping"));
    Some(PidFile {
        pid: pid.abs(),
        socket_dir,
        stopping,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_of_a_pid_file() {
        let ready = b"123\n/data\n1700000000\n5432\n/run/x\n\n  5432001   7\nready   \n";
        let expected = PidFile {
            pid: 123,
            socket_dir: "/run/x".into(),
            stopping: false,
        };
        assert_eq!(parse(ready), Some(expected));
        let stopping = b"123\n/data\n1700000000\n5432\n/run/x\n\n  5432001   7\nstopping\n";
        assert!(parse(stopping).unwrap().stopping);
        assert_eq!(parse(b"-7\n/data\n").unwrap().pid, 7);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn stale_pid_file_is_removed_even_if_the_number_lives_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("postmaster.pid");
        // Our own number: a living process that is no server of this folder.
        for content in [format!("{}\n/data\n", std::process::id()), String::new()] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(find(dir.path(), &|| false).unwrap(), None);
            assert!(!path.exists());
        }
    }
}
