//! What the pages of the benchmark lab work out of the server's replies: verdicts in words, places on axes, figures.

pub mod diff;
pub mod distribution;
pub mod flame;
pub mod forest;
pub mod history;
pub mod live;
pub mod matrix;
pub mod samples;
pub mod verdict;

#[cfg(test)]
pub(crate) mod testing;
