//! The command line, as the real binary, on stores made by the reference implementation.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that meets something else than it expects is to stop there, and says what it could not test"
)]

mod admin;
mod bench;
mod bench_cold;
mod bench_history;
mod bench_interrupt;
mod bench_status;
mod check;
mod damage;
mod golden;
mod harness;
mod places;
mod refusals;
mod restore;
