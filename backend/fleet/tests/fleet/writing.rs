//! What is written to datastore.cfg, and what is refused.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use fleethold_fleet::config_file::{self, ConfigLock};
use fleethold_fleet::{Fleet, FleetError};

use super::{Place, TWO, name};

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
        fleet.entry(&name("gamma")).unwrap().comment.as_deref(),
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
fn a_mode_that_lets_fewer_read_the_file_is_kept_and_a_wider_one_is_not() {
    let place = Place::new(Some(TWO));
    let fleet = place.open();
    for (mode, kept) in [(0o600, 0o600), (0o666, 0o640)] {
        std::fs::set_permissions(place.file(), std::fs::Permissions::from_mode(mode)).unwrap();
        fleet.edit(None, |_, _| Ok(())).unwrap();
        let found = std::fs::metadata(place.file()).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, kept, "{mode:o}");
    }
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
    assert!(fleet.entry(&name("alpha")).unwrap().maintenance.is_some());
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
        !fleet.refresh() && fleet.entry(&name("alpha")).is_some(),
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
                let fleet = Fleet::open(directory).unwrap();
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
