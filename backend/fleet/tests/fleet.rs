//! The fleet against files on disk: what is published, what is kept, what is written.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use fleethold_fleet::config_file::{self, ConfigLock};
use fleethold_fleet::{Fleet, FleetError, FleetOptions, MaintenanceMode, Operation};
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
            },
        )
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
    let alpha = fleet.lookup(&name("alpha")).unwrap();
    assert_eq!(
        (alpha.path.as_path(), alpha.comment.as_deref()),
        (Path::new("/srv/alpha"), Some("first one"))
    );
    assert!(
        alpha
            .props
            .contains(&("future-property".into(), "kept as it is".into()))
    );
    assert!(alpha.maintenance.is_none());
    let maintenance = fleet.lookup(&name("beta")).unwrap().maintenance.clone().unwrap();
    assert_eq!(
        (maintenance.kind, maintenance.message.as_deref()),
        (MaintenanceMode::Offline, Some("moving house"))
    );
    assert!(!maintenance.allows(Operation::Read));
    assert!(fleet.lookup(&name("gamma")).is_none());
}

#[test]
fn a_removable_datastore_lies_at_its_mount_point() {
    let place = Place::new(Some(
        "datastore: usb\n\tbacking-device 1234-ABCD\n\tpath backups\n",
    ));
    assert_eq!(
        place.open().lookup(&name("usb")).unwrap().path,
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
        assert!(fleet.lookup(&name("alpha")).is_some());
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
    assert!(
        std::sync::Arc::ptr_eq(&first.stores, &again.stores),
        "not parsed again"
    );
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
            before.lookup(&name(store)).unwrap(),
            after.lookup(&name(store)).unwrap(),
        )
    };
    let (old, new) = pair("alpha");
    assert!(std::sync::Arc::ptr_eq(&old, &new));
    let (old, new) = pair("beta");
    assert_ne!(old.section_hash, new.section_hash);
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
    let fleet = Fleet::open(&later);
    let (send, seen) = mpsc::channel();
    let _watch = fleet
        .watch(Duration::from_millis(20), move |generation| {
            send.send(generation.stores.len()).unwrap();
        })
        .unwrap();
    let elsewhere = Fleet::open(&later);
    elsewhere
        .store_add(&name("alpha"), Path::new("/srv/alpha"), None)
        .unwrap();
    assert_eq!(seen.recv_timeout(Duration::from_secs(20)), Ok(1));
}

#[test]
fn a_change_keeps_order_and_unknown_properties() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    fleet
        .store_add(&name("gamma"), Path::new("/srv/gamma/"), Some(" third "))
        .unwrap();
    assert_eq!(
        place.text(),
        format!("{TWO}\ndatastore: gamma\n\tcomment third\n\tpath /srv/gamma\n")
    );
    assert_eq!(
        fleet.lookup(&name("gamma")).unwrap().comment.as_deref(),
        Some("third"),
        "published at once"
    );
    fleet.store_remove(&name("gamma")).unwrap();
    assert_eq!(place.text(), TWO);
    fleet.store_remove(&name("alpha")).unwrap();
    fleet.store_remove(&name("beta")).unwrap();
    assert_eq!(place.text(), "");
    assert!(matches!(
        fleet.store_remove(&name("beta")),
        Err(FleetError::NotFound { .. })
    ));
}

#[test]
fn the_written_file_has_its_mode_and_leaves_nothing_beside_it() {
    let place = Place::new(None);
    let fleet = place.open();
    fleet
        .store_add(&name("alpha"), Path::new("/srv/alpha"), None)
        .unwrap();
    assert_eq!(place.files(), [".datastore.lck", "datastore.cfg"]);
    assert_eq!(
        std::fs::metadata(place.file()).unwrap().permissions().mode() & 0o7777,
        0o640
    );
}

#[test]
fn taken_names_nested_paths_and_odd_paths_are_refused_and_nothing_is_written() {
    let place = Place::new(None);
    let real = place.directory.path().join("real");
    std::fs::create_dir(&real).unwrap();
    let link = place.directory.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    place.write(&format!("{TWO}\ndatastore: linked\n\tpath {}\n", real.display()));
    let before = place.text();
    let fleet = place.open();
    let add = |store: &str, path: &Path| fleet.store_add(&name(store), path, None).unwrap_err();
    assert!(matches!(
        add("alpha", Path::new("/srv/new")),
        FleetError::Exists { .. }
    ));
    for path in ["/srv/alpha", "/srv/alpha/inner", "/srv", "/srv/beta/./x"] {
        let error = add("gamma", Path::new(path));
        assert!(matches!(error, FleetError::Nested { .. }), "{path}: {error}");
    }
    assert!(
        matches!(add("gamma", &link.join("below")), FleetError::Nested { .. }),
        "through a link"
    );
    for path in ["srv/x", "", "/", "/srv/../etc", "/srv/new\nline", "/srv/blank "] {
        let error = add("gamma", Path::new(path));
        assert!(matches!(error, FleetError::Path { .. }), "{path:?}: {error}");
    }
    let long = "x".repeat(129);
    for comment in ["two\nlines", long.as_str()] {
        let error = fleet
            .store_add(&name("gamma"), Path::new("/srv/gamma"), Some(comment))
            .unwrap_err();
        assert!(matches!(error, FleetError::Comment { .. }), "{error}");
    }
    assert_eq!(place.text(), before);
    fleet
        .store_add(&name("gamma"), Path::new("/srv/alphabet"), None)
        .unwrap();
}

