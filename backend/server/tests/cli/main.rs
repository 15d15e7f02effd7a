//! The command line, as the real binary, on stores made by the reference implementation.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod admin;
mod check;
mod damage;
mod golden;
mod harness;
mod refusals;
mod restore;
