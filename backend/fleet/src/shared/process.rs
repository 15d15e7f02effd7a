//! Which processes live.

use std::io;

/// A process by number and start: numbers are used again.
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
        let pid = u64::from(std::process::id());
        let start = start_of(pid)?.ok_or_else(|| io::Error::other("/proc does not know this process"))?;
        Ok(Self { pid, start })
    }

    /// Whether it still runs. When that cannot be found out it does: nothing of it is thrown away.
    pub(super) fn is_alive(self) -> bool {
        match start_of(self.pid) {
            Ok(found) => found == Some(self.start),
            Err(error) => {
                tracing::warn!(pid = self.pid, %error, "cannot tell whether a process lives");
                true
            }
        }
    }
}

/// Start of a process by field 22 of its `stat`; `None` when there is none of that number.
fn start_of(pid: u64) -> io::Result<Option<u64>> {
    let text = match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // It ended while its file was being read.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // The second field is the command in brackets, which may hold anything; two fields before and in it, 19 between.
    let fields = text.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
    let mut fields =
        fields.ok_or_else(|| io::Error::other("expected a command in brackets in /proc/PID/stat"))?;
    // A zombie holds nothing any more.
    if fields.next() == Some("Z") {
        return Ok(None);
    }
    let start = fields.nth(18).and_then(|text| text.parse().ok());
    start
        .map(Some)
        .ok_or_else(|| io::Error::other("expected a start time in field 22 of /proc/PID/stat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_lives_until_it_is_gone() {
        let this = Process::this().unwrap();
        assert!(this.is_alive());
        let other = Process {
            start: this.start + 1,
            ..this
        };
        assert!(!other.is_alive(), "the number alone is not enough");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = u64::from(child.id());
        let child_process = Process {
            pid,
            start: start_of(pid).unwrap().unwrap(),
        };
        assert!(child_process.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!child_process.is_alive());
    }
}
