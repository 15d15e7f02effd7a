//! The thread that turns what the signal left into counted stacks, while the next ones come.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

use super::expression::Memory;
use super::objects::Objects;
use super::signal::{self, NAME_BYTES, Taken};
use super::unwind::{Calls, Unwinder};
use crate::error::BenchError;

/// How long a stack waits at most. At 499 a second and processor, this is far from filling the slots.
const EVERY: Duration = Duration::from_millis(5);
/// Different stacks that are kept; others are counted as lost.
const MAX_STACKS: usize = 100_000;

/// A stack and the name of its thread.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Stack {
    /// Of the thread, up to the first zero.
    pub(super) thread: [u8; NAME_BYTES],
    /// What it did.
    pub(super) calls: Calls,
}

/// All that was taken.
#[derive(Default)]
pub(super) struct Counts {
    /// How often each stack was met.
    pub(super) stacks: HashMap<Stack, u64>,
    /// Stacks there was no room for.
    pub(super) lost: u64,
    /// Where the places lie.
    pub(super) objects: Objects,
}

impl Counts {
    fn add(&mut self, unwinder: &mut Unwinder, taken: &Taken) {
        let memory = Memory {
            start: taken.start,
            bytes: taken.stack(),
        };
        let stack = Stack {
            thread: taken.name,
            calls: unwinder.calls(&taken.registers, memory),
        };
        if let Some(count) = self.stacks.get_mut(&stack) {
            *count += 1;
        } else if self.stacks.len() < MAX_STACKS {
            self.stacks.insert(stack, 1);
        } else {
            self.lost += 1;
        }
    }
}

/// The thread; dropped, it ends too, and what it counted is gone.
pub(super) struct Drain {
    /// Nothing is ever sent: its end is the sign.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Counts>>,
}

impl Drain {
    /// Starts the thread, for the stacks of `run`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(super) fn start(run: u64) -> Result<Self, BenchError> {
        let (stop, stopped) = channel();
        // A thread begins with the mask of who starts it: no signal is ever handled in this one.
        let before = SigSet::from(Signal::SIGPROF)
            .thread_swap_mask(SigmaskHow::SIG_BLOCK)
            .map_err(super::failed)?;
        let thread = std::thread::Builder::new()
            .name("stacks".to_owned())
            .spawn(move || {
                let (mut counts, mut unwinder) = (Counts::default(), Unwinder::new());
                while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    unwinder.refresh();
                    signal::each_taken(run, |taken| counts.add(&mut unwinder, taken));
                }
                signal::settle();
                signal::each_taken(run, |taken| counts.add(&mut unwinder, taken));
                counts.lost += signal::lost();
                counts.objects = unwinder.into_objects();
                counts
            });
        before.thread_set_mask().map_err(super::failed)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread.map_err(super::failed)?),
        })
    }

    /// Ends the thread and gives what it counted. No signal may come any more.
    ///
    /// # Errors
    /// When the thread panicked.
    pub(super) fn finish(mut self) -> Result<Counts, BenchError> {
        self.end()
            .ok_or_else(|| super::failed("the thread that counts them panicked"))
    }

    fn end(&mut self) -> Option<Counts> {
        drop(self.stop.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.end();
    }
}
