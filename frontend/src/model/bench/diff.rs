//! The environments of two sides: what is equal, what differs, and where in the text.

use fleethold_api_types::bench::Version;

/// One fact of one or both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Of the first side; `None`: it has none.
    pub before: Option<String>,
    /// Of the second side.
    pub after: Option<String>,
}

impl Fact {
    /// The same on both sides.
    pub fn same(&self) -> bool {
        self.before == self.after
    }
}

/// All facts, those that differ first.
pub fn facts(before: &Version, after: &Version) -> Vec<Fact> {
    let mut names: Vec<&String> = before
        .environment
        .keys()
        .chain(after.environment.keys())
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut facts: Vec<Fact> = names
        .into_iter()
        .map(|name| Fact {
            name: name.clone(),
            before: before.environment.get(name).cloned(),
            after: after.environment.get(name).cloned(),
        })
        .collect();
    // a commit or tag is a fact; a sentence about the sides stands above already
    let tag = |v: &Version| !v.label.contains(' ');
    if before.label != after.label && tag(before) && tag(after) {
        facts.push(Fact {
            name: "version".into(),
            before: Some(before.label.clone()).filter(|l| !l.is_empty()),
            after: Some(after.label.clone()).filter(|l| !l.is_empty()),
        });
    }
    facts.sort_by_key(Fact::same);
    facts
}

/// A text in three parts, of which the middle one is what the other text does not have there.
pub fn parts<'a>(text: &'a str, other: &str) -> (&'a str, &'a str, &'a str) {
    let head: usize = text
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let (start, rest) = text.split_at(head);
    let other_rest = other.get(head..).unwrap_or_default();
    let tail: usize = rest
        .chars()
        .rev()
        .zip(other_rest.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let (middle, end) = rest.split_at(rest.len() - tail);
    (start, middle, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bench::testing::comparison;

    #[test]
    fn differences_come_first() {
        let mut c = comparison();
        c.after
            .environment
            .insert("governor".into(), "performance".into());
        let facts = facts(&c.before, &c.after);
        let names: Vec<_> = facts.iter().map(|f| (f.name.as_str(), f.same())).collect();
        assert_eq!(
            names,
            [
                ("governor", false),
                ("kernel", false),
                ("version", false),
                ("cpu", true)
            ]
        );
        assert_eq!(facts[0].before, None);
    }

    #[test]
    fn the_part_that_differs_is_found() {
        assert_eq!(parts("6.8.12-4-pve", "6.8.12-5-pve"), ("6.8.12-", "4", "-pve"));
        assert_eq!(parts("aa", "a"), ("a", "a", ""));
        assert_eq!(parts("", "x"), ("", "", ""));
        assert_eq!(parts("größe", "grüße"), ("gr", "ö", "ße"));
    }
}
