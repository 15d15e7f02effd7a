//! Adding up what different test runners say.

use std::fmt;
use std::ops::AddAssign;

use serde::Deserialize;

/// Tests passed, failed and skipped.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    pub(crate) fn one_passed() -> Self {
        Self {
            passed: 1,
            ..Self::default()
        }
    }

    pub(crate) fn one_failed() -> Self {
        Self {
            failed: 1,
            ..Self::default()
        }
    }

    pub(crate) fn one_skipped() -> Self {
        Self {
            skipped: 1,
            ..Self::default()
        }
    }

    /// A runner that ended badly without naming a failed test (it did not compile, it crashed) has failed once.
    pub(crate) fn ended(self, well: bool) -> Self {
        if well || self.failed > 0 {
            self
        } else {
            Self { failed: 1, ..self }
        }
    }

    /// Adds a `test result: ok. 3 passed; 0 failed; 1 ignored; …` line of cargo test; other lines are nothing.
    pub(crate) fn add_cargo_line(&mut self, line: &str) {
        let Some((_, numbers)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for part in numbers.split(';') {
            match part.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => self.skipped += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// Adds the closing line `3 passed, 0 failed` of our own scripts.
    pub(crate) fn add_closing_line(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        if let (Some(passed), Some("passed,"), Some(failed), Some("failed"), None) = (
            words.next(),
            words.next(),
            words.next(),
            words.next(),
            words.next(),
        ) && let (Ok(passed), Ok(failed)) = (passed.parse::<u64>(), failed.parse::<u64>())
        {
            self.passed += passed;
            self.failed += failed;
        }
    }

    /// Reads the `stats` of Playwright's JSON report. A flaky test is a failed one.
    pub(crate) fn from_playwright(report: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Report {
            stats: Stats,
        }
        #[derive(Deserialize)]
        struct Stats {
            expected: u64,
            unexpected: u64,
            flaky: u64,
            skipped: u64,
        }
        let Stats {
            expected,
            unexpected,
            flaky,
            skipped,
        } = serde_json::from_str::<Report>(report)?.stats;
        Ok(Self {
            passed: expected,
            failed: unexpected + flaky,
            skipped,
        })
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_lines_add_up_and_others_are_nothing() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "7 passed",
        ] {
            counts.add_cargo_line(line);
        }
        assert_eq!(
            counts,
            Counts {
                passed: 7,
                failed: 2,
                skipped: 1
            }
        );
        assert_eq!(counts.to_string(), "7 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn our_scripts_closing_line() {
        let mut counts = Counts::default();
        counts.add_closing_line("5 passed, 1 failed");
        counts.add_closing_line("it said 5 passed, 1 failed");
        assert_eq!(
            counts,
            Counts {
                passed: 5,
                failed: 1,
                skipped: 0
            }
        );
    }

    #[test]
    fn playwrights_report() {
        let report =
            r#"{"stats": {"expected": 9, "unexpected": 1, "flaky": 1, "skipped": 2, "duration": 1.5}}"#;
        assert_eq!(
            Counts::from_playwright(report).unwrap(),
            Counts {
                passed: 9,
                failed: 2,
                skipped: 2
            }
        );
    }

    #[test]
    fn a_crash_is_a_failure() {
        assert_eq!(Counts::default().ended(false).failed, 1);
        assert_eq!(
            Counts {
                failed: 3,
                ..Counts::default()
            }
            .ended(false)
            .failed,
            3
        );
        assert_eq!(Counts::one_passed().ended(true).failed, 0);
    }
}
