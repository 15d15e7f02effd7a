//! Cycles and instructions of this process, where the kernel counts them. Virtual machines often have no counters: then
//! there is a reason instead of a number.

use std::sync::{Mutex, OnceLock, PoisonError};

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

/// Events since the counters were opened, of this process's own code, without the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
}

struct Pair {
    cycles: Counter,
    instructions: Counter,
}

static OPEN: OnceLock<Result<Mutex<Pair>, String>> = OnceLock::new();

/// Opens the counters, once. Threads that are started later are counted, those that run already are not: this comes first
/// in a process that measures.
pub(crate) fn open() {
    OPEN.get_or_init(|| Pair::open().map(Mutex::new).map_err(|error| error.to_string()));
}

/// The events so far.
///
/// # Errors
/// Why there are no counters.
pub(crate) fn now() -> Result<Counts, String> {
    let pair = OPEN.get().ok_or("they were not opened")?;
    let pair = pair.as_ref().map_err(String::clone)?;
    let mut pair = pair.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Counts {
        cycles: read(&mut pair.cycles)?,
        instructions: read(&mut pair.instructions)?,
    })
}

impl Pair {
    fn open() -> std::io::Result<Self> {
        // The defaults leave the kernel out, which the usual settings let everybody do.
        let counter = |event| Builder::new(event).inherit(true).build();
        let mut pair = Self {
            cycles: counter(Hardware::CPU_CYCLES)?,
            instructions: counter(Hardware::INSTRUCTIONS)?,
        };
        pair.cycles.enable()?;
        pair.instructions.enable()?;
        Ok(pair)
    }
}

/// The number, unless the counter was lent to others for a while: an estimate is no measurement.
fn read(counter: &mut Counter) -> Result<u64, String> {
    let found = counter.read_count_and_time().map_err(|error| error.to_string())?;
    if found.time_running < found.time_enabled {
        return Err("other programs used the counters, too".to_owned());
    }
    Ok(found.count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With counters they count; without there is a reason. Never a zero that looks like a figure.
    #[test]
    fn a_number_or_a_reason() {
        open();
        let before = now();
        let mut sum = 0_u64;
        for number in 0..1_000_000_u64 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
        match (before, now()) {
            (Ok(before), Ok(after)) => {
                assert!(after.instructions - before.instructions > 1_000_000);
                assert!(after.cycles > before.cycles);
            }
            (Err(reason), _) | (_, Err(reason)) => assert!(!reason.is_empty()),
        }
    }
}
