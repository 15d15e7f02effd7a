//! What happens within the signal: registers and the stack's bytes are copied to a slot that is there already.
//!
//! Nothing here takes memory or waits for a lock: the interrupted code may hold either. The slots are static, so even a
//! handler that is late writes to memory that stays.
#![expect(
    unsafe_code,
    reason = "a handler, what it finds in its context, and slots that it shares with a thread have no safe interface"
)]

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use super::registers::{COUNT, Registers, SP};
use crate::clock;
use crate::error::BenchError;

/// Stacks that wait at most; those that come meanwhile are counted only.
pub(super) const SLOTS: usize = 64;
/// Most that is copied of a stack, in bytes.
const STACK_BYTES: usize = 128 << 10;
/// What a function may use below its stack pointer.
const RED_ZONE: u64 = 128;
/// Bytes of a thread's name, the closing zero among them.
pub(super) const NAME_BYTES: usize = 16;
/// The copy is asked for in pieces that lie in one page each: one that is not there ends it, and takes no other along.
const PIECE: usize = 4096;
const PIECES: usize = STACK_BYTES / PIECE + 1;

const FREE: u8 = 0;
const BUSY: u8 = 1;
const FULL: u8 = 2;
const READ: u8 = 3;

/// What the handler leaves.
pub(super) struct Taken {
    /// Of the thread, up to the first zero.
    pub(super) name: [u8; NAME_BYTES],
    /// Where it was interrupted.
    pub(super) registers: Registers,
    /// The address of the first of `stack`'s bytes.
    pub(super) start: u64,
    run: u64,
    length: usize,
    stack: [u8; STACK_BYTES],
}

impl Taken {
    /// The stack's bytes from `start` up.
    pub(super) fn stack(&self) -> &[u8] {
        self.stack.get(..self.length).unwrap_or_default()
    }
}

struct Slot {
    state: AtomicU8,
    taken: UnsafeCell<Taken>,
}

// SAFETY: `taken` is only touched by who moved `state` from FREE to BUSY or from FULL to READ, until they move it on.
unsafe impl Sync for Slot {}

static SLOT: [Slot; SLOTS] = [const {
    Slot {
        state: AtomicU8::new(FREE),
        taken: UnsafeCell::new(Taken {
            name: [0; NAME_BYTES],
            registers: [0; COUNT],
            start: 0,
            run: 0,
            length: 0,
            stack: [0; STACK_BYTES],
        }),
    }
}; SLOTS];

/// Which profile stacks are taken for; 0 when for none.
static RUN: AtomicU64 = AtomicU64::new(0);
/// Stacks that found no free slot.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Hands each full slot of a profile to `look` and frees it. Those of an earlier one are freed only.
pub(super) fn each_taken(run: u64, mut look: impl FnMut(&Taken)) {
    for slot in &SLOT {
        let full = slot
            .state
            .compare_exchange(FULL, READ, Ordering::Acquire, Ordering::Relaxed);
        if full.is_err() {
            continue;
        }
        // SAFETY: this thread moved the slot from FULL to READ; nobody else touches it before it is FREE.
        let taken = unsafe { &*slot.taken.get() };
        if taken.run == run {
            look(taken);
        }
        slot.state.store(FREE, Ordering::Release);
    }
}

