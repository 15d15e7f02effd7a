//! A timer of the process's CPU time, its signal's handler, and the thread that reads what the handler leaves.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fleethold_bench_model::flame::Folded;
use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;

use super::drain::Drain;
use super::signal::Handler;
use super::{failed, names};
use crate::error::BenchError;

/// Stacks a second of CPU time; a prime, so that nothing periodic is always, or never, met.
const FREQUENCY_HZ: u32 = 499;

/// Takes stacks. What is here ends in this order: no timer, no signal, no reader.
pub(super) struct Sampler {
    timer: Timer,
    handler: Handler,
    drain: Drain,
    claim: Claim,
}

impl Sampler {
    /// Starts.
    ///
    /// # Errors
    /// As [`super::Profile::start`].
    pub(super) fn start() -> Result<Self, BenchError> {
        static RUNS: AtomicU64 = AtomicU64::new(1);
        let claim = Claim::take()?;
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let drain = Drain::start(run)?;
        let handler = Handler::install(run)?;
        let event = SigEvent::new(SigevNotify::SigevSignal {
            signal: Signal::SIGPROF,
            si_value: 0,
        });
        let mut timer = Timer::new(ClockId::CLOCK_PROCESS_CPUTIME_ID, event).map_err(failed)?;
        let every = Expiration::Interval(TimeSpec::from_duration(Duration::from_secs(1) / FREQUENCY_HZ));
        timer.set(every, TimerSetTimeFlags::empty()).map_err(failed)?;
        Ok(Self {
            timer,
            handler,
            drain,
            claim,
        })
    }

    /// Ends, and names what was met.
    ///
    /// # Errors
    /// As [`super::Profile::finish`].
    pub(super) fn finish(self) -> Result<Folded, BenchError> {
        drop(self.timer);
        drop(self.handler);
        let counts = self.drain.finish()?;
        drop(self.claim);
        Folded::parse(&names::text(&counts)).map_err(failed)
    }
}

/// That no other profile runs: a process has one handler.
struct Claim;

static CLAIMED: AtomicBool = AtomicBool::new(false);

impl Claim {
    fn take() -> Result<Self, BenchError> {
        if CLAIMED.swap(true, Ordering::AcqRel) {
            return Err(failed("another profile of this process is running"));
        }
        Ok(Self)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.store(false, Ordering::Release);
    }
}
