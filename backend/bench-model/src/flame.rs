//! Flame graphs as values: folded stacks, their sum, their difference on one scale, and where each frame is drawn.
//!
//! | file | holds |
//! |---|---|
//! | `flame` | folded stacks: parse, merge, totals, text |
//! | `tree` | frames with their totals on both sides |
//! | `layout` | rows of boxes for a flame or icicle view, search |

use std::collections::BTreeMap;
use std::fmt;

use crate::text::quote;

mod layout;
mod tree;

pub use layout::{Frame, Layout, Match, Orientation, layout};

/// Deepest stack that is kept: deeper ones are refused, so nothing that walks a tree has to fear its depth.
pub const MAX_DEPTH: usize = 2048;

/// Stacks with how often each was seen, as `perf script | stackcollapse` and pprof write them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folded(BTreeMap<String, u64>);

/// A line that is no folded stack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("folded stacks, line {line}: expected {expected}, found `{found}`")]
pub struct FoldedError {
    /// The line, counted from 1.
    pub line: usize,
    /// What could stand there.
    pub expected: String,
    /// What stood there, shortened.
    pub found: String,
}

impl Folded {
    /// Reads lines `frame;frame;frame COUNT`, outermost frame first. Empty lines are skipped, equal stacks add up.
    ///
    /// # Errors
    /// [`FoldedError`] at the first line without a stack and a whole number, or deeper than [`MAX_DEPTH`].
    pub fn parse(text: &str) -> Result<Self, FoldedError> {
        let mut folded = Self::default();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim_end();
            if text.is_empty() {
                continue;
            }
            let fail = |expected: &str| FoldedError {
                line,
                expected: expected.to_owned(),
                found: quote(text),
            };
            let (stack, count) = text
                .rsplit_once(' ')
                .ok_or_else(|| fail("a stack, a space and a count"))?;
            let count = count.parse().map_err(|_| fail("a whole number at the end"))?;
            let stack = stack.trim_end();
            if stack.is_empty() {
                return Err(fail("at least one frame"));
            }
            if stack.split(';').count() > MAX_DEPTH {
                return Err(fail("at most 2048 frames"));
            }
            folded.add(stack, count);
        }
        Ok(folded)
    }

    fn add(&mut self, stack: &str, count: u64) {
        let own = self.0.entry(stack.to_owned()).or_default();
        *own = own.saturating_add(count);
    }

    /// Adds all stacks of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (stack, count) in &other.0 {
            self.add(stack, *count);
        }
    }

    /// How often any stack was seen.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Number of different stacks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no stack.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The stacks with their counts, in the order of their text.
    pub fn stacks(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(stack, count)| (stack.as_str(), *count))
    }
}

impl fmt::Display for Folded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (stack, count) in &self.0 {
            writeln!(f, "{stack} {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_merge_and_totals() {
        let mut one = Folded::parse("main;a 3\nmain;b b 2\n\nmain;a 1\n").unwrap();
        assert_eq!(one.to_string(), "main;a 4\nmain;b b 2\n");
        assert_eq!((one.total(), one.len()), (6, 2));
        one.merge(&Folded::parse("main;a 1\nidle 5\n").unwrap());
        assert_eq!(one.to_string(), "idle 5\nmain;a 5\nmain;b b 2\n");
    }

    #[test]
    fn what_is_no_stack() {
        for (text, line) in [
            ("main;a", 1),
            ("main 1\nmain;a x\n", 2),
            (" 3", 1),
            ("a -1", 1),
            ("a 1.5", 1),
        ] {
            assert_eq!(Folded::parse(text).unwrap_err().line, line, "{text}");
        }
        assert!(Folded::parse(&format!("{} 1", "a;".repeat(MAX_DEPTH))).is_err());
    }
}
