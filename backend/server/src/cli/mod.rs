//! The command line.

pub mod values;
