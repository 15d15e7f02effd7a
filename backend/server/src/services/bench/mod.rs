//! The benchmark lab: runs, imports, comparisons, series, curation.
//!
//! ```text
//! POST runs ─▶ Plan ─▶ BenchActor: queue ─▶ measure (one a machine, a process a sample) ─▶ keep ─▶ PostgreSQL
//!                          │                     │                                           │
//!                          └──▶ BenchTable ◀─────┴── progress, samples ─▶ live feed          └─▶ outbox, when it is away
//! ```

pub mod convert;
pub mod floors;
pub mod keep;
pub mod lab;
pub mod lock;
pub mod measure;
pub mod plan;
pub mod runs;
pub mod table;
pub mod workloads;
