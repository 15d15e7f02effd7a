//! Whole profiles of this process. One at a time: its tests share it.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, raise};

use super::*;
use crate::clock;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(super) fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often a stack was met that `wanted` holds for.
pub(super) fn count(folded: &Folded, wanted: impl Fn(&str) -> bool) -> u64 {
    let of = folded.stacks().filter(|(stack, _)| wanted(stack));
    of.map(|(_, count)| count).sum()
}

#[inline(never)]
fn a_function_with_much_to_do() -> u64 {
    let start = clock::process_cpu();
    let mut sum = 0_u64;
    while clock::process_cpu() - start < Duration::from_millis(400) {
        for number in 0..10_000_u64 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    }
    sum
}

#[test]
fn stacks_name_what_ran_each_time() {
    let _alone = alone();
    for _ in 0..2 {
        let profile = Profile::start().unwrap();
        black_box(a_function_with_much_to_do());
        let folded = profile.finish().unwrap();
        let seen = count(&folded, |stack| stack.contains("a_function_with_much_to_do"));
        assert!(seen > 0, "{folded}");
        let cut = count(&folded, |stack| {
            stack.contains("a_function_with_much_to_do") && stack.contains("[cut]")
        });
        assert!(cut * 10 <= seen, "{cut} of {seen}: {folded}");
    }
}

#[test]
fn a_second_profile_at_the_same_time_is_refused() {
    let _alone = alone();
    let profile = Profile::start().unwrap();
    let refused = Profile::start().err().map(|error| error.to_string());
    assert_eq!(
        refused.as_deref(),
        Some("taking stacks: another profile of this process is running")
    );
    profile.finish().unwrap();
    drop(Profile::start().unwrap());
    Profile::start().unwrap().finish().unwrap();
}

#[inline(never)]
fn one_that_hashes(data: &[u8]) -> [u8; 32] {
    let digest = openssl::sha::sha256(data);
    // So that the call is not the last thing done here, and this frame stays.
    black_box(digest)
}

/// The time of a hash is spent where the stack pointer's way back lies on the stack itself.
#[test]
fn time_within_libcrypto_is_its_callers() {
    let _alone = alone();
    let data = vec![7_u8; 8 << 20];
    let profile = Profile::start().unwrap();
    let hash = move || {
        let start = clock::process_cpu();
        while clock::process_cpu() - start < Duration::from_millis(600) {
            black_box(one_that_hashes(&data));
        }
    };
    // Other tests may hash meanwhile.
    let thread = std::thread::Builder::new().name("hashing".to_owned());
    thread.spawn(hash).unwrap().join().unwrap();
    let folded = profile.finish().unwrap();
    let within = |stack: &str| stack.starts_with("hashing;") && stack.contains("[libcrypto");
    let all = count(&folded, within);
    let known = count(&folded, |stack| {
        within(stack) && stack.contains("one_that_hashes")
    });
    assert!(all > 0, "{folded}");
    assert!(known * 10 >= all * 9, "{known} of {all}: {folded}");
}

#[test]
fn each_thread_is_met_under_its_name() {
    let _alone = alone();
    let profile = Profile::start().unwrap();
    let threads: Vec<_> = ["stone", "paper", "scissors"]
        .into_iter()
        .map(|name| {
            let work = || {
                // Whatever the timer does: this thread has at least this one.
                raise(Signal::SIGPROF).unwrap();
                a_function_with_much_to_do()
            };
            std::thread::Builder::new()
                .name(format!("{name}-1"))
                .spawn(work)
                .unwrap()
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let folded = profile.finish().unwrap();
    for name in ["stone;", "paper;", "scissors;"] {
        assert!(count(&folded, |stack| stack.starts_with(name)) > 0, "{folded}");
    }
}

/// More signals at once than there are slots: each is counted, as a stack or as lost, and none waits.
#[test]
fn stacks_without_a_slot_are_counted() {
    let _alone = alone();
    let threads = 3 * signal::SLOTS;
    let each = 100;
    let profile = Profile::start().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..each {
                    raise(Signal::SIGPROF).unwrap();
                }
            });
        }
    });
    let folded = profile.finish().unwrap();
    let lost = count(&folded, |stack| stack == "[lost]");
    assert!(folded.total() >= (threads * each) as u64, "{}", folded.total());
    assert!(lost > 0 && lost < folded.total(), "{lost} of {}", folded.total());
}

/// A signal that is on its way when a profile ends must not meet what the process does by default: end.
#[test]
fn no_signal_is_left_behind() {
    let _alone = alone();
    for _ in 0..50 {
        let profile = Profile::start().unwrap();
        nix::sys::signal::kill(nix::unistd::getpid(), Signal::SIGPROF).unwrap();
        drop(profile);
    }
}
