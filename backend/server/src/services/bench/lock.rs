//! One measurement at a time on a machine: a lock file in the state directory that servers and the command line share.
//!
//! The lock is the kernel's, on the open file: it ends with the process, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

/// How often a lock that another process holds is looked at.
pub const POLL: Duration = Duration::from_millis(250);
/// Longest note taken from the holder, in bytes.
const MAX_NOTE: u64 = 200;

/// Held while something measures.
#[derive(Debug)]
pub struct MeasureLock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Where the lock lies.
#[must_use]
pub fn path(bench_dir: &Path) -> PathBuf {
    bench_dir.join("lock")
}

/// Takes the lock, or says who has it. Touches the disk: blocking.
///
/// # Errors
/// When the file cannot be made or locked.
pub fn try_take(bench_dir: &Path, note: &str) -> std::io::Result<Result<MeasureLock, String>> {
    std::fs::create_dir_all(bench_dir)?;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path(bench_dir))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "process {}: {note}", std::process::id())?;
            Ok(Ok(MeasureLock(file)))
        }
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = Vec::new();
            file.take(MAX_NOTE).read_to_end(&mut holder)?;
            let holder = String::from_utf8_lossy(&holder).into_owned();
            Ok(Err(if holder.is_empty() {
                "another process".to_owned()
            } else {
                holder
            }))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_the_others_learn_who() {
        let dir = tempfile::tempdir().unwrap();
        let held = try_take(dir.path(), "lookup").unwrap().unwrap();
        let holder = try_take(dir.path(), "restore").unwrap().unwrap_err();
        assert_eq!(holder, format!("process {}: lookup", std::process::id()));
        drop(held);
        assert!(try_take(dir.path(), "restore").unwrap().is_ok());
    }
}
