//! Where the time goes: stacks of this process, taken by the timer signal of its CPU time.
//!
//! | file | holds |
//! |---|---|
//! | `sampler` | timer, handler and reader, started and ended in order |
//! | `signal` | within the signal: registers and stack are copied to a slot |
//! | `registers` | the processor's registers by number |
//! | `drain` | the thread that reads the slots and counts |
//! | `unwind` | from a copied stack to its calls |
//! | `expression` | what unwind data computes: addresses that lie on the stack themselves |
//! | `objects` | what is loaded, and its unwind data |
//! | `names` | from addresses to folded text |
//!
//! Within the signal nothing is looked up: unwind data may need memory, locks, and memory that is not there. The stack is
//! copied instead (its innermost 128 KiB), and read in a thread of its own. What that costs is CPU time of this process, so it
//! sets the timer off, too; the thread blocks the signal, which then meets another thread. So as many stacks more are taken
//! as the reader uses of the time, of whatever the others do just then; none shows the reader.
//!
//! What is not known is said: `[cut]` below a thread's name begins a stack whose outer end is missing, `[name.so]` is code
//! without a name in that file, and `[lost]` counts stacks that came faster than they were read.

use fleethold_bench_model::flame::Folded;

use crate::error::BenchError;

#[cfg(target_arch = "x86_64")]
mod drain;
#[cfg(target_arch = "x86_64")]
mod expression;
#[cfg(target_arch = "x86_64")]
mod names;
#[cfg(target_arch = "x86_64")]
mod objects;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod sampler;
#[cfg(target_arch = "x86_64")]
mod signal;
#[cfg(target_arch = "x86_64")]
mod unwind;

#[cfg(target_arch = "x86_64")]
use sampler::Sampler;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

/// Stacks are taken as long as this lives; one at a time in a process.
pub struct Profile(Sampler);

impl Profile {
    /// Starts.
    ///
    /// # Errors
    /// [`BenchError::Measured`] when the timer is not to be had, when another profile is running, or on a processor whose
    /// stacks this does not know.
    pub fn start() -> Result<Self, BenchError> {
        Sampler::start().map(Self)
    }

    /// Ends, and looks up the names: this takes seconds in a large binary.
    ///
    /// # Errors
    /// [`BenchError::Measured`]
    pub fn finish(self) -> Result<Folded, BenchError> {
        self.0.finish()
    }
}

/// There is none.
#[cfg(not(target_arch = "x86_64"))]
enum Sampler {}

#[cfg(not(target_arch = "x86_64"))]
impl Sampler {
    fn start() -> Result<Self, BenchError> {
        Err(failed(format!(
            "only made for x86_64 so far, not for {}",
            std::env::consts::ARCH
        )))
    }

    fn finish(self) -> Result<Folded, BenchError> {
        match self {}
    }
}

fn failed(error: impl std::fmt::Display) -> BenchError {
    BenchError::Measured {
        what: "taking stacks",
        reason: error.to_string(),
    }
}