#[test]
fn a_broken_file_is_not_overwritten() {
    let place = Place::new(Some("datastore: alpha\n\tpath relative\n"));
    let fleet = place.open();
    let error = fleet
        .store_add(&name("gamma"), Path::new("/srv/gamma"), None)
        .unwrap_err();
    assert!(
        matches!(&error, FleetError::Invalid { problem } if problem.line == Some(2)),
        "{error}"
    );
    assert_eq!(place.text(), "datastore: alpha\n\tpath relative\n");
}

#[test]
fn an_edit_on_top_of_another_digest_is_refused() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    let read = fleet.current().digest;
    fleet
        .store_add(&name("gamma"), Path::new("/srv/gamma"), None)
        .unwrap();
    let touched = fleet.edit(Some(&read), |config, _| {
        config.sections.clear();
        Ok(())
    });
    assert!(matches!(touched, Err(FleetError::Modified { .. })));
    assert_eq!(fleet.current().stores.len(), 3);
    let read = fleet.current().digest;
    fleet
        .edit(Some(&read), |config, _| {
            config
                .section_mut("alpha")
                .unwrap()
                .set("maintenance-mode", "read-only");
            Ok(())
        })
        .unwrap();
    assert!(fleet.lookup(&name("alpha")).unwrap().maintenance.is_some());
    let broken = fleet.edit(None, |config, _| {
        config
            .section_mut("alpha")
            .unwrap()
            .set("maintenance-mode", "asleep");
        Ok(())
    });
    assert!(
        matches!(broken, Err(FleetError::Invalid { .. })),
        "a change that would not be read back is not written"
    );
    assert!(fleet.current().error.is_none());
}

#[test]
fn a_held_lock_is_respected() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    let lock = ConfigLock::acquire(&place.directory.path().join(".datastore.lck"), Duration::ZERO).unwrap();
    let error = fleet.store_remove(&name("alpha")).unwrap_err();
    assert!(matches!(error, FleetError::Locked { .. }), "{error}");
    assert_eq!(place.text(), TWO);
    assert!(
        !fleet.refresh() && fleet.lookup(&name("alpha")).is_some(),
        "reading needs no lock"
    );
    drop(lock);
    fleet.store_remove(&name("alpha")).unwrap();
}

#[test]
fn writers_at_once_lose_no_change() {
    let place = Place::new(None);
    let directory = place.directory.path();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                let fleet = Fleet::open(directory);
                for store in 0..10 {
                    let store = format!("store-{writer}-{store}");
                    fleet
                        .store_add(&name(&store), &Path::new("/srv").join(&store), None)
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(place.open().current().stores.len(), 40);
}

#[test]
fn a_replacement_that_fails_leaves_the_old_file_and_no_other() {
    let place = Place::new(Some(TWO));
    // A directory in the file's place cannot be renamed over.
    let taken = place.directory.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    assert!(matches!(
        config_file::replace(&taken, b"x", 0o640),
        Err(FleetError::Io { .. })
    ));
    assert_eq!(place.files(), ["datastore.cfg", "taken"]);
    assert_eq!(place.text(), TWO);
}

#[test]
fn a_replacement_is_a_new_file_and_a_left_over_of_a_crash_does_not_hinder_it() {
    let place = Place::new(Some(TWO));
    let before = std::fs::metadata(place.file()).unwrap().ino();
    let open = std::fs::File::open(place.file()).unwrap();
    for serial in 0..200 {
        let left_over = format!(".datastore.cfg.{}-{serial}.tmp", std::process::id());
        std::fs::write(place.directory.path().join(left_over), "half").unwrap();
    }
    place.open().store_remove(&name("alpha")).unwrap();
    assert_ne!(std::fs::metadata(place.file()).unwrap().ino(), before);
    assert_eq!(
        std::io::read_to_string(open).unwrap(),
        TWO,
        "who reads the old one reads it to its end"
    );
    assert!(place.text().starts_with("datastore: beta"));
}

#[test]
fn an_endless_file_is_not_read_to_its_end() {
    let place = Place::new(None);
    std::fs::File::create(place.file())
        .unwrap()
        .set_len(config_file::MAX_FILE_BYTES + 1)
        .unwrap();
    let problem = place.open().current().error.clone().unwrap();
    assert!(problem.message.contains("64 MiB"), "{problem}");
}
