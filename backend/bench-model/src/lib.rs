//! Benchmark statistics: samples in, one verdict out, printed the same everywhere.
//!
//! Pure: no clock, no I/O, no hidden chance (every draw has a seed).
//!
//! | module | holds |
//! |---|---|
//! | [`mod@unit`], [`series`] | the closed list of units with direction; identity of a series |
//! | [`sample`], [`order`] | raw samples in measured order; the random interleaving |
//! | [`quantile`], [`histogram`] | medians, quantiles, MAD, ECDF; log2 histograms |
//! | [`rank`], [`interval`], [`holm`] | Mann–Whitney, Hodges–Lehmann, bootstrap, Holm |
//! | [`modes`], [`noise`] | two peaks; noise of a series' own history |
//! | [`change_points`] | levels of a series over commits |
//! | [`verdict`] | the one verdict and its rules |
//! | [`matrix`], [`comparison`] | what was measured; the same with its verdicts, which every export prints |
//! | [`findings`] | what a comparison says of a metric, in the one sentence that page and exports print |
//! | [`mod@export`], [`mod@import`] | mail, Markdown, CSV, JSON, Go text, HTML; and files of other tools |
//! | [`pair`] | two imported files as one matrix |
//! | [`flame`] | folded stacks: merge, difference, layout, search |

pub mod between;
pub mod change_points;
pub mod comparison;
pub mod export;
pub mod findings;
pub mod flame;
pub mod histogram;
pub mod holm;
pub mod import;
pub mod interval;
pub mod matrix;
pub mod modes;
pub mod noise;
pub mod order;
pub mod pair;
pub mod quantile;
mod random;
pub mod rank;
pub mod sample;
pub mod series;
mod text;
pub mod unit;
pub mod verdict;
