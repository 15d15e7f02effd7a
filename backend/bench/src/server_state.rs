//! State directories of servers that a benchmark starts, and only they: what tells them from all others.
//!
//! A server with an older way of finding datastores must never run on anybody's real state. It starts only on a directory
//! that holds the marker, with its configuration and its run directory inside.

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::BenchError;

/// Name of the marker in the state directory.
pub const MARKER: &str = ".fleethold-bench-server";
/// What the marker says.
const MARKER_TEXT: &str = "state of a server that a benchmark started and removes again\n";

/// Why a directory is none of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--bench-lookup is for servers that a benchmark starts: {}: {reason}", path.display())]
pub struct NotOfABenchmark {
    /// What was looked at.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Refuses directories that no benchmark made. Blocking.
///
/// # Errors
/// [`NotOfABenchmark`]: the state directory has no marker, or the configuration or the run directory lies elsewhere.
pub fn check(state_dir: &Path, config_dir: &Path, run_dir: &Path) -> Result<(), NotOfABenchmark> {
    let refuse = |path: &Path, reason: String| NotOfABenchmark {
        path: path.to_owned(),
        reason,
    };
    let marker = state_dir.join(MARKER);
    let is_file = std::fs::symlink_metadata(&marker).is_ok_and(|metadata| metadata.is_file());
    let says = std::fs::read_to_string(&marker).unwrap_or_default();
    if !is_file || says != MARKER_TEXT {
        return Err(refuse(&marker, "expected the marker of a benchmark".to_owned()));
    }
    let real = |path: &Path| {
        path.canonicalize()
            .map_err(|error| refuse(path, error.to_string()))
    };
    let state = real(state_dir)?;
    for (path, inside) in [(config_dir, "etc"), (run_dir, "run")] {
        if real(path)? != state.join(inside) {
            let reason = format!("expected {}", state.join(inside).display());
            return Err(refuse(path, reason));
        }
    }
    Ok(())
}

/// A state directory of a benchmark; removed with its value.
#[derive(Debug)]
pub(crate) struct ServerState {
    dir: PathBuf,
    /// Locked as long as its maker lives: a directory whose marker nobody holds was left behind.
    _marker: File,
}

impl ServerState {
    /// Makes one below `parent`, with `etc/` and `run/`, and removes those that killed benchmarks left there.
    pub(crate) fn make(parent: &Path) -> Result<Self, BenchError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| BenchError::Io { path, source }
        };
        std::fs::create_dir_all(parent).map_err(io(parent))?;
        remove_left_behind(parent).map_err(io(parent))?;
        let dir = parent.join(format!("{:08x}-{}", rand::random::<u32>(), std::process::id()));
        std::fs::create_dir(&dir).map_err(io(&dir))?;
        let path = dir.join(MARKER);
        let mut marker = File::create_new(&path).map_err(io(&path))?;
        marker.lock().map_err(io(&path))?;
        marker.write_all(MARKER_TEXT.as_bytes()).map_err(io(&path))?;
        for inside in ["etc", "run"] {
            let path = dir.join(inside);
            std::fs::create_dir(&path).map_err(io(&path))?;
        }
        Ok(Self { dir, _marker: marker })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for ServerState {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            tracing::warn!(dir = %self.dir.display(), %error, "a benchmark's state was left behind");
        }
    }
}

fn remove_left_behind(parent: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(parent)? {
        let dir = entry?.path();
        let marker = dir.join(MARKER);
        // One without a marker, or with an empty one, is being made by somebody at this moment.
        if !std::fs::read_to_string(&marker).is_ok_and(|text| text == MARKER_TEXT) {
            continue;
        }
        let Ok(file) = File::open(&marker) else {
            continue;
        };
        match file.try_lock() {
            Ok(()) => std::fs::remove_dir_all(&dir)?,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_benchmark_made_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let state = ServerState::make(root.path()).unwrap();
        let dir = state.dir().to_owned();
        let (etc, run) = (dir.join("etc"), dir.join("run"));
        assert_eq!(check(&dir, &etc, &run), Ok(()));

        let elsewhere = tempfile::tempdir().unwrap();
        let refused = |state: &Path, etc: &Path, run: &Path| check(state, etc, run).unwrap_err().to_string();
        assert!(refused(&dir, elsewhere.path(), &run).contains("expected"));
        assert!(refused(&dir, &etc, elsewhere.path()).contains("expected"));
        assert!(refused(elsewhere.path(), &etc, &run).contains("marker"));
        std::os::unix::fs::symlink(dir.join(MARKER), elsewhere.path().join(MARKER)).unwrap();
        assert!(refused(elsewhere.path(), &etc, &run).contains("marker"));
        std::fs::write(dir.join(MARKER), "another text").unwrap();
        assert!(refused(&dir, &etc, &run).contains("marker"));
    }

    #[test]
    fn what_killed_benchmarks_left_goes_and_what_lives_stays() {
        let root = tempfile::tempdir().unwrap();
        let living = ServerState::make(root.path()).unwrap();
        let left = root.path().join("left");
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join(MARKER), MARKER_TEXT).unwrap();
        let foreign = root.path().join("foreign");
        std::fs::create_dir(&foreign).unwrap();
        let next = ServerState::make(root.path()).unwrap();
        assert!(!left.exists() && foreign.exists());
        assert!(living.dir().exists() && next.dir().exists());
        let gone = next.dir().to_owned();
        drop(next);
        assert!(!gone.exists());
    }
}
