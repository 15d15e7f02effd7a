//! Sessions that ended before their time, beside the hashes in `shadow.json`: so they stay ended when the server starts
//! again, and a password that is changed on the command line ends them, too.
//!
//! | key | value |
//! |---|---|
//! | `ann@pbs not-before` | epoch seconds: tickets issued earlier are refused |
//! | `ann@pbs logged-out` | issue times of single tickets that were logged out, separated by spaces |
//!
//! No user id holds a space, so no such key is taken for a user's, neither here nor by PBS. A ticket is known by user and
//! issue time: that is all it says. Both are forgotten once the tickets they end have expired anyway.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use fleethold_format::names::Userid;

use super::error::UserError;
use super::read_hashes;
use crate::auth::ticket::{CLOCK_TOLERANCE_S, TICKET_LIFETIME_S};

const NOT_BEFORE: &str = " not-before";
const LOGGED_OUT: &str = " logged-out";
/// Tickets of one user that are logged out one by one; the next log-out ends all of the user's tickets.
const MAX_LOGGED_OUT: usize = 100;

/// The entries of `shadow.json`: hashes by user, and those above.
pub(super) type Entries = BTreeMap<String, String>;

/// What ended of one user.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Ended {
    not_before: i64,
    logged_out: BTreeSet<i64>,
}

impl Ended {
    fn refuses(&self, issued: i64) -> bool {
        issued < self.not_before || self.logged_out.contains(&issued)
    }

    /// The time for a ticket that is issued at `now`: never one that is refused at once.
    fn issue_time(&self, now: i64) -> i64 {
        (now.max(self.not_before)..)
            .find(|time| !self.logged_out.contains(time))
            .unwrap_or(now)
    }

    /// Later than any ticket issued up to `now`, by this server or another process.
    fn end_all(&mut self, now: i64) -> i64 {
        let newest = self.logged_out.last().copied().unwrap_or(now);
        self.not_before = self.issue_time(now).max(newest) + 1;
        self.logged_out.clear();
        self.not_before
    }
}

/// The sessions that ended, of all users.
#[derive(Debug, Default)]
pub(super) struct Endings(HashMap<String, Ended>);

impl Endings {
    pub(super) fn read(path: &Path) -> Result<Self, UserError> {
        let entries = read_hashes(path)?;
        let user = |key: &String| {
            let user = key.strip_suffix(NOT_BEFORE).or(key.strip_suffix(LOGGED_OUT));
            user.map(|user| (user.to_owned(), of(&entries, user)))
        };
        Ok(Self(entries.keys().filter_map(user).collect()))
    }

    /// Whether a ticket of `user` issued at this time ended.
    pub(super) fn refuses(&self, user: &Userid, issued: i64) -> bool {
        self.0
            .get(user.as_str())
            .is_some_and(|ended| ended.refuses(issued))
    }

    /// When to issue a ticket to `user`, not before `now`.
    pub(super) fn issue_time(&self, user: &Userid, now: i64) -> i64 {
        self.0
            .get(user.as_str())
            .map_or(now, |ended| ended.issue_time(now))
    }
}

/// As [`Endings::issue_time`], from the entries that the password was compared with.
pub(super) fn issue_time(entries: &Entries, user: &Userid, now: i64) -> i64 {
    of(entries, user.as_str()).issue_time(now)
}

/// Ends all tickets of `user` issued so far; returns the first time that is good.
pub(super) fn end_all(entries: &mut Entries, user: &Userid, now: i64) -> i64 {
    let mut ended = of(entries, user.as_str());
    let first = ended.end_all(now);
    put(entries, user, ended, now);
    first
}

/// Ends the ticket of `user` issued at this time.
pub(super) fn end_one(entries: &mut Entries, user: &Userid, issued: i64, now: i64) {
    let mut ended = of(entries, user.as_str());
    ended.logged_out.insert(issued);
    // Bounded: who logs out that often loses the other sessions, too; a log-out is never forgotten for want of space.
    if ended.logged_out.len() > MAX_LOGGED_OUT {
        ended.end_all(now);
    }
    put(entries, user, ended, now);
}

fn of(entries: &Entries, user: &str) -> Ended {
    let text = |suffix| entries.get(&format!("{user}{suffix}")).map_or("", String::as_str);
    Ended {
        not_before: text(NOT_BEFORE).parse().unwrap_or(0),
        logged_out: text(LOGGED_OUT)
            .split(' ')
            .filter_map(|time| time.parse().ok())
            .collect(),
    }
}

fn put(entries: &mut Entries, user: &Userid, mut ended: Ended, now: i64) {
    // What is older has expired by itself.
    let oldest = now - TICKET_LIFETIME_S - CLOCK_TOLERANCE_S;
    ended.logged_out.retain(|issued| *issued >= oldest);
    let list: Vec<String> = ended.logged_out.iter().map(ToString::to_string).collect();
    entries.insert(format!("{user}{NOT_BEFORE}"), ended.not_before.to_string());
    entries.insert(format!("{user}{LOGGED_OUT}"), list.join(" "));
    entries.retain(
        |key, value| match (key.ends_with(NOT_BEFORE), key.ends_with(LOGGED_OUT)) {
            (true, _) => value.parse().is_ok_and(|time: i64| time >= oldest),
            (_, true) => value
                .split(' ')
                .any(|time| time.parse().is_ok_and(|time: i64| time >= oldest)),
            _ => true,
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_that_ended_stay_ended_and_new_ones_are_good_at_once() {
        let ann: Userid = "ann@pbs".parse().unwrap();
        let mut entries = Entries::from([("ann@pbs".into(), "$hash".into())]);
        let now = 1_800_000_000;
        assert_eq!(issue_time(&entries, &ann, now), now);
        end_one(&mut entries, &ann, now, now);
        assert!(of(&entries, "ann@pbs").refuses(now) && !of(&entries, "ann@pbs").refuses(now - 1));
        assert_eq!(
            issue_time(&entries, &ann, now),
            now + 1,
            "in the same second, too"
        );
        let first = end_all(&mut entries, &ann, now);
        assert_eq!(first, now + 2);
        assert!((now - 9..first).all(|issued| of(&entries, "ann@pbs").refuses(issued)));
        assert_eq!(issue_time(&entries, &ann, now), first);
        assert_eq!(end_all(&mut entries, &ann, now), first + 1, "twice in one second");

        for issued in 0..=MAX_LOGGED_OUT as i64 {
            end_one(&mut entries, &ann, now + 10 + issued, now);
        }
        assert!(of(&entries, "ann@pbs").logged_out.is_empty());
        assert!(of(&entries, "ann@pbs").refuses(now + 10));

        let bob: Userid = "bob@pbs".parse().unwrap();
        end_one(&mut entries, &bob, now + 20_000, now + 20_000);
        assert_eq!(entries.len(), 2, "what has expired is forgotten: {entries:?}");
        assert_eq!(entries["ann@pbs"], "$hash");
    }
}
