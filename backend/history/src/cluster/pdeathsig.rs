//! Ending a child with its parent.

#![expect(unsafe_code, reason = "`pre_exec` is the only place between fork and exec")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Asks the kernel to send `signal` to the child when the *thread* that spawns it ends, however it ends. The thread has
/// to live as long as the child should.
pub(super) fn die_with_parent(command: &mut Command, signal: Signal) {
    let parent = rustix::process::getpid();
    let hook = move || {
        set_parent_process_death_signal(Some(signal))?;
        // The parent may have died before the line above took effect: nobody would tell us any more.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: the hook runs in the forked child, after the change of user (which would clear the setting). It makes
    // two system calls and builds errors without allocating, so it is async-signal-safe; it touches no shared state.
    unsafe { command.pre_exec(hook) };
}
