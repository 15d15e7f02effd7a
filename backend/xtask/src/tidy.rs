//! The rules no compiler knows. Each rule is a function from facts to findings, so that a test can give it
//! facts that break it; `the_repository_is_tidy` runs all of them on this checkout.

mod edges;
mod migrations;
mod sources;

use std::fmt;

use anyhow::{Result, bail};

use crate::repo::Repo;

/// One broken rule, at one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// File and line, or the crate's name.
    place: String,
    /// What is wrong and why it matters.
    message: String,
}

impl Finding {
    fn new(place: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            place: place.to_string(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Prints every finding and fails if there is one.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let findings = check(repo)?;
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy: {} findings", findings.len());
    }
    println!("tidy: nothing to say");
    Ok(())
}

fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let files = repo.tracked_files()?;
    let mut findings = edges::check(&edges::from_cargo(repo)?);
    findings.extend(migrations::check(&files));
    findings.extend(sources::check(repo, &files)?);
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = check(&Repo::find().unwrap()).unwrap();
        let text: Vec<_> = findings.iter().map(Finding::to_string).collect();
        assert!(findings.is_empty(), "{}", text.join("\n"));
    }
}
