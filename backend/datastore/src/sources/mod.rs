//! The sources of chunks: a store's directory, memory, and decorators over any of them.

mod faulty;
mod local;
mod memory;
mod recording;
mod throttle;

pub use faulty::{Fault, FaultRule, FaultySource};
pub use local::LocalSource;
pub(crate) use local::chunk_path;
pub use memory::MemorySource;
pub use recording::{RecordedStats, RecordingSource};
pub use throttle::{ThrottleProfile, ThrottledSource};

#[cfg(test)]
mod tests;
