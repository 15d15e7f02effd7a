//! The search grammar of the fleet: `state:warning used>80 name:db* -maintenance:any text`.
//!
//! Terms are separated by blanks and all must hold; `-` in front turns one around; `field:a,b` means a or b; `*` stands
//! for anything; `"…"` keeps blanks. A bare word is looked for in name, comment and path.

use fleethold_api_types::{StoreRow, StoreState};

use crate::model::format::ratio;

/// A parsed search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Search {
    terms: Vec<Term>,
    /// Terms that mean nothing; they are ignored and shown.
    pub problems: Vec<Misread>,
}

/// A term that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// As typed.
    pub term: String,
    /// What could stand there; empty when there is no list of it.
    pub expected: Vec<&'static str>,
}

/// The words in front of `:`, `<`, `>` and `=`.
const FIELDS: [&str; 12] = [
    "name:",
    "state:",
    "comment:",
    "path:",
    "maintenance:",
    "used>",
    "size>",
    "free>",
    "snapshots>",
    "groups>",
    "failed>",
    "age>",
];
const STATES: [StoreState; 6] = [
    StoreState::Ok,
    StoreState::Warning,
    StoreState::Error,
    StoreState::Offline,
    StoreState::Maintenance,
    StoreState::Unknown,
];

#[derive(Debug, Clone, PartialEq)]
struct Term {
    negated: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Word(String),
    Text(TextField, Vec<String>),
    Number(NumberField, Order, f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum TextField {
    Name,
    State,
    Comment,
    Path,
    Maintenance,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum NumberField {
    Used,
    Size,
    Free,
    Snapshots,
    Groups,
    Failed,
    Age,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    Less,
    LessEqual,
    Equal,
    GreaterEqual,
    Greater,
}

impl Search {
    /// Reads what was typed; never fails, but lists what it did not understand.
    pub fn parse(text: &str) -> Self {
        let mut search = Self::default();
        for token in tokens(text) {
            let (negated, body) = match token.strip_prefix('-') {
                Some(rest) if !rest.is_empty() => (true, rest),
                _ => (false, token.as_str()),
            };
            match test(body) {
                Ok(test) => search.terms.push(Term { negated, test }),
                Err(expected) => search.problems.push(Misread {
                    term: token,
                    expected,
                }),
            }
        }
        search
    }

    /// True when every row matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Does a row match? `now_s`: seconds since the epoch, for ages.
    pub fn matches(&self, row: &StoreRow, now_s: i64) -> bool {
        self.terms
            .iter()
            .all(|term| term.test.holds(row, now_s) != term.negated)
    }
}

/// The word of a state in a search and in links.
pub fn state_word(state: StoreState) -> &'static str {
    match state {
        StoreState::Unknown => "unknown",
        StoreState::Ok => "ok",
        StoreState::Maintenance => "maintenance",
        StoreState::Warning => "warning",
        StoreState::Error => "error",
        StoreState::Offline => "offline",
    }
}

/// The terms of a search as typed, for the chips above the grid.
pub fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut token = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                if !token.is_empty() {
                    out.push(std::mem::take(&mut token));
                }
            }
            c => token.push(c),
        }
    }
    if !token.is_empty() {
        out.push(token);
    }
    out
}

/// What a term asks, or what could stand in its place.
fn test(body: &str) -> Result<Test, Vec<&'static str>> {
    if let Some((field, order, value)) = comparison(body) {
        let field = match field.to_ascii_lowercase().as_str() {
            "used" | "usage" => NumberField::Used,
            "size" => NumberField::Size,
            "free" => NumberField::Free,
            "snapshots" => NumberField::Snapshots,
            "groups" => NumberField::Groups,
            "failed" => NumberField::Failed,
            "age" => NumberField::Age,
            _ => return Err(FIELDS.to_vec()),
        };
        let value = number(field, value).ok_or_else(Vec::new)?;
        return Ok(Test::Number(field, order, value));
    }
    if let Some((field, value)) = body.split_once(':') {
        let field = match field.to_ascii_lowercase().as_str() {
            "name" => TextField::Name,
            "state" => TextField::State,
            "comment" => TextField::Comment,
            "path" => TextField::Path,
            "maintenance" | "maint" => TextField::Maintenance,
            _ => return Err(FIELDS.to_vec()),
        };
        let choices: Vec<String> = value
            .split(',')
            .filter(|v| !v.is_empty())
            .map(str::to_lowercase)
            .collect();
        let states = || STATES.map(state_word).to_vec();
        let unknown = |choice: &String| !states().iter().any(|word| word.starts_with(choice.as_str()));
        return match field {
            TextField::State if choices.is_empty() || choices.iter().any(unknown) => Err(states()),
            _ if choices.is_empty() => Err(Vec::new()),
            _ => Ok(Test::Text(field, choices)),
        };
    }
    Ok(Test::Word(body.to_lowercase()))
}

