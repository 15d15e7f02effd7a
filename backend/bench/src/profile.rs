//! Where the time goes: stacks of this process, taken by the timer signal of its CPU time.

use fleethold_bench_model::flame::Folded;
use nix::sys::signal::{SigSet, Signal, raise};
use pprof::{ProfilerGuard, ProfilerGuardBuilder, Report};

use crate::error::BenchError;

/// Stacks a second of CPU time; a prime, so that nothing periodic is always, or never, met.
const FREQUENCY_HZ: i32 = 499;

/// Stacks are taken as long as this lives; one at a time in a process.
pub struct Profile(ProfilerGuard<'static>);

impl Profile {
    /// Starts.
    ///
    /// # Errors
    /// [`BenchError::Measured`] when the timer is not to be had, or another profile is running.
    pub fn start() -> Result<Self, BenchError> {
        make_tables()?;
        Ok(Self(guard(FREQUENCY_HZ)?))
    }

    /// Ends, and looks up the names: this takes seconds in a large binary.
    ///
    /// # Errors
    /// [`BenchError::Measured`]
    pub fn finish(self) -> Result<Folded, BenchError> {
        let report = self.0.report().build().map_err(failed)?;
        Folded::parse(&text(&report)).map_err(failed)
    }
}

/// The first signal makes the unwinder's tables, which takes memory: it must not come while memory is being taken, or the
/// heap breaks. So it is sent by hand, when this thread does nothing else, and under a timer that is not soon due in others.
fn make_tables() -> Result<(), BenchError> {
    let signal = SigSet::from(Signal::SIGPROF);
    signal.thread_block().map_err(failed)?;
    let guard = guard(1);
    let sent = if guard.is_ok() {
        raise(Signal::SIGPROF)
    } else {
        Ok(())
    };
    signal.thread_unblock().map_err(failed)?;
    guard?;
    sent.map_err(failed)
}

/// Takes so many stacks a second of CPU time until it is dropped.
fn guard(frequency_hz: i32) -> Result<ProfilerGuard<'static>, BenchError> {
    ProfilerGuardBuilder::default()
        .frequency(frequency_hz)
        // Unwinding within these may wait for a lock that the interrupted code holds.
        .blocklist(&["libgcc", "vdso"])
        .build()
        .map_err(failed)
}

/// Outermost frame first; the thread's name without its number is the first.
fn text(report: &Report) -> String {
    let mut text = String::new();
    for (stack, count) in &report.data {
        if *count <= 0 {
            continue;
        }
        let thread = stack
            .thread_name
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        let mut frames = vec![frame_name(if thread.is_empty() { "thread" } else { thread })];
        let symbols = stack.frames.iter().rev().flat_map(|frame| frame.iter().rev());
        frames.extend(symbols.map(|symbol| frame_name(&symbol.name())));
        text.push_str(&frames.join(";"));
        text.push_str(&format!(" {count}\n"));
    }
    text
}

/// What separates frames and stacks cannot be part of a name.
fn frame_name(name: &str) -> String {
    name.replace(';', ",").replace(['\n', '\r'], " ")
}

fn failed(error: impl std::fmt::Display) -> BenchError {
    BenchError::Measured {
        what: "taking stacks",
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn a_function_with_much_to_do() -> u64 {
        let start = crate::clock::process_cpu();
        let mut sum = 0_u64;
        while crate::clock::process_cpu() - start < std::time::Duration::from_millis(400) {
            for number in 0..10_000_u64 {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
            }
        }
        sum
    }

    #[test]
    fn stacks_name_what_ran() {
        let profile = Profile::start().unwrap();
        std::hint::black_box(a_function_with_much_to_do());
        let folded = profile.finish().unwrap();
        let here = |stack: &str| stack.contains("a_function_with_much_to_do");
        let seen: u64 = folded
            .stacks()
            .filter(|(stack, _)| here(stack))
            .map(|(_, count)| count)
            .sum();
        assert!(seen > 0, "{folded}");
    }
}
