//! Rank tests: Mann–Whitney U and the Hodges–Lehmann shift that belongs to it.
//!
//! Ranks need no assumption about the shape of the noise, and one wild sample cannot make or hide a difference.
//!
//! | file | holds | source |
//! |---|---|---|
//! | `u_counts` | how many orders give each U, exactly | Mann & Whitney 1947; Gaussian binomials |
//! | `mann_whitney` | two-sided p | `scipy.stats.mannwhitneyu`; Lehmann, *Nonparametrics* |
//! | `cost` | what a test and its interval cost | |
//! | `shift` | median of all differences with its interval | Hodges & Lehmann 1963; Hollander & Wolfe §4 |

mod cost;
mod mann_whitney;
mod shift;
mod u_counts;

pub(crate) use cost::steps;
pub use mann_whitney::{MannWhitney, Method, Used, mann_whitney, smallest_p};
pub use shift::{Shift, ratio, shift};

/// Why two samples cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// A side without values.
    #[error("compare {before} samples before with {after} after: expected at least one a side")]
    Empty {
        /// Values before.
        before: usize,
        /// Values after.
        after: usize,
    },
    /// NaN, or below zero where a ratio was asked for.
    #[error("compare samples: expected {expected}")]
    Value {
        /// What every value has to be.
        expected: &'static str,
    },
    /// A confidence that is none.
    #[error("confidence of an interval: expected more than 0 and less than 1")]
    Confidence,
}