fn comparison(body: &str) -> Option<(&str, Order, &str)> {
    let at = body.find(['<', '>', '='])?;
    let (field, rest) = body.split_at(at);
    let orders = [
        (">=", Order::GreaterEqual),
        ("<=", Order::LessEqual),
        (">", Order::Greater),
        ("<", Order::Less),
        ("=", Order::Equal),
    ];
    orders
        .into_iter()
        .find_map(|(sign, order)| rest.strip_prefix(sign).map(|value| (field, order, value)))
}

/// `80`, `80%`, `4TiB`, `36h`, `2d`: in percent, bytes, seconds or plain, as the field asks.
fn number(field: NumberField, text: &str) -> Option<f64> {
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (figure, unit) = text.split_at(split);
    let figure: f64 = figure.parse().ok()?;
    let factor = match (field, unit.to_ascii_lowercase().as_str()) {
        (NumberField::Used, "" | "%")
        | (NumberField::Snapshots | NumberField::Groups | NumberField::Failed, "") => 1.0,
        (NumberField::Size | NumberField::Free, unit) => match unit {
            "" | "b" => 1.0,
            "k" | "kib" => 1024.0,
            "m" | "mib" => 1024f64.powi(2),
            "g" | "gib" => 1024f64.powi(3),
            "t" | "tib" => 1024f64.powi(4),
            "p" | "pib" => 1024f64.powi(5),
            _ => return None,
        },
        (NumberField::Age, unit) => match unit {
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            "" | "d" => 86_400.0,
            "w" => 604_800.0,
            _ => return None,
        },
        _ => return None,
    };
    Some(figure * factor)
}

impl Test {
    fn holds(&self, row: &StoreRow, now_s: i64) -> bool {
        match self {
            Self::Word(word) => {
                contains(&row.name, word)
                    || contains(&row.path, word)
                    || row.comment.as_deref().is_some_and(|c| contains(c, word))
            }
            Self::Text(field, choices) => {
                let value = match field {
                    TextField::Name => row.name.as_str(),
                    TextField::State => state_word(row.state),
                    TextField::Comment => row.comment.as_deref().unwrap_or(""),
                    TextField::Path => &row.path,
                    TextField::Maintenance => row.maintenance.as_ref().map_or("none", |m| &m.mode),
                }
                .to_lowercase();
                choices.iter().any(|choice| match (field, choice.as_str()) {
                    (TextField::Maintenance, "any") => value != "none",
                    // a name without a star is a part of the name, a state is the beginning of its word
                    (TextField::State, prefix) => value.starts_with(prefix),
                    (_, part) if !part.contains('*') => value.contains(part),
                    (_, pattern) => glob(pattern, &value),
                })
            }
            Self::Number(field, order, wanted) => {
                let usage = row.usage.as_ref();
                let found = match field {
                    NumberField::Used => usage.map(|u| ratio(u.used_bytes, u.total_bytes) * 100.0),
                    NumberField::Size => usage.map(|u| u.total_bytes as f64),
                    NumberField::Free => usage.map(|u| u.available_bytes as f64),
                    NumberField::Snapshots => row.snapshots.map(|n| n as f64),
                    NumberField::Groups => row.groups.map(|n| n as f64),
                    NumberField::Failed => row.verify_failed.map(|n| n as f64),
                    NumberField::Age => row.last_backup.map(|t| (now_s - t.unix_timestamp()) as f64),
                };
                // what is not known matches no comparison
                found.is_some_and(|found| match order {
                    Order::Less => found < *wanted,
                    Order::LessEqual => found <= *wanted,
                    Order::Equal => (found - wanted).abs() < 1e-9,
                    Order::GreaterEqual => found >= *wanted,
                    Order::Greater => found > *wanted,
                })
            }
        }
    }
}

