//! Restores through the public API: golden stores, a model, damage, faults, targets.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "in tests a panic is the failure, and what was not tested is said"
)]

mod damage;
mod golden;
mod model;
mod pipeline;
mod readers;
mod support;
mod target;
