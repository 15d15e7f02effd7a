//! Restores archives of a snapshot: plan, bounded pipeline, sinks.
//!
//! ```text
//! IndexFile ──▶ RestorePlan ──▶ RestoreEngine::execute
//!                                 │
//!                                 │   async, ≤ parallel outstanding      OS threads, shared by all jobs
//!                                 ├─▶ ChunkSource::fetch ──(bounded)──▶ decode, verify, write ──▶ Sink
//!                                 │            ▲                                    │
//!                                 └─ MemoryBudget: reserve before each fetch ◀──────┘ free
//! ```
//!
//! What holds for every job:
//! * Every chunk passes CRC, crypt mode, digest and length before one byte of it reaches the sink; the index passes the
//!   manifest's checksum before the first fetch, and again before the end.
//! * A file appears under its name only complete; a stream ends cleanly only complete.
//! * Memory stays within the engine's budget, whatever the number of jobs and chunks.
//! * Nothing is ever written to the datastore.

mod backlog;
mod blob;
mod budget;
mod buffers;
mod clock;
mod cpu_pool;
mod deliver;
mod engine;
pub mod error;
mod finish;
mod job;
mod ordered;
pub mod plan;
mod random;
pub mod report;
pub mod sink;
mod walk;

pub use blob::BlobRequest;
pub use budget::{BudgetStats, MIN_MEMORY_BYTES};
pub use engine::{EngineConfig, EngineStats, MAX_PARALLEL, RestoreEngine, RestoreRequest};
pub use error::{ChunkPlace, EngineError, PlanError, RestoreError, RestoreErrorKind};
pub use plan::{PlanCounts, PlanLimit, RestorePlan};
pub use report::{Outcome, Progress, ReportError, RestoreIdentity, RestoreReport};
pub use sink::{
    DeviceOptions, DeviceSink, FileOptions, FileSink, RestoreRoot, Sink, StreamAborted, StreamReceiver,
    StreamSink, TargetError, TargetPlace,
};