fn contains(haystack: &str, lower: &str) -> bool {
    haystack.to_lowercase().contains(lower)
}

/// `*` matches any run of characters; everything else itself.
fn glob(pattern: &str, value: &str) -> bool {
    let mut rest = value;
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return false };
    let Some(after) = rest.strip_prefix(first) else {
        return false;
    };
    rest = after;
    let parts: Vec<&str> = parts.collect();
    for (i, part) in parts.iter().enumerate() {
        if i + 1 == parts.len() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or(""),
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fleethold_api_types::{Maintenance, Usage};

    pub(crate) fn row(name: &str, state: StoreState, used: u64) -> StoreRow {
        StoreRow {
            name: name.into(),
            path: format!("/tank/{name}"),
            comment: Some("Mail, Vienna".into()),
            state,
            reason: None,
            maintenance: (state == StoreState::Maintenance).then(|| Maintenance {
                mode: "read-only".into(),
                message: None,
            }),
            usage: Some(Usage {
                total_bytes: 100 << 40,
                used_bytes: used << 40,
                available_bytes: (100 - used) << 40,
            }),
            namespaces: Some(1),
            groups: Some(2),
            snapshots: Some(3),
            verify_failed: Some(0),
            last_backup: time::OffsetDateTime::from_unix_timestamp(1_000_000).ok(),
            observed_at: None,
        }
    }

    fn hits(text: &str, row: &StoreRow) -> bool {
        let search = Search::parse(text);
        assert!(search.problems.is_empty(), "{:?}", search.problems);
        search.matches(row, 1_000_000 + 3 * 86_400)
    }

    #[test]
    fn every_term_must_hold() {
        let store = row("muc1-db-0412", StoreState::Error, 93);
        for text in [
            "",
            "db",
            "DB-04",
            "state:error",
            "state:err,warn",
            "used>80",
            "used>=93 used<=93",
            "name:muc1*12",
            "-state:ok",
            "free<8TiB",
            "age>2d",
            "age<1w",
            "vienna",
            "\"mail, v\"",
            "path:/tank*",
            "-maintenance:any",
            "snapshots=3",
        ] {
            assert!(hits(text, &store), "{text}");
        }
        for text in [
            "state:ok",
            "used<80",
            "name:db*",
            "-db",
            "age>4d",
            "maint:any",
            "db used>99",
        ] {
            assert!(!hits(text, &store), "{text}");
        }
        assert!(hits("maintenance:read*", &row("a", StoreState::Maintenance, 1)));
    }

    #[test]
    fn what_is_not_understood_is_listed_and_ignored() {
        let search = Search::parse("colour:red used>lots db used>5TiB state: state:ok,erorr -name:");
        let terms: Vec<_> = search.problems.iter().map(|p| p.term.as_str()).collect();
        assert_eq!(
            terms,
            [
                "colour:red",
                "used>lots",
                "used>5TiB",
                "state:",
                "state:ok,erorr",
                "-name:"
            ]
        );
        assert!(search.problems[0].expected.contains(&"state:"));
        assert!(search.problems[1].expected.is_empty());
        assert_eq!(
            search.problems[4].expected,
            ["ok", "warning", "error", "offline", "maintenance", "unknown"]
        );
        assert!(search.matches(&row("db", StoreState::Ok, 1), 0));
    }

    #[test]
    fn unknown_figures_match_no_comparison() {
        let mut store = row("a", StoreState::Offline, 1);
        store.usage = None;
        assert!(!hits("used<100", &store) && !hits("used>=0", &store));
    }

    #[test]
    fn globs() {
        assert!(glob("a*c", "abc") && glob("*", "") && glob("a*", "a") && glob("*b*", "abc"));
        assert!(!glob("a*c", "abd") && !glob("a*a", "a") && !glob("*b", "abc"));
    }
}
