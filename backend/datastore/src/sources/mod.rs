//! The sources of chunks: a store's directory, memory, and decorators over any of them.

mod local;
mod memory;

pub use local::LocalSource;
pub use memory::MemorySource;
