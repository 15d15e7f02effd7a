//! The benchmark lab: workloads, each with an honest before and what exists as after, and what runs them.
//!
//! ```text
//! workload file ──▶ Definition ──▶ cells × sides × n, shuffled ──▶ a process per sample ──▶ Run (samples in order)
//!                       │                                              │
//!                       └─▶ data made by its seed, checked by its hash ┘
//! ```

mod cell;
mod clock;
mod cold;
mod counters;
pub mod data;
pub mod definition;
pub mod environment;
mod error;
pub mod floors;
pub mod guard;
pub mod measure;
mod measured;
mod noise;
pub mod profile;
pub mod record;
pub mod reparse;
pub mod runner;
pub mod server_state;
mod share;
mod usage;
pub mod worker;
mod workloads;

pub use cell::Cell;
pub use error::BenchError;
pub use measured::{Figure, Measured};
pub use noise::{Noise, noise_probe};
