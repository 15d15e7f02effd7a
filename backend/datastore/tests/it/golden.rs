//! Both stores made by the reference: every listing, every file, every chunk.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{archive, fingerprint, golden, key, open, restore};
use fleethold_datastore::{Datastore, FileInfo, LockNote, SnapshotInfo};
use fleethold_format::crypt::CryptMode;
use fleethold_format::manifest::SignatureCheck;
use fleethold_format::names::{ArchiveName, GroupPath, Namespace, SnapshotPath};
use serde_json::Value;

/// `ns/prod/ns/db/ct/300/2024-…` as namespace and snapshot.
fn split(path: &str) -> (Namespace, SnapshotPath) {
    let mut parts: Vec<_> = path.split('/').collect();
    let snapshot = parts.split_off(parts.len() - 3).join("/");
    let ns = parts
        .iter()
        .skip(1)
        .step_by(2)
        .copied()
        .collect::<Vec<_>>()
        .join("/");
    (
        Namespace::parse(&ns).unwrap(),
        SnapshotPath::parse(&snapshot).unwrap(),
    )
}

fn all_snapshots(store: &Datastore) -> Vec<(Namespace, SnapshotInfo)> {
    let mut all = Vec::new();
    for ns in store.namespaces(&Namespace::root(), 8).unwrap() {
        for group in store.groups(&ns).unwrap() {
            let snapshots = store.snapshots(&ns, &group.path).unwrap();
            all.extend(snapshots.into_iter().map(|snapshot| (ns.clone(), snapshot)));
        }
    }
    all
}

/// Restores everything that `expected` lists and compares lists and digests; nothing may be left over.
fn check_store(store: &Datastore, expected: &Value) {
    let crypt_key = key(expected["key-hex"].as_str().unwrap());
    let mut left: BTreeSet<(String, String)> = BTreeSet::new();
    let infos: BTreeMap<_, _> = all_snapshots(store)
        .into_iter()
        .map(|(ns, info)| ((ns, info.path.clone()), info))
        .collect();
    for ((ns, path), info) in &infos {
        assert_eq!(info.manifest_error, None);
        for file in info.files.iter().filter(|_| info.finished) {
            if file.name != ArchiveName::MANIFEST {
                left.insert((
                    ns.rel_path().join(path.rel_path()).display().to_string(),
                    file.name.clone(),
                ));
            }
        }
    }
    for file in expected["files"].as_array().unwrap() {
        let text = |field: &str| file[field].as_str().unwrap();
        let (ns, path) = split(text("path"));
        let info = infos.get(&(ns.clone(), path.clone())).unwrap();
        let listed = info.files.iter().find(|info| info.name == text("file")).unwrap();
        let name = archive(text("file"));
        let snapshot = store.snapshot(&ns, &path).unwrap();
        assert_eq!(snapshot.lock_note(), &LockNote::NotLocked { reason: None });

        let (sha256, size) = restore(&snapshot, &name, Some(&crypt_key)).unwrap();
        assert_eq!(sha256, text("plain-sha256"), "{path} {name}");
        assert_eq!(size, file["plain-size"].as_u64().unwrap());
        if let Some(csum) = file["csum"].as_str() {
            let entry = snapshot.entry(&name).unwrap();
            assert_eq!(hex::encode(entry.csum), csum);
            assert_eq!(listed.size, Some(entry.size));
            let mode = text("crypt-mode").to_lowercase().replace("signonly", "sign-only");
            assert_eq!(listed.crypt_mode.unwrap().as_str(), mode);
        } else {
            assert_eq!(
                (listed.size, listed.crypt_mode),
                (None, None),
                "not in the manifest"
            );
        }
        if name.kind().is_index() {
            let index = snapshot.open_index(&name).unwrap();
            assert_eq!(index.header_csum(), snapshot.entry(&name).unwrap().csum);
            if let Some(chunks) = file["chunks"].as_u64() {
                assert_eq!(index.chunk_count(), chunks);
            }
        }
        assert!(
            left.remove(&(text("path").to_owned(), name.to_string())),
            "{path} {name} is listed once"
        );
    }
    assert_eq!(left, BTreeSet::new(), "files that nobody expects");
    for ((ns, path), info) in infos.iter().filter(|(_, info)| info.finished) {
        let snapshot = store.snapshot(ns, path).unwrap();
        let signed = snapshot.manifest().signature.is_some();
        let expected = if signed {
            SignatureCheck::Valid
        } else {
            SignatureCheck::Unsigned
        };
        assert_eq!(snapshot.verify_signature(&crypt_key).unwrap(), expected);
        assert_eq!(
            info.fingerprint.is_some(),
            snapshot.manifest().key_fingerprint().unwrap().is_some()
        );
        let other = key(&"07".repeat(32));
        if signed {
            assert_eq!(snapshot.verify_signature(&other).unwrap_err().code(), "wrong-key");
        }
        assert_eq!(snapshot.files().unwrap(), info.files);
    }
}

