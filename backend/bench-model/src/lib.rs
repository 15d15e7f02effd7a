//! Benchmark statistics: samples in, one verdict out, printed the same everywhere.
//!
//! Pure: no clock, no I/O, no hidden chance (every draw has a seed).
//!
//! | module | holds |
//! |---|---|
//! | [`unit`], [`series`] | the closed list of units with direction; identity of a series |
//! | [`sample`], [`order`] | raw samples in measured order; the random interleaving |
//! | [`quantile`], [`histogram`] | medians, quantiles, MAD, ECDF; log2 histograms |
//! | [`rank`], [`interval`], [`holm`] | Mann–Whitney, Hodges–Lehmann, bootstrap, Holm |

pub mod histogram;
pub mod holm;
pub mod interval;
pub mod order;
pub mod quantile;
mod random;
pub mod rank;
pub mod sample;
pub mod series;
mod text;
pub mod unit;
