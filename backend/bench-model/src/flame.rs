//! Flame graphs as values: folded stacks, their sum, their difference on one scale, and where each frame is drawn.
//!
//! | file | holds |
//! |---|---|
//! | `flame` | folded stacks: parse, merge, totals, text |
//! | `sweep` | frames with their totals on both sides, one after the other, never all at once |
//! | `layout` | rows of boxes for a flame or icicle view, search |

use std::collections::BTreeMap;
use std::fmt;

use crate::text::quote;

mod layout;
mod sweep;

pub use layout::{Frame, Layout, Limits, Match, Orientation, layout};

/// Deepest stack that is kept: deeper ones are refused, so nothing that walks frames has to fear their depth.
pub const MAX_DEPTH: usize = 512;
/// Different stacks that are kept at most, all files of a merge together. A profile has thousands.
pub const MAX_STACKS: usize = 1_000_000;
/// Longest name of a frame in bytes: more than any compiler's name of a generic function that a person could read.
pub const MAX_FRAME_NAME: usize = 4096;

/// Stacks with how often each was seen, as `perf script | stackcollapse` and a benchmark's own profile write them.
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
    /// [`FoldedError`] at the first line without a stack and a whole number, deeper than [`MAX_DEPTH`], with a name longer
    /// than [`MAX_FRAME_NAME`], with one stack more than [`MAX_STACKS`], or where all counts together are no `u64` any more.
    pub fn parse(text: &str) -> Result<Self, FoldedError> {
        let mut folded = Self::default();
        let mut total = 0_u64;
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
            let count: u64 = count.parse().map_err(|_| fail("a whole number at the end"))?;
            total = total
                .checked_add(count)
                .ok_or_else(|| fail("counts of less than 2^64 together"))?;
            let stack = stack.trim_end();
            if stack.is_empty() {
                return Err(fail("at least one frame"));
            }
            let mut depth = 0;
            for frame in stack.split(';') {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(fail(&format!("at most {MAX_DEPTH} frames")));
                }
                if frame.len() > MAX_FRAME_NAME {
                    return Err(fail(&format!("at most {MAX_FRAME_NAME} bytes of a frame's name")));
                }
            }
            folded
                .add(stack, count)
                .map_err(|()| fail(&format!("at most {MAX_STACKS} different stacks")))?;
        }
        Ok(folded)
    }

    /// Refuses a stack too many, and a count that has no room beside the one that is there.
    fn add(&mut self, stack: &str, count: u64) -> Result<(), ()> {
        if let Some(own) = self.0.get_mut(stack) {
            *own = own.checked_add(count).ok_or(())?;
            return Ok(());
        }
        if self.0.len() >= MAX_STACKS {
            return Err(());
        }
        self.0.insert(stack.to_owned(), count);
        Ok(())
    }

    /// Adds all stacks of `other`; says how often the stacks were seen that had no place any more ([`MAX_STACKS`], or a
    /// counter that is full).
    pub fn merge(&mut self, other: &Self) -> u64 {
        let mut left_out: u64 = 0;
        for (stack, count) in &other.0 {
            if self.add(stack, *count).is_err() {
                left_out = left_out.saturating_add(*count);
            }
        }
        left_out
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
        assert_eq!(one.merge(&Folded::parse("main;a 1\nidle 5\n").unwrap()), 0);
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
            ("a 18446744073709551616", 1),
            ("a 18446744073709551615\na 1\n", 2),
            ("a 18446744073709551615\nb 1\n", 2),
        ] {
            assert_eq!(Folded::parse(text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn what_is_too_much() {
        let frames = |count: usize| format!("{}a 1\n", "a;".repeat(count - 1));
        assert!(Folded::parse(&frames(MAX_DEPTH)).is_ok());
        let error = Folded::parse(&frames(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(error.expected, "at most 512 frames");
        let error = Folded::parse(&format!("a 1\nb;{} 1\n", "n".repeat(MAX_FRAME_NAME + 1))).unwrap_err();
        assert_eq!(
            (error.line, error.expected.as_str()),
            (2, "at most 4096 bytes of a frame's name")
        );
        let many: String = (0..=MAX_STACKS).map(|number| format!("{number} 1\n")).collect();
        let error = Folded::parse(&many).unwrap_err();
        assert_eq!(
            (error.line, error.expected.as_str()),
            (MAX_STACKS + 1, "at most 1000000 different stacks")
        );
    }
}
