//! All stores as the page holds them: rows shared by pointer, merged from the feed, ordered on demand.

use std::{cmp::Ordering, collections::HashMap, rc::Rc};

use fleethold_api_types::{StoreRow, StoreState};

use crate::model::{format::ratio, search::Search};

/// A column one can sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Health, worst first when descending.
    State,
    /// Name.
    Name,
    /// Used share.
    Used,
    /// Size of the file system.
    Size,
    /// Snapshots.
    Snapshots,
    /// Newest backup.
    LastBackup,
    /// Failed verifications.
    Failed,
    /// Maintenance mode.
    Maintenance,
}

impl Column {
    /// Its word in the address.
    pub fn key(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Name => "name",
            Self::Used => "used",
            Self::Size => "size",
            Self::Snapshots => "snapshots",
            Self::LastBackup => "last",
            Self::Failed => "failed",
            Self::Maintenance => "maintenance",
        }
    }

    const ALL: [Self; 8] = [
        Self::State,
        Self::Name,
        Self::Used,
        Self::Size,
        Self::Snapshots,
        Self::LastBackup,
        Self::Failed,
        Self::Maintenance,
    ];
}

/// Column and direction; in the address `used` or `-used` (descending).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub column: Column,
    /// Largest first.
    pub descending: bool,
}

impl Default for Sort {
    /// Exceptions first.
    fn default() -> Self {
        Self {
            column: Column::State,
            descending: true,
        }
    }
}

impl Sort {
    /// Reads the address; anything unknown is the default.
    pub fn parse(text: &str) -> Self {
        let (descending, key) = text.strip_prefix('-').map_or((false, text), |key| (true, key));
        Column::ALL
            .into_iter()
            .find(|column| column.key() == key)
            .map_or_else(Self::default, |column| Self { column, descending })
    }

    /// As in the address; empty for the default.
    pub fn to_param(self) -> String {
        if self == Self::default() {
            return String::new();
        }
        format!("{}{}", if self.descending { "-" } else { "" }, self.column.key())
    }

    /// What a click on a column header asks for: figures largest first, names from A, again turns around.
    #[must_use]
    pub fn clicked(self, column: Column) -> Self {
        let descending = if self.column == column {
            !self.descending
        } else {
            column != Column::Name
        };
        Self { column, descending }
    }
}

/// The stores of the fleet.
#[derive(Debug, Default)]
pub struct Fleet {
    rows: Vec<Rc<StoreRow>>,
    by_name: HashMap<String, usize>,
    /// The list was fetched at least once.
    pub loaded: bool,
}

impl Fleet {
    /// Takes a whole list; rows that did not change keep their pointer.
    pub fn replace(&mut self, rows: Vec<StoreRow>) {
        let kept = rows
            .into_iter()
            .map(|row| match self.get(&row.name) {
                Some(old) if **old == row => old.clone(),
                _ => Rc::new(row),
            })
            .collect();
        self.rows = kept;
        self.by_name = self
            .rows
            .iter()
            .enumerate()
            .map(|(i, row)| (row.name.clone(), i))
            .collect();
        self.loaded = true;
    }

    /// Takes changed rows; unknown ones are appended. Says whether anything differs.
    pub fn merge(&mut self, changed: Vec<StoreRow>) -> bool {
        let mut differs = false;
        for row in changed {
            match self.by_name.get(&row.name).and_then(|i| self.rows.get_mut(*i)) {
                Some(slot) if **slot == row => {}
                Some(slot) => {
                    *slot = Rc::new(row);
                    differs = true;
                }
                None => {
                    self.by_name.insert(row.name.clone(), self.rows.len());
                    self.rows.push(Rc::new(row));
                    differs = true;
                }
            }
        }
        differs
    }

    /// One store.
    pub fn get(&self, name: &str) -> Option<&Rc<StoreRow>> {
        self.by_name.get(name).and_then(|i| self.rows.get(*i))
    }

    /// All rows.
    pub fn rows(&self) -> &[Rc<StoreRow>] {
        &self.rows
    }

    /// Number of stores.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// No store is configured.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Names of the rows that match, in order.
    pub fn order(&self, search: &Search, sort: Sort, now_s: i64) -> Vec<Rc<StoreRow>> {
        let mut rows: Vec<_> = self
            .rows
            .iter()
            .filter(|row| search.matches(row, now_s))
            .cloned()
            .collect();
        rows.sort_by(|a, b| {
            let by_column = if sort.descending {
                compare(b, a, sort.column)
            } else {
                compare(a, b, sort.column)
            };
            unknown_last(a, b, sort.column)
                .then(by_column)
                .then_with(|| natural(&a.name, &b.name))
        });
        rows
    }
}

/// Severity for sorting: an exception before what is merely not looked at yet.
fn severity(state: StoreState) -> u8 {
    match state {
        StoreState::Ok => 0,
        StoreState::Unknown => 1,
        StoreState::Maintenance => 2,
        StoreState::Warning => 3,
        StoreState::Offline => 4,
        StoreState::Error => 5,
    }
}

