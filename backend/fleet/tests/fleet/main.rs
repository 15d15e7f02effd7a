//! The fleet against files on disk: what is published, what is kept, what is written.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod operations;
mod processes;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use fleethold_fleet::config_file;
use fleethold_fleet::{Fleet, FleetOptions, MaintenanceMode, Operation};
use fleethold_format::names::DatastoreName;

const TWO: &str = "datastore: alpha\n\tcomment first one\n\tgc-schedule daily\n\tpath /srv/alpha\n\tfuture-property kept as it is\n\n\
                   datastore: beta\n\tmaintenance-mode type=offline,message=moving%20house\n\tpath /srv/beta\n";

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(text: Option<&str>) -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        if let Some(text) = text {
            place.write(text);
        }
        place
    }
    fn file(&self) -> PathBuf {
        self.directory.path().join("datastore.cfg")
    }
    fn write(&self, text: &str) {
        std::fs::write(self.file(), text).unwrap();
    }
    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }
    fn open(&self) -> Fleet {
        Fleet::open_with(
            self.directory.path(),
            FleetOptions {
                lock_timeout: Duration::from_millis(50),
                ..FleetOptions::default()
            },
        )
        .unwrap()
    }
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Waits for something, 20 s at most.
fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if there() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{what}: not within 20 s");
}

fn name(text: &str) -> DatastoreName {
    DatastoreName::parse(text).unwrap()
}

#[test]
fn a_missing_file_means_no_datastores() {
    let place = Place::new(None);
    let fleet = place.open();
    let generation = fleet.current();
    assert_eq!(generation.stores.len(), 0);
    assert_eq!(generation.error, None);
    assert_eq!(
        generation.digest_hex(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert!(!fleet.refresh());
    assert!(place.files().is_empty(), "reading creates nothing");
    assert!(
        Fleet::open(Path::new("/nonexistent/etc"))
            .unwrap()
            .current()
            .error
            .is_none()
    );
}

#[test]
fn entries_are_parsed_and_looked_up_without_the_file() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    std::fs::remove_file(place.file()).unwrap();
    let alpha = fleet.entry(&name("alpha")).unwrap();
    assert_eq!(
        (alpha.path.as_path(), alpha.comment.as_deref()),
        (Path::new("/srv/alpha"), Some("first one"))
    );
    assert!(
        alpha
            .props()
            .any(|property| property == ("future-property", "kept as it is"))
    );
    assert!(alpha.maintenance.is_none());
    let maintenance = fleet.entry(&name("beta")).unwrap().maintenance.clone().unwrap();
    assert_eq!(
        (maintenance.kind, maintenance.message.as_deref()),
        (MaintenanceMode::Offline, Some("moving house"))
    );
    assert!(!maintenance.allows(Operation::Read));
    assert!(fleet.entry(&name("gamma")).is_none());
}

#[test]
fn a_removable_datastore_lies_at_its_mount_point() {
    let place = Place::new(Some(
        "datastore: usb\n\tbacking-device 1234-ABCD\n\tpath backups\n",
    ));
    assert_eq!(
        place.open().entry(&name("usb")).unwrap().path,
        Path::new("/mnt/datastore/usb")
    );
}

#[test]
fn a_broken_edit_keeps_the_last_good_one_and_says_where_it_is_broken() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    let good = fleet.current();
    for (broken, line, expected) in [
        ("# a comment\n", 1, "expected a header"),
        (
            "datastore: alpha\n\tpath /srv/alpha\n\ndatastore: beta\n\tpath srv/beta\n",
            5,
            "expected an absolute path",
        ),
        (
            "datastore: alpha\n\tcomment none\n",
            1,
            "expected property path, found none",
        ),
        ("datastore: a\n\tpath /srv/a\n", 1, "`a`"),
        (
            "prune: alpha\n\tpath /srv/a\n",
            1,
            "expected section type datastore, found \"prune\"",
        ),
        (
            "datastore: alpha\n\tpath /a\n\tpath /b\n",
            1,
            "`path` of section `alpha` stands twice",
        ),
        (
            "datastore: alpha\n\tpath /a\n\n\ndatastore: alpha\n\tpath /b\n",
            5,
            "already stands at line 1",
        ),
        (
            "datastore: alpha\n\tpath /a\n\tmaintenance-mode asleep\n",
            3,
            "found \"asleep\"",
        ),
    ] {
        place.write(broken);
        assert!(fleet.refresh(), "{broken}");
        let now = fleet.current();
        let problem = now.error.clone().unwrap();
        assert_eq!(problem.file, place.file());
        assert_eq!(problem.line, Some(line), "{problem}");
        assert!(problem.message.contains(expected), "{problem}");
        assert_eq!((now.digest, now.stores.len()), (good.digest, 2));
        assert!(fleet.entry(&name("alpha")).is_some());
        assert!(!fleet.refresh(), "the same problem is published once");
    }
    std::fs::write(place.file(), b"datastore: alpha\n\tpath /\xff\n").unwrap();
    assert!(fleet.refresh());
    assert_eq!(fleet.current().error.clone().unwrap().line, Some(2));

    place.write(TWO);
    assert!(fleet.refresh());
    assert!(
        fleet.current().error.is_none(),
        "mended by putting the old content back"
    );
}

