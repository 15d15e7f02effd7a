//! Which processes live: each holds a lock on the byte of its slot, which the kernel takes away when the process ends. Numbers
//! of processes would not do: they are used again, and differ between containers that share the file.

use std::fs::File;
use std::io;

use nix::fcntl::{FcntlArg, fcntl};

/// A process as the file shows it to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    /// Number.
    pub(super) pid: u64,
    /// When it started, in clock ticks since the machine did.
    pub(super) start: u64,
}

impl Process {
    /// This one.
    pub(super) fn this() -> io::Result<Self> {
        let text = std::fs::read_to_string("/proc/self/stat")?;
        // The second field is the command in brackets, which may hold anything; the start is number 22.
        let start = text
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(19))
            .and_then(|field| field.parse().ok());
        Ok(Self {
            pid: u64::from(std::process::id()),
            start: start
                .ok_or_else(|| io::Error::other("expected a start time in field 22 of /proc/self/stat"))?,
        })
    }
}

/// Takes the slot's lock for as long as `file` is open; whether it was free.
pub(super) fn take(file: &File, slot: usize) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&byte_of(slot)?)) {
        Ok(_) => Ok(true),
        Err(nix::Error::EAGAIN | nix::Error::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether another process, or another opening of the file, holds the slot's lock. When that cannot be found out it does:
/// nothing of it is thrown away.
pub(super) fn is_held(file: &File, slot: usize) -> bool {
    let found = byte_of(slot).and_then(|mut lock| {
        fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
        Ok(lock.l_type != UNLOCKED)
    });
    found.unwrap_or_else(|error| {
        tracing::warn!(slot, %error, "cannot tell whether a process lives");
        true
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "constants of the system, each below 4"
)]
const UNLOCKED: i16 = libc::F_UNLCK as i16;
#[expect(
    clippy::cast_possible_truncation,
    reason = "constants of the system, each below 4"
)]
const EXCLUSIVE: i16 = libc::F_WRLCK as i16;
#[expect(
    clippy::cast_possible_truncation,
    reason = "constants of the system, each below 4"
)]
const FROM_START: i16 = libc::SEEK_SET as i16;

fn byte_of(slot: usize) -> io::Result<libc::flock> {
    Ok(libc::flock {
        l_type: EXCLUSIVE,
        l_whence: FROM_START,
        l_start: libc::off_t::try_from(slot).map_err(io::Error::other)?,
        l_len: 1,
        l_pid: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_held_until_its_file_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .unwrap()
        };
        let (one, other) = (open(), open());
        assert!(!is_held(&other, 3));
        assert!(take(&one, 3).unwrap());
        assert!(is_held(&other, 3) && !is_held(&one, 3) && !is_held(&other, 4));
        assert!(!take(&other, 3).unwrap());
        drop(one);
        assert!(take(&other, 3).unwrap());
    }
}