fn used(row: &StoreRow) -> Option<f64> {
    row.usage.as_ref().map(|u| ratio(u.used_bytes, u.total_bytes))
}

fn compare(a: &StoreRow, b: &StoreRow, column: Column) -> Ordering {
    match column {
        Column::State => severity(a.state).cmp(&severity(b.state)),
        Column::Name => natural(&a.name, &b.name),
        Column::Used => used(a).unwrap_or(-1.0).total_cmp(&used(b).unwrap_or(-1.0)),
        Column::Size => a
            .usage
            .map(|u| u.total_bytes)
            .cmp(&b.usage.map(|u| u.total_bytes)),
        Column::Snapshots => a.snapshots.cmp(&b.snapshots),
        Column::LastBackup => a.last_backup.cmp(&b.last_backup),
        Column::Failed => a.verify_failed.cmp(&b.verify_failed),
        Column::Maintenance => a
            .maintenance
            .as_ref()
            .map(|m| &m.mode)
            .cmp(&b.maintenance.as_ref().map(|m| &m.mode)),
    }
}

/// Rows without the figure stand at the end in either direction.
fn unknown_last(a: &StoreRow, b: &StoreRow, column: Column) -> Ordering {
    let known = |row: &StoreRow| match column {
        Column::Used | Column::Size => row.usage.is_some(),
        Column::Snapshots => row.snapshots.is_some(),
        Column::LastBackup => row.last_backup.is_some(),
        Column::Failed => row.verify_failed.is_some(),
        Column::Maintenance => row.maintenance.is_some(),
        Column::State | Column::Name => true,
    };
    known(b).cmp(&known(a))
}

/// `db-2` before `db-10`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.chars().peekable(), b.chars().peekable());
    loop {
        match (a.peek().copied(), b.peek().copied()) {
            (None, None) => return Ordering::Equal,
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let number = |it: &mut std::iter::Peekable<std::str::Chars<'_>>| {
                    let mut n = 0u64;
                    while let Some(d) = it.peek().and_then(|c| c.to_digit(10)) {
                        n = n.saturating_mul(10).saturating_add(u64::from(d));
                        it.next();
                    }
                    n
                };
                let order = number(&mut a).cmp(&number(&mut b));
                if order != Ordering::Equal {
                    return order;
                }
            }
            (Some(x), Some(y)) => {
                if x != y {
                    return x.cmp(&y);
                }
                a.next();
                b.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::search::tests::row;

    fn names(rows: &[Rc<StoreRow>]) -> Vec<&str> {
        rows.iter().map(|r| r.name.as_str()).collect()
    }

    #[test]
    fn a_merge_keeps_the_pointers_of_what_did_not_change() {
        let mut fleet = Fleet::default();
        fleet.replace(vec![row("a", StoreState::Ok, 1), row("b", StoreState::Ok, 2)]);
        let before = fleet.get("a").cloned().expect("there");
        assert!(!fleet.merge(vec![row("a", StoreState::Ok, 1)]));
        assert!(fleet.merge(vec![row("b", StoreState::Error, 2), row("c", StoreState::Ok, 3)]));
        fleet.replace(vec![row("a", StoreState::Ok, 1), row("c", StoreState::Ok, 3)]);
        assert!(Rc::ptr_eq(&before, fleet.get("a").expect("still there")));
        assert!(fleet.get("b").is_none() && fleet.len() == 2);
    }

    #[test]
    fn exceptions_come_first_and_unknown_figures_last() {
        let mut fleet = Fleet::default();
        let mut blind = row("blind", StoreState::Offline, 1);
        blind.usage = None;
        fleet.replace(vec![
            row("ok", StoreState::Ok, 9),
            blind,
            row("bad", StoreState::Error, 5),
        ]);
        let all = Search::default();
        assert_eq!(
            names(&fleet.order(&all, Sort::default(), 0)),
            ["bad", "blind", "ok"]
        );
        assert_eq!(
            names(&fleet.order(&all, Sort::parse("used"), 0)),
            ["bad", "ok", "blind"]
        );
        assert_eq!(
            names(&fleet.order(&all, Sort::parse("-used"), 0)),
            ["ok", "bad", "blind"]
        );
    }

    #[test]
    fn the_sort_survives_the_address() {
        for text in ["used", "-used", "name", "-last"] {
            assert_eq!(Sort::parse(text).to_param(), text);
        }
        assert_eq!(Sort::parse("nonsense"), Sort::default());
        assert_eq!(Sort::default().to_param(), "");
        let sort = Sort::default().clicked(Column::Used);
        assert!(sort.descending && !sort.clicked(Column::Used).descending);
        assert_eq!(natural("db-2", "db-10"), Ordering::Less);
        assert_eq!(natural("a", "a1"), Ordering::Less);
    }
}