#[test]
fn a_file_broken_from_the_start_gives_no_stores_and_the_problem() {
    let fleet = Place::new(Some("nonsense\n")).open();
    let generation = fleet.current();
    assert_eq!(
        (generation.stores.len(), generation.error.as_ref().unwrap().line),
        (0, Some(1))
    );
}

#[test]
fn a_parsed_generation_is_reused_when_its_digest_returns() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    let first = fleet.current();
    let one = TWO.split("\n\n").next().unwrap().to_owned() + "\n";
    place.write(&one);
    assert!(fleet.refresh());
    place.write(TWO);
    assert!(fleet.refresh());
    let again = fleet.current();
    assert_eq!(again.digest, first.digest);
    assert_eq!(again.stores.len(), first.stores.len());
    assert!(again.number > first.number);
    let stats = fleet.stats();
    assert_eq!((stats.parses, stats.cache_hits, stats.reads), (2, 1, 3));

    for extra in 0..50 {
        place.write(&format!(
            "{one}\n\ndatastore: extra{extra}\n\tpath /srv/extra{extra}\n"
        ));
        assert!(fleet.refresh());
    }
    assert!(fleet.stats().cached_generations <= 8, "the cache is bounded");
}

#[test]
fn an_entry_that_did_not_change_is_shared_between_generations() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    let before = fleet.current();
    place.write(&TWO.replace("moving%20house", "moved"));
    assert!(fleet.refresh());
    let after = fleet.current();
    let pair = |store| {
        (
            before.entry(&name(store)).unwrap(),
            after.entry(&name(store)).unwrap(),
        )
    };
    let (old, new) = pair("alpha");
    assert!(std::sync::Arc::ptr_eq(&old, &new));
    let (old, new) = pair("beta");
    assert!(!old.same_section(&new));
}

#[test]
fn the_watch_follows_edits_replacements_and_our_own_writes() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    let (send, seen) = mpsc::channel();
    // A ttl far beyond the test: only events and their effect are left.
    let watch = fleet
        .watch(Duration::from_secs(3600), move |generation| {
            send.send((generation.stores.len(), generation.error.is_some()))
                .unwrap();
        })
        .unwrap();
    let wait_for = |expected| {
        let deadline = Duration::from_secs(20);
        loop {
            if seen
                .recv_timeout(deadline)
                .expect("a change is seen before the deadline")
                == expected
            {
                return;
            }
        }
    };
    place.write(&format!("{TWO}\ndatastore: gamma\n\tpath /srv/gamma\n"));
    wait_for((3, false));
    config_file::replace(&place.file(), b"broken\n", 0o640).unwrap();
    wait_for((3, true));
    config_file::replace(&place.file(), TWO.as_bytes(), 0o640).unwrap();
    wait_for((2, false));
    fleet
        .store_add(&name("delta"), Path::new("/srv/delta"), None)
        .unwrap();
    wait_for((3, false));
    drop(watch);
    assert!(
        matches!(seen.try_recv(), Err(mpsc::TryRecvError::Disconnected)),
        "the thread is gone after the drop"
    );
}

#[test]
fn the_watch_sees_a_directory_that_appears_later() {
    let place = Place::new(None);
    let later = place.directory.path().join("etc");
    let fleet = Fleet::open(&later).unwrap();
    let (send, seen) = mpsc::channel();
    let _watch = fleet
        .watch(Duration::from_millis(20), move |generation| {
            send.send(generation.stores.len()).unwrap();
        })
        .unwrap();
    let elsewhere = Fleet::open(&later).unwrap();
    elsewhere
        .store_add(&name("alpha"), Path::new("/srv/alpha"), None)
        .unwrap();
    assert_eq!(seen.recv_timeout(Duration::from_secs(20)), Ok(1));
}
