//! A lookup and its drop ask neither the allocator nor the system for anything.
#![expect(unsafe_code, reason = "an allocator that counts can only be written so")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use fleethold_fleet::{Fleet, FleetOptions, Operation};
use fleethold_format::names::DatastoreName;
use rustix::thread::{SecureComputingMode, set_secure_computing_mode};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls of each thread.
struct Counting;

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the pointer came from `System.alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Set for this test binary when it is the process that may do nothing.
const CHILD: &str = "FLEETHOLD_TEST_QUIET_CHILD";
const DONE: &str = "looked up without a system call";
const STORES: usize = 100;

/// A fleet that other processes could join, and the names in it.
fn fleet(directory: &Path) -> (Fleet, Vec<DatastoreName>) {
    let name = |number: usize| format!("store-{number}");
    let text: String = (0..STORES)
        .map(|number| format!("datastore: {0}\n\tpath /srv/{0}\n\n", name(number)))
        .collect();
    std::fs::write(directory.join("datastore.cfg"), text).unwrap();
    let options = FleetOptions {
        run_dir: Some(directory.join("run")),
        ..FleetOptions::default()
    };
    let names = (0..STORES).map(|number| DatastoreName::parse(&name(number)).unwrap());
    (Fleet::open_with(directory, options).unwrap(), names.collect())
}

/// Every name for every operation, dropped at once and all together. Whether all were found.
fn look_up(fleet: &Fleet, names: &[DatastoreName], kept: &mut Vec<fleethold_fleet::StoreHandle>) -> bool {
    let mut all = true;
    for operation in [Operation::Lookup, Operation::Read, Operation::Write] {
        for name in names {
            all &= fleet.lookup(name, operation).is_ok();
        }
        kept.extend(names.iter().filter_map(|name| fleet.lookup(name, operation).ok()));
        all &= kept.len() == names.len();
        kept.clear();
    }
    all
}

#[test]
fn nothing_is_allocated() {
    let directory = tempfile::tempdir().unwrap();
    let (fleet, names) = fleet(directory.path());
    let mut kept = Vec::with_capacity(STORES);
    // The first lookup of a thread gets it a place among the readers.
    assert!(look_up(&fleet, &names, &mut kept));
    let before = ALLOCATIONS.with(Cell::get);
    let all = look_up(&fleet, &names, &mut kept);
    let after = ALLOCATIONS.with(Cell::get);
    assert!(all);
    assert_eq!(after - before, 0);
}

#[test]
fn nothing_is_asked_of_the_system() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_may_only_write", "--nocapture"])
        .env(CHILD, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let (send, done) = mpsc::channel();
    // At the first call its thread is killed and says nothing more, while the others of the process wait for it.
    let reader = std::thread::spawn(move || {
        let done = said.any(|line| line.is_ok_and(|line| line.contains(DONE)));
        // Nobody waits any more after the deadline.
        let _ = send.send(done);
    });
    let done = done.recv_timeout(Duration::from_secs(30));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    assert_eq!(done, Ok(true));
}

#[test]
fn the_process_that_may_only_write() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let (fleet, names) = fleet(Path::new(&directory));
    let mut kept = Vec::with_capacity(STORES);
    assert!(look_up(&fleet, &names, &mut kept));
    // Strict: read, write and the end of the thread are all that is left.
    set_secure_computing_mode(SecureComputingMode::Strict).unwrap();
    if look_up(&fleet, &names, &mut kept) {
        let text = format!("{DONE}\n");
        // Nothing can be done about an error here; who waits for the line misses it.
        let _ = rustix::io::write(std::io::stdout(), text.as_bytes());
    }
    loop {
        std::hint::spin_loop();
    }
}
