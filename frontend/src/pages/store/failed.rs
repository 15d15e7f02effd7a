//! The way from "one verification failed" to the snapshot it is about.

use fleethold_api_types::VerifyState;

use crate::api::{self, Outcome};

/// A snapshot: namespace and path.
pub(super) type Place = (String, String);

/// Looks through the store for a snapshot whose last verification failed: the first, or the one behind `after`, or the
/// first again behind the last. `expected` of them are known to be there: behind that many nothing is asked for.
pub(super) async fn find(store: &str, after: Option<&Place>, expected: u64) -> Outcome<Option<Place>> {
    let mut found = Vec::new();
    for namespace in api::namespaces(store).await? {
        for group in api::groups(store, &namespace.ns).await? {
            for entry in api::snapshots(store, &namespace.ns, &group.group).await? {
                if entry.verify == Some(VerifyState::Failed) {
                    found.push((namespace.ns.clone(), entry.snapshot));
                }
            }
            let enough = found.len() as u64 >= expected;
            if let Some(place) = choose(&found, after, enough) {
                return Ok(Some(place.clone()));
            }
        }
    }
    Ok(choose(&found, after, true).cloned())
}

/// The place to go to out of those found so far; `all`: there are no more.
fn choose<'a>(found: &'a [Place], after: Option<&Place>, all: bool) -> Option<&'a Place> {
    let Some(after) = after else {
        return found.first();
    };
    match found.iter().position(|place| place == after) {
        Some(at) => found.get(at + 1).or(found.first().filter(|_| all)),
        None => found.first().filter(|_| all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_snapshots_are_visited_one_after_the_other() {
        let place = |s: &str| (String::new(), s.to_owned());
        let found = [place("a"), place("b")];
        assert_eq!(choose(&found, None, false), found.first());
        assert_eq!(choose(&found, Some(&place("a")), false), found.get(1));
        assert_eq!(
            choose(&found, Some(&place("b")), false),
            None,
            "there may be a third"
        );
        assert_eq!(choose(&found, Some(&place("b")), true), found.first());
        assert_eq!(choose(&found, Some(&place("z")), true), found.first());
        assert_eq!(choose(&[], None, true), None);
    }
}
