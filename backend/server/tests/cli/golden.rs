//! Every file of both golden stores restores to the digest that the reference implementation wrote down.

use std::path::Path;

use serde_json::Value;

use super::harness::{World, golden, restore_args, sha256, text};

/// `ns/prod/ns/db/ct/300/…` as namespace and snapshot.
fn split(path: &str) -> (String, String) {
    let mut parts: Vec<&str> = path.split('/').collect();
    let mut ns = Vec::new();
    while parts[0] == "ns" {
        ns.push(parts[1]);
        parts.drain(..2);
    }
    (ns.join("/"), parts.join("/"))
}

fn every_file(store: &str, expected: &str, key: &str, with_key: impl Fn(&Value) -> bool) -> usize {
    let world = World::new();
    let expected: Value = serde_json::from_slice(&std::fs::read(golden().join(expected)).unwrap()).unwrap();
    let files = expected["files"].as_array().unwrap();
    let (store, key) = (golden().join(store), golden().join(key));
    for file in files {
        let (ns, snapshot) = split(file["path"].as_str().unwrap());
        let name = file["file"].as_str().unwrap();
        let target = world.out("target");
        let mut args = restore_args(text(&store), &snapshot, name, text(&target));
        args.extend(["--ns", &ns, "--sha256", "--json", "--overwrite"]);
        if with_key(file) {
            args.extend(["--key-file", text(&key)]);
        }
        let report = world.run(&args).ok().json();
        let digest = file["plain-sha256"].as_str().unwrap();
        assert_eq!(report["sha256"], digest, "{snapshot} {name}");
        assert_eq!(report["bytes_total"], file["plain-size"]);
        assert_eq!(
            (&report["outcome"], &report["ns"]),
            (&Value::from("ok"), &Value::from(ns))
        );
        let bytes = std::fs::read(&target).unwrap();
        assert_eq!(sha256(&bytes), digest, "{snapshot} {name}");
        if let (false, Some(csum)) = (name.ends_with(".blob"), file["csum"].as_str()) {
            assert_eq!(report["index_csum"], csum);
        }
        assert_eq!(world.out_files(), ["target"]);
    }
    files.len()
}

#[test]
fn every_file_of_the_first_store() {
    let encrypted = |file: &Value| file["crypt-mode"] == "Encrypt";
    assert_eq!(
        every_file("store", "expected.json", "encryption-key.json", encrypted),
        19
    );
}

#[test]
fn every_file_of_the_store_made_by_the_real_client() {
    // The key also proves the signatures of the snapshots that have one.
    let with_key = |file: &Value| file["path"].as_str().unwrap().starts_with("ns/prod");
    assert_eq!(
        every_file("real/store", "real/expected-real.json", "real/enc.key", with_key),
        14
    );
}

#[test]
fn reading_writes_nothing_into_the_store() {
    fn identities(directory: &Path, found: &mut Vec<String>) {
        use std::os::unix::fs::MetadataExt;
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let changed = (
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            );
            found.push(format!("{} {} {changed:?}", path.display(), metadata.len()));
            if metadata.is_dir() {
                identities(&path, found);
            }
        }
        found.sort();
    }
    let world = World::new();
    let copy = world.copy_of("store");
    let (mut before, mut after) = (Vec::new(), Vec::new());
    identities(&copy, &mut before);
    let key = golden().join("encryption-key.json");
    world.run(&["check", text(&copy), "--key-file", text(&key)]).ok();
    world.run(&["ls", text(&copy), "vm/100"]).ok();
    identities(&copy, &mut after);
    assert_eq!(before, after);
}