/// Waits until no handler fills a slot any more, at most for a second: a thread may be stopped within its handler.
pub(super) fn settle() {
    let start = clock::now();
    let busy = || SLOT.iter().any(|slot| slot.state.load(Ordering::Acquire) == BUSY);
    while busy() && clock::since(start) < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How many stacks found no free slot since the handler was put in place.
pub(super) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// The handler of SIGPROF as long as this lives; then what was there before.
pub(super) struct Handler {
    before: SigAction,
}

impl Handler {
    /// Stacks of `run`, which is not 0, are taken from now on.
    ///
    /// # Errors
    /// When this process may not read its own memory through the kernel, or may not have the handler.
    pub(super) fn install(run: u64) -> Result<Self, BenchError> {
        let (probe, mut copy) = ([0x5a_u8; 64], [0_u8; 64]);
        let address = probe.as_ptr().addr() as u64;
        // SAFETY: `copy` is this function's own.
        let length = unsafe { copy_memory(address, copy.as_mut_ptr(), copy.len()) };
        if length != copy.len() || copy != probe {
            return Err(super::failed(format!(
                "reading this process's own memory: {}",
                Errno::last()
            )));
        }
        LOST.store(0, Ordering::Relaxed);
        let action = SigAction::new(
            SigHandler::SigAction(on_signal),
            SaFlags::SA_SIGINFO | SaFlags::SA_RESTART,
            SigSet::empty(),
        );
        // SAFETY: `on_signal` does only what may be done within a signal.
        let before = unsafe { sigaction(Signal::SIGPROF, &action) }.map_err(super::failed)?;
        RUN.store(run, Ordering::Release);
        Ok(Self { before })
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        RUN.store(0, Ordering::Release);
        let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
        // The timer is gone. To ignore the signal drops those on their way, which the handler from before, by default the
        // process's end, must not meet.
        for action in [&ignore, &self.before] {
            // SAFETY: one does nothing, the other was in place before.
            if let Err(error) = unsafe { sigaction(Signal::SIGPROF, action) } {
                tracing::warn!(%error, "the handler of SIGPROF stays");
                return;
            }
        }
    }
}

extern "C" fn on_signal(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let before = Errno::last_raw();
    // SAFETY: the kernel hands every SA_SIGINFO handler the context it interrupted.
    let context = unsafe { context.cast::<libc::ucontext_t>().as_ref() };
    if let Some(context) = context {
        take(context);
    }
    Errno::set_raw(before);
}

fn take(context: &libc::ucontext_t) {
    let run = RUN.load(Ordering::Acquire);
    if run == 0 {
        return;
    }
    let claimed = SLOT.iter().find(|slot| {
        slot.state
            .compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    });
    let Some(slot) = claimed else {
        LOST.fetch_add(1, Ordering::Relaxed);
        return;
    };
    // SAFETY: this handler moved the slot from FREE to BUSY; nobody else touches it before it is FULL.
    let taken = unsafe { &mut *slot.taken.get() };
    taken.run = run;
    taken.registers = super::registers::interrupted(context);
    taken.name = [0; NAME_BYTES];
    // SAFETY: the kernel writes at most 16 bytes, the closing zero among them.
    unsafe { libc::prctl(libc::PR_GET_NAME, taken.name.as_mut_ptr()) };
    taken.start = taken.registers[SP].saturating_sub(RED_ZONE);
    // SAFETY: the slot's bytes are this handler's alone.
    taken.length = unsafe { copy_memory(taken.start, taken.stack.as_mut_ptr(), STACK_BYTES) };
    slot.state.store(FULL, Ordering::Release);
}

/// Copies what is there of `length` bytes at `from`; says how much. The kernel does it: memory that is not there ends the
/// copy instead of the process.
///
/// # Safety
/// `to` has room for `length` bytes, which nobody else touches.
unsafe fn copy_memory(from: u64, to: *mut u8, length: usize) -> usize {
    let none = libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    };
    let mut pieces = [none; PIECES];
    let (mut count, mut done) = (0, 0);
    for piece in &mut pieces {
        let Some(at) = usize::try_from(from).ok().and_then(|from| from.checked_add(done)) else {
            break;
        };
        if done >= length {
            break;
        }
        let size = (PIECE - at % PIECE).min(length - done);
        *piece = libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(at),
            iov_len: size,
        };
        done += size;
        count += 1;
    }
    let local = libc::iovec {
        iov_base: to.cast(),
        iov_len: done,
    };
    // SAFETY: the kernel writes to `to` only, which the caller vouches for, and checks every address it reads.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, pieces.as_ptr(), count, 0) };
    usize::try_from(copied).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use nix::sys::signal::raise;

    use super::super::Profile;
    use super::super::tests::{alone, count};
    use super::*;

    #[inline(never)]
    fn within_another_handler() {
        black_box(raise(Signal::SIGPROF)).unwrap();
    }

    extern "C" fn on_another_signal(_signal: c_int) {
        within_another_handler();
    }

    #[inline(never)]
    fn who_was_interrupted() {
        black_box(raise(Signal::SIGUSR2)).unwrap();
    }

    #[test]
    fn a_stack_goes_on_below_a_handler() {
        let _alone = alone();
        let action = SigAction::new(
            SigHandler::Handler(on_another_signal),
            SaFlags::empty(),
            SigSet::empty(),
        );
        // SAFETY: the handler only raises a signal.
        let before = unsafe { sigaction(Signal::SIGUSR2, &action) }.unwrap();
        let profile = Profile::start().unwrap();
        who_was_interrupted();
        let folded = profile.finish().unwrap();
        // SAFETY: it was in place before.
        unsafe { sigaction(Signal::SIGUSR2, &before) }.unwrap();
        let both = |stack: &str| {
            let frames: Vec<_> = stack.split(';').collect();
            let at = |name| frames.iter().position(|frame| frame.ends_with(name));
            !frames.contains(&"[cut]")
                && at("who_was_interrupted").is_some_and(|outer| at("within_another_handler") > Some(outer))
        };
        assert!(count(&folded, both) > 0, "{folded}");
    }
}
