//! The snapshot lock beside a running PBS.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::common::{golden, name};
use fleethold_datastore::{Datastore, LockNote, OpenSnapshot, PbsHost};
use fleethold_format::names::{Namespace, SnapshotPath};
use rustix::fs::{FlockOperation, flock};

fn host(run_dir: &Path) -> PbsHost {
    PbsHost {
        run_dir: run_dir.to_owned(),
        config: run_dir.join("datastore.cfg"),
    }
}

fn snapshot(store: &Path, run_dir: &Path, ns: &str, path: &str) -> Result<OpenSnapshot, String> {
    Datastore::open_beside(name("golden"), store, host(run_dir))
        .unwrap()
        .snapshot(
            &Namespace::parse(ns).unwrap(),
            &SnapshotPath::parse(path).unwrap(),
        )
        .map_err(|error| format!("{}: {error}", error.code()))
}

fn exclusive(path: &Path) -> rustix::io::Result<File> {
    let file = File::open(path).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).map(|()| file)
}

const PATH: &str = "vm/100/2024-05-01T10:00:00Z";
const ESCAPED: &str = r"vm-100-2024\x2d05\x2d01T10\x3a00\x3a00Z";

#[test]
fn without_a_pbs_nothing_is_locked_and_the_note_says_so() {
    let dir = golden();
    let run = dir.path().join("no-such-run-dir");
    let open = snapshot(&dir.path().join("store"), &run, "", PATH).unwrap();
    assert_eq!(open.lock_note().to_string(), "not locked against a running PBS");
    assert!(!run.exists());
}

#[test]
fn the_shared_lock_keeps_others_from_the_exclusive_one() {
    let dir = golden();
    let run = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let path: PathBuf = run.path().join("locks/golden").join(ESCAPED);
    let first = snapshot(&store, run.path(), "", PATH).unwrap();
    let second = snapshot(&store, run.path(), "", PATH).unwrap();
    assert_eq!(first.lock_note(), &LockNote::Locked { path: path.clone() });
    exclusive(&path).unwrap_err();
    drop(first);
    exclusive(&path).unwrap_err();
    drop(second);
    let held = exclusive(&path).unwrap();
    let error = snapshot(&store, run.path(), "", PATH).unwrap_err();
    assert!(
        error.starts_with("snapshot-locked") && error.contains(PATH),
        "{error}"
    );
    drop(held);
    snapshot(&store, run.path(), "", PATH).unwrap();
}

#[test]
fn namespaces_are_joined_by_colons() {
    let dir = golden();
    let run = tempfile::tempdir().unwrap();
    let path = "ct/300/2024-05-01T10:01:00Z";
    let open = snapshot(&dir.path().join("store"), run.path(), "prod/db", path).unwrap();
    let expected = run
        .path()
        .join(r"locks/golden/prod:db/ct-300-2024\x2d05\x2d01T10\x3a01\x3a00Z");
    assert_eq!(
        open.lock_note(),
        &LockNote::Locked {
            path: expected.clone()
        }
    );
    assert!(expected.is_file());
}

#[test]
fn before_the_first_boot_with_4_the_directory_is_locked() {
    let dir = golden();
    let run = tempfile::tempdir().unwrap();
    fs::write(run.path().join("old-locking"), "").unwrap();
    let store = dir.path().join("store");
    let open = snapshot(&store, run.path(), "", PATH).unwrap();
    assert_eq!(
        open.lock_note(),
        &LockNote::Locked {
            path: store.join(PATH)
        }
    );
    exclusive(&store.join(PATH)).unwrap_err();
    drop(open);
    let _held = exclusive(&store.join(PATH)).unwrap();
    assert!(
        snapshot(&store, run.path(), "", PATH)
            .unwrap_err()
            .starts_with("snapshot-locked")
    );
}

#[test]
fn a_lock_that_cannot_be_made_is_a_note() {
    let dir = golden();
    let run = tempfile::tempdir().unwrap();
    fs::write(run.path().join("locks"), "a file").unwrap();
    let open = snapshot(&dir.path().join("store"), run.path(), "", PATH).unwrap();
    let note = open.lock_note().to_string();
    assert!(
        note.starts_with("not locked against a running PBS: ") && note.contains("locks/golden"),
        "{note}"
    );
}

#[test]
fn the_lock_goes_by_the_name_that_pbs_has_for_the_path() {
    let dir = golden();
    let run = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    // Reached by another way than the configured one.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&store, &link).unwrap();
    let config = |path: &Path| {
        let text = format!(
            "datastore: other\n\tpath /srv/other\n\ndatastore: theirs\n\tpath {}\n",
            path.display()
        );
        fs::write(run.path().join("datastore.cfg"), text).unwrap();
    };
    config(&link);
    let open = snapshot(&store, run.path(), "", PATH).unwrap();
    let expected = run.path().join("locks/theirs").join(ESCAPED);
    assert_eq!(open.lock_note(), &LockNote::Locked { path: expected });

    config(Path::new("/srv/elsewhere"));
    let note = snapshot(&store, run.path(), "", PATH)
        .unwrap()
        .lock_note()
        .to_string();
    assert!(
        note.contains("has no datastore at") && note.contains(&*store.to_string_lossy()),
        "{note}"
    );
    fs::write(run.path().join("datastore.cfg"), "nonsense\n").unwrap();
    let note = snapshot(&store, run.path(), "", PATH)
        .unwrap()
        .lock_note()
        .to_string();
    assert!(note.contains("datastore.cfg"), "{note}");
}
