//! Several processes with one configuration. Each `Fleet` that is opened has a slot of its own, so two in one process are two.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fleethold_fleet::{Fleet, FleetError, FleetOptions, Operation, Operations};

use super::{Place, TWO, name, wait_for};

/// Set for this test binary when it is the other process.
const CHILD: &str = "FLEETHOLD_TEST_CHILD_OF";
const PATIENCE: Duration = Duration::from_secs(20);

fn join(place: &Place) -> Fleet {
    try_join(place).unwrap()
}

fn try_join(place: &Place) -> Result<Fleet, FleetError> {
    let options = FleetOptions {
        run_dir: Some(place.directory.path().join("run")),
        ..FleetOptions::default()
    };
    Fleet::open_with(place.directory.path(), options)
}

#[test]
fn one_edit_is_one_step_whoever_makes_it() {
    let place = Place::new(Some(TWO));
    let (one, other) = (join(&place), join(&place));
    let generation = |fleet: &Fleet| fleet.stats().shared_generation;
    assert_eq!(
        (generation(&one), generation(&other)),
        (1, 1),
        "opened twice, one content"
    );
    assert_eq!(one.stats().processes, 2);

    one.store_remove(&name("beta")).unwrap();
    assert_eq!(generation(&other), 2);
    assert!(other.entry(&name("beta")).is_some(), "not read yet");
    assert!(!one.wait_published(Duration::from_millis(20)));
    assert!(other.refresh());
    assert!(other.entry(&name("beta")).is_none());
    assert!(one.wait_published(PATIENCE));
    assert_eq!(generation(&one), 2, "who follows does not step");

    place.write(TWO);
    assert!(one.refresh() && other.refresh());
    assert_eq!(
        (generation(&one), generation(&other)),
        (3, 3),
        "by hand, seen by two"
    );
    assert!(!one.refresh() && !other.refresh());
    assert_eq!(generation(&one), 3, "nothing changed");
    drop(other);
    assert_eq!(one.stats().processes, 1);
}

#[test]
fn a_broken_edit_is_no_step() {
    let place = Place::new(Some(TWO));
    let (one, other) = (join(&place), join(&place));
    place.write("datastore: alpha\n");
    assert!(one.refresh() && other.refresh());
    assert!(one.current().error.is_some() && other.entry(&name("beta")).is_some());
    assert_eq!(one.stats().shared_generation, 1);
    place.write(&TWO.replace("first one", "mended"));
    assert!(one.refresh());
    assert_eq!(one.stats().shared_generation, 2);
    assert!(
        !one.wait_published(Duration::from_millis(20)),
        "the other one has not looked"
    );
    other.refresh();
    assert!(one.wait_published(PATIENCE));
}

#[test]
fn who_only_holds_handles_is_not_waited_for() {
    let place = Place::new(Some(TWO));
    let one = join(&place);
    let held = join(&place).lookup(&name("alpha"), Operation::Read).unwrap();
    one.store_remove(&name("beta")).unwrap();
    assert!(one.wait_published(PATIENCE), "it begins nothing any more");
    assert_eq!(one.operations(&name("alpha")).reads, 1, "what it began counts");
    drop(held);
    assert_eq!(one.stats().processes, 1);
}

#[test]
fn operations_are_added_over_processes() {
    let place = Place::new(Some(TWO));
    let (one, other) = (join(&place), join(&place));
    let alpha = name("alpha");
    let sum = |reads, writes| assert_eq!(one.operations(&alpha), Operations { reads, writes });
    let read = one.lookup(&alpha, Operation::Read).unwrap();
    let write = other.lookup(&alpha, Operation::Write).unwrap();
    let looked = one.lookup(&alpha, Operation::Lookup).unwrap();
    sum(1, 1);
    let copy = write.clone();
    sum(1, 2);
    drop((write, looked));
    sum(1, 1);
    // A section that is rebuilt keeps its counts.
    place.write(&TWO.replace("first one", "another"));
    assert!(one.refresh() && other.refresh());
    sum(1, 1);
    drop((read, copy));
    sum(0, 0);
    assert!(one.operations(&name("nobody")).is_idle());
}

#[test]
fn a_process_that_was_killed_counts_no_more_and_its_slot_is_used_again() {
    let place = Place::new(Some(TWO));
    let fleet = join(&place);
    let alpha = name("alpha");
    let mut child = child(&place);
    assert_eq!(fleet.operations(&alpha).writes, 1);
    assert_eq!(fleet.stats().processes, 2);
    // What the child has not seen is waited for, as long as it lives.
    fleet.store_remove(&name("beta")).unwrap();
    assert!(!fleet.wait_published(Duration::from_millis(20)));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(fleet.wait_published(PATIENCE));
    assert!(fleet.operations(&alpha).is_idle());
    let second = join(&place);
    assert!(
        second.operations(&alpha).is_idle(),
        "what the dead one counted is gone"
    );
    assert_eq!(fleet.stats().processes, 2);
}

/// A process that holds a handle for writing to `alpha`.
fn child(place: &Place) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_other_process", "--nocapture"])
        .env(CHILD, place.directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let ready = place.directory.path().join("ready");
    wait_for("the other process", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        ready.exists()
    });
    child
}

#[test]
fn the_other_process() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let directory = std::path::PathBuf::from(directory);
    let options = FleetOptions {
        run_dir: Some(directory.join("run")),
        ..FleetOptions::default()
    };
    let fleet = Fleet::open_with(&directory, options).unwrap();
    let _held = fleet.lookup(&name("alpha"), Operation::Write).unwrap();
    std::fs::write(directory.join("ready"), "").unwrap();
    // Until it is killed, or who started it is gone.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn another_file_in_its_place_is_refused() {
    let place = Place::new(Some(TWO));
    drop(join(&place));
    let run = std::fs::read_dir(place.directory.path().join("run")).unwrap();
    let file = run.map(|entry| entry.unwrap().path()).next().unwrap();
    let good = std::fs::metadata(&file).unwrap().len();
    std::fs::write(&file, "something else").unwrap();
    let error = try_join(&place).unwrap_err().to_string();
    assert!(
        error.contains(".shm: expected") && error.contains("found 14"),
        "{error}"
    );
    let other = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    other.set_len(good).unwrap();
    let error = try_join(&place).unwrap_err().to_string();
    assert!(error.contains("expected magic"), "{error}");
}

#[test]
fn the_table_of_processes_is_bounded() {
    let place = Place::new(Some(TWO));
    let mut all: Vec<Fleet> = (0..64).map(|_| join(&place)).collect();
    let error = try_join(&place).unwrap_err().to_string();
    assert!(error.contains("all 64 processes"), "{error}");
    all.pop();
    join(&place);
}
