//! Lookups for an operation beside changes of the maintenance mode.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleethold_fleet::{Fleet, FleetOptions, LookupError, Operation};

use super::{Place, TWO, name, wait_for};

const OPEN: &str = "datastore: alpha\n\tpath /srv/alpha\n";
const OFFLINE: &str = "datastore: alpha\n\tmaintenance-mode offline\n\tpath /srv/alpha\n";

#[test]
fn a_mode_refuses_what_it_does_not_allow() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    let beta = name("beta");
    let error = fleet.lookup(&beta, Operation::Read).unwrap_err();
    assert!(matches!(error, LookupError::Maintenance { .. }));
    assert_eq!(
        error.to_string(),
        "datastore beta: offline maintenance mode: moving house"
    );
    assert!(fleet.operations(&beta).is_idle(), "refused is not counted");
    assert_eq!(fleet.lookup(&beta, Operation::Lookup).unwrap().name, beta);
    let error = fleet.lookup(&name("gamma"), Operation::Lookup).unwrap_err();
    assert!(matches!(error, LookupError::Unknown { .. }));
}

/// Once a mode is published everywhere and the count is zero, nobody is inside and nobody gets in.
#[test]
fn nobody_slips_through_between_a_mode_and_its_count() {
    let place = Place::new(Some(OPEN));
    let run_dir = Some(place.directory.path().join("run"));
    let open = || {
        let options = FleetOptions {
            run_dir: run_dir.clone(),
            ..FleetOptions::default()
        };
        Fleet::open_with(place.directory.path(), options).unwrap()
    };
    let (changer, follower) = (open(), open());
    let (inside, stop, entered) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(0));
    let alpha = name("alpha");
    /// Ends the other threads when a check fails, too.
    struct Stop<'s>(&'s AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    std::thread::scope(|scope| {
        let stopped = Stop(&stop);
        for fleet in [&changer, &follower] {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    if let Ok(handle) = fleet.lookup(&alpha, Operation::Write) {
                        inside.fetch_add(1, Ordering::SeqCst);
                        entered.fetch_add(1, Ordering::SeqCst);
                        std::hint::black_box(&handle);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                }
            });
        }
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                follower.refresh();
            }
        });
        for _ in 0..40 {
            place.write(OFFLINE);
            changer.refresh();
            assert!(changer.wait_published(Duration::from_secs(20)));
            wait_for("nobody inside", || changer.operations(&alpha).is_idle());
            for _ in 0..2000 {
                assert_eq!(inside.load(Ordering::SeqCst), 0);
                assert!(changer.operations(&alpha).is_idle() || inside.load(Ordering::SeqCst) == 0);
            }
            let before = entered.load(Ordering::SeqCst);
            place.write(OPEN);
            changer.refresh();
            wait_for("somebody inside again", || {
                entered.load(Ordering::SeqCst) != before
            });
        }
        drop(stopped);
    });
    assert!(changer.operations(&alpha).is_idle());
}

/// Opens with a list of the datastores that were to be closed.
fn watched(place: &Place) -> (Fleet, Arc<Mutex<Vec<String>>>) {
    let closed = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&closed);
    let options = FleetOptions {
        on_unused: Some(Arc::new(move |entry| {
            told.lock().unwrap().push(entry.name.to_string())
        })),
        ..FleetOptions::default()
    };
    (Fleet::open_with(place.directory.path(), options).unwrap(), closed)
}

#[test]
fn the_last_user_closes_what_is_gone_or_offline() {
    let place = Place::new(Some(OPEN));
    let (fleet, closed) = watched(&place);
    let closed = || std::mem::take(&mut *closed.lock().unwrap());
    let first = fleet.lookup(&name("alpha"), Operation::Read).unwrap();
    let second = first.clone();
    place.write(OFFLINE);
    fleet.refresh();
    drop(first);
    assert!(closed().is_empty(), "still in use");
    drop(second);
    assert_eq!(closed(), ["alpha"]);

    place.write(OPEN);
    fleet.refresh();
    assert!(closed().is_empty(), "it is wanted again");
    drop(fleet.lookup(&name("alpha"), Operation::Write).unwrap());
    assert!(closed().is_empty(), "an open one stays open");

    let held = fleet.lookup(&name("alpha"), Operation::Write).unwrap();
    place.write("");
    fleet.refresh();
    assert!(closed().is_empty());
    drop(held);
    assert_eq!(closed(), ["alpha"], "it is gone");
}

#[test]
fn what_nobody_uses_is_closed_by_the_change_itself() {
    let place = Place::new(Some(OPEN));
    let (fleet, closed) = watched(&place);
    place.write(OFFLINE);
    fleet.refresh();
    assert_eq!(*closed.lock().unwrap(), ["alpha"]);
}

#[test]
fn an_edit_to_and_fro_leaves_a_datastore_that_can_be_used() {
    let place = Place::new(Some(OPEN));
    let fleet = place.open();
    for text in [OFFLINE, OPEN, OFFLINE, OPEN] {
        place.write(text);
        assert!(fleet.refresh());
        let found = fleet.lookup(&name("alpha"), Operation::Write);
        assert_eq!(found.is_ok(), text == OPEN);
    }
    assert!(fleet.stats().cache_hits > 0, "the parsed ones are used again");
}
