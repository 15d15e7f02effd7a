//! The benchmark lab: runs, imports, comparisons, series, curation.
//!
//! ```text
//! POST runs ─▶ Plan ─▶ BenchActor: queue ─▶ measure (one a machine, a process a sample) ─▶ keep ─▶ PostgreSQL
//!                          │                     │                                           │
//!                          └──▶ BenchTable ◀─────┴── progress, samples ─▶ live feed          └─▶ outbox, when it is away
//! ```

pub mod compare;
pub mod content;
pub mod convert;
pub mod curate;
pub mod encoded;
pub mod files;
pub mod flame;
pub mod floors;
pub mod import;
pub mod keep;
pub mod lab;
pub mod lock;
pub mod machines;
pub mod measure;
pub mod plan;
pub mod record;
pub mod runs;
pub mod series;
pub mod standing;
pub mod table;
pub mod turns;
pub mod upkeep;
pub mod webhook;
pub mod workloads;
