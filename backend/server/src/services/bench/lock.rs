//! One measurement at a time on a machine, whatever user, server, state directory or command line it belongs to.
//!
//! The lock is a name in the kernel's abstract namespace of sockets: only one process can have it, it ends with that
//! process however that ends, and there is no file that a user could own, link elsewhere or leave behind. Any user can
//! take the name, as any user can load the machine: who does delays the others, who see that they wait and can cancel.
//! Containers with a network namespace of their own have a lock of their own.
//!
//! Who has it says so in the name of a second socket, which everybody can read in `/proc/net/unix`.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How often a lock that another process holds is looked at.
pub const POLL: Duration = Duration::from_millis(250);
/// Another name than the usual one: tests measure nothing that others could disturb.
pub const NAME_VARIABLE: &str = "FLEETHOLD_BENCH_LOCK";
const NAME: &str = "fleethold-bench";
/// Longest note, in bytes; a name of a socket has 107.
const MAX_NOTE: usize = 60;
/// Most of a name that is another than the usual one.
const MAX_NAME: usize = 28;
/// Where the kernel lists sockets.
const SOCKETS: &str = "/proc/net/unix";

/// Held while something measures.
#[derive(Debug)]
#[expect(dead_code, reason = "the bound sockets are the lock")]
pub struct MeasureLock {
    lock: UnixDatagram,
    note: Option<UnixDatagram>,
}

/// The name of the lock, as `ss -x` and `/proc/net/unix` show it after an `@`.
#[must_use]
pub fn name() -> String {
    match std::env::var(NAME_VARIABLE) {
        Ok(name) if !name.is_empty() => plain(&name, MAX_NAME),
        _ => NAME.to_owned(),
    }
}

/// Takes the lock `name`, or says who has it. Reads `/proc`: blocking.
///
/// # Errors
/// When the kernel has no such sockets, or no room for one.
pub fn try_take(name: &str, note: &str) -> io::Result<Result<MeasureLock, String>> {
    match bind(name) {
        Ok(lock) => {
            let note = format!("{name}/process {}: {}", std::process::id(), plain(note, MAX_NOTE));
            // Without a note the others learn less; the lock is what counts.
            Ok(Ok(MeasureLock {
                lock,
                note: bind(&note).ok(),
            }))
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(Err(holder(name))),
        Err(error) => Err(error),
    }
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    // Nobody can leave anything in it.
    socket
        .shutdown(std::net::Shutdown::Both)
        .or_else(|error| match error.kind() {
            io::ErrorKind::NotConnected => Ok(()),
            _ => Err(error),
        })?;
    Ok(socket)
}

/// What the holder says about itself. Any user could say so: it is shown, and nothing depends on it.
fn holder(name: &str) -> String {
    let listed = std::fs::read(SOCKETS).unwrap_or_default();
    let mark = format!("@{name}/");
    String::from_utf8_lossy(&listed)
        .lines()
        .find_map(|line| Some(plain(line.split_once(&mark)?.1, 2 * MAX_NOTE)))
        .unwrap_or_else(|| "another process".to_owned())
}

/// Printable ASCII without slashes, not too long.
fn plain(text: &str, length: usize) -> String {
    let plain = |c: char| match c {
        '/' => '_',
        ' '..='~' => c,
        _ => '?',
    };
    text.chars().take(length).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(test: &str) -> String {
        format!("fleethold-{test}-{}", std::process::id())
    }

    #[test]
    fn one_at_a_time_on_the_machine_and_the_others_learn_who() {
        let name = own("one");
        let held = try_take(&name, "lookup of the server").unwrap().unwrap();
        let holder = try_take(&name, "restore").unwrap().unwrap_err();
        assert_eq!(
            holder,
            format!("process {}: lookup of the server", std::process::id())
        );
        drop(held);
        assert!(try_take(&name, "restore").unwrap().is_ok());
    }

    #[test]
    fn a_stranger_without_a_note_is_another_process() {
        let name = own("stranger");
        let stranger = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        assert_eq!(
            try_take(&name, "restore").unwrap().unwrap_err(),
            "another process"
        );
        drop(stranger);
        let long = "w\u{e4}\n/".repeat(100);
        assert!(try_take(&name, &long).unwrap().unwrap().note.is_some());
    }
}
