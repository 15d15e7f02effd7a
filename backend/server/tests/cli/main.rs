//! The command line, as the real binary, on stores made by the reference implementation.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets something else than it expects is to stop there"
)]

mod admin;
mod check;
mod damage;
mod golden;
mod harness;
mod places;
mod refusals;
mod restore;