fn json(path: &std::path::Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_file_of_the_store_by_the_reference_library() {
    let dir = golden();
    let store = open(&dir.path().join("store"));
    check_store(&store, &json(&dir.path().join("expected.json")));
}

#[test]
fn every_file_of_the_store_by_the_real_client() {
    let dir = golden();
    let store = open(&dir.path().join("real/store"));
    check_store(&store, &json(&dir.path().join("real/expected-real.json")));
}

#[test]
fn lists_say_what_the_directories_hold() {
    let dir = golden();
    let store = open(&dir.path().join("store"));
    let ns = |text| Namespace::parse(text).unwrap();
    let namespaces = store.namespaces(&Namespace::root(), 8).unwrap();
    assert_eq!(namespaces, [ns(""), ns("empty"), ns("prod"), ns("prod/db")]);
    assert_eq!(
        store.namespaces(&Namespace::root(), 1).unwrap(),
        [ns(""), ns("empty"), ns("prod")]
    );
    assert_eq!(store.namespaces(&ns("prod"), 0).unwrap(), [ns("prod")]);

    let groups = store.groups(&Namespace::root()).unwrap();
    let found: Vec<_> = groups.iter().map(|group| group.path.to_string()).collect();
    assert_eq!(found, ["host/web1", "vm/100", "vm/101"]);
    let vm = &groups[1];
    assert_eq!(vm.owner.as_ref().unwrap().to_string(), "root@pam");
    assert!(vm.notes.as_ref().unwrap().len() == 22 && vm.owner_error.is_none());
    assert_eq!(groups[0].notes, None);
    assert!(store.groups(&ns("empty")).unwrap().is_empty());

    let snapshots = store
        .snapshots(&Namespace::root(), &GroupPath::parse("vm/100").unwrap())
        .unwrap();
    let states: Vec<_> = snapshots
        .iter()
        .map(|snapshot| {
            (
                snapshot.path.time.to_string(),
                snapshot.finished,
                snapshot.protected,
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("2024-05-03T10:00:00Z".to_owned(), false, false),
            ("2024-05-02T10:00:00Z".to_owned(), true, true),
            ("2024-05-01T10:00:00Z".to_owned(), true, false),
        ]
    );
    let unfinished = &snapshots[0].files;
    assert_eq!(
        *unfinished,
        [FileInfo {
            name: "qemu-server.conf.blob".to_owned(),
            size: None,
            crypt_mode: None,
            encoded_len: Some(107)
        }]
    );
    let first: Vec<_> = snapshots[2]
        .files
        .iter()
        .map(|file| (file.name.as_str(), file.size))
        .collect();
    assert_eq!(
        first[first.len() - 2..],
        [("index.json.blob", Some(537)), ("client.log.blob", None)]
    );
    assert_eq!(snapshots[2].size, 30_015_488 + 540_672 + 107 + 537);
    assert_eq!(snapshots[2].files.last().unwrap().encoded_len, Some(53));

    let counts = store.counts().unwrap();
    assert_eq!(
        (counts.groups(), counts.snapshots(), counts.namespaces),
        (5, 9, 3)
    );
    assert_eq!((counts.vm.groups, counts.vm.snapshots), (3, 6));
    assert_eq!(counts.last_backup.unwrap().to_string(), "2024-05-02T10:01:40Z");
    let usage = store.usage().unwrap();
    assert!(usage.total_bytes >= usage.used_bytes && usage.used_bytes > 0 && usage.avail_bytes > 0);
}

#[test]
fn verification_notes_and_mode_of_the_manifest_are_shown() {
    let dir = golden();
    let store = open(&dir.path().join("store"));
    let infos = all_snapshots(&store);
    assert!(
        infos
            .iter()
            .any(|(_, info)| info.notes.is_some() || info.verify.is_some())
    );
    for (_, info) in infos.iter().filter(|(_, info)| info.finished) {
        let manifest = info
            .files
            .iter()
            .find(|file| file.name == ArchiveName::MANIFEST)
            .unwrap();
        let expected = if info.fingerprint.is_some() {
            CryptMode::SignOnly
        } else {
            CryptMode::None
        };
        assert_eq!(manifest.crypt_mode, Some(expected));
        assert_eq!(manifest.size, manifest.encoded_len);
    }
}

#[test]
fn indexes_are_searched_and_read_in_windows() {
    let dir = golden();
    let store = open(&dir.path().join("store"));
    for (path, name) in [
        ("vm/100/2024-05-01T10:00:00Z", "drive-scsi0.img.fidx"),
        ("host/web1/2024-05-01T10:01:40Z", "root.pxar.didx"),
    ] {
        let snapshot = store
            .snapshot(&Namespace::root(), &SnapshotPath::parse(path).unwrap())
            .unwrap();
        let index = snapshot.open_index(&archive(name)).unwrap();
        let mut all = Vec::new();
        index.entries(0..index.chunk_count(), &mut all).unwrap();
        let mut windows = Vec::new();
        for start in (0..index.chunk_count()).step_by(3) {
            index
                .entries(start..(start + 3).min(index.chunk_count()), &mut windows)
                .unwrap();
        }
        assert_eq!(all, windows);
        assert_eq!(all.iter().map(|entry| entry.len).sum::<u64>(), index.size());
        for (number, entry) in all.iter().enumerate() {
            let number = number as u64;
            assert_eq!(index.chunk_at(entry.offset).unwrap(), Some(number));
            assert_eq!(
                index.chunk_at(entry.offset + entry.len - 1).unwrap(),
                Some(number)
            );
            assert_eq!(index.digest_at(number).unwrap(), entry.digest);
            assert_eq!(index.chunk_len(number).unwrap(), entry.len);
        }
        assert_eq!(index.chunk_at(index.size()).unwrap(), None);
        assert_eq!(
            index.chunk_len(index.chunk_count()).unwrap_err().code(),
            "no-such-entry"
        );
        assert_eq!(
            index
                .entries(0..index.chunk_count() + 1, &mut all)
                .unwrap_err()
                .code(),
            "no-such-entry"
        );
    }
}

#[test]
fn reading_leaves_no_trace() {
    let dir = golden();
    let path = dir.path().join("store");
    // Chunks of its own: other tests read, and by that touch, the linked ones.
    for prefix in std::fs::read_dir(path.join(".chunks")).unwrap() {
        for chunk in std::fs::read_dir(prefix.unwrap().path()).unwrap() {
            let chunk = chunk.unwrap().path();
            let own = chunk.with_extension("own");
            std::fs::copy(&chunk, &own).unwrap();
            std::fs::rename(own, chunk).unwrap();
        }
    }
    let before = fingerprint(&path);
    let store = open(&path);
    check_store(&store, &json(&dir.path().join("expected.json")));
    store.counts().unwrap();
    let touched: Vec<_> = before
        .into_iter()
        .zip(fingerprint(&path))
        .filter(|(old, new)| old != new)
        .collect();
    assert_eq!(touched, [], "not even times of access");
}
