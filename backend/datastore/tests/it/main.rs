//! Tests of the whole crate against real directories.
#![expect(clippy::unwrap_used, reason = "a test's set-up that fails is a failed test")]

mod common;
mod damage;
mod fixture;
mod golden;
mod lock;
