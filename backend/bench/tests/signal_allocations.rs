//! Taking a stack takes no memory: the signal may come while its thread takes some, and then the heap breaks.
#![expect(unsafe_code, reason = "an allocator that watches can only be written so")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fleethold_bench::profile::Profile;
use nix::sys::signal::{SigSet, Signal};
use rustix::time::{ClockId, clock_gettime};

static WATCHED: AtomicBool = AtomicBool::new(false);
static WITHIN_THE_SIGNAL: AtomicU64 = AtomicU64::new(0);
static ALL: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Set in the threads whose stacks are taken; the profile's own thread takes memory, with the signal blocked.
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, counting the calls from within the profile's signal: only there a thread that works has it blocked.
struct Watching;

fn watch() {
    if WATCHED.load(Ordering::Relaxed) && WORKS.get() {
        ALL.fetch_add(1, Ordering::Relaxed);
        if SigSet::thread_get_mask().is_ok_and(|mask| mask.contains(Signal::SIGPROF)) {
            WITHIN_THE_SIGNAL.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        watch();
        // SAFETY: the pointer came from `System.alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        watch();
        // SAFETY: the pointer came from `System.alloc`, the rest is the caller's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Takes memory at many depths, so that the profile's tables meet many different stacks.
fn take_memory(depth: u64) -> usize {
    let map: BTreeMap<u64, String> = (0..8).map(|key| (key, format!("{key}-{depth}"))).collect();
    let below = if depth == 0 { 0 } else { take_memory(depth - 1) };
    black_box(map).len() + below
}

#[test]
fn no_memory_is_taken_within_the_signal() {
    let profile = Profile::start().unwrap();
    WATCHED.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                WORKS.set(true);
                // So much CPU time that the signal comes some thousand times, however fast the machine is.
                for round in (0..).take_while(|_| clock_gettime(ClockId::ProcessCPUTime).tv_sec < 3) {
                    black_box(take_memory(round % 90));
                }
            });
        }
    });
    WATCHED.store(false, Ordering::Relaxed);
    let folded = profile.finish().unwrap();
    let taken: u64 = folded.stacks().map(|(_, count)| count).sum();
    assert!(taken > 100, "the signal came too rarely: {taken} stacks");
    assert!(ALL.load(Ordering::Relaxed) > 0, "the allocator watches");
    assert_eq!(WITHIN_THE_SIGNAL.load(Ordering::Relaxed), 0);
}
