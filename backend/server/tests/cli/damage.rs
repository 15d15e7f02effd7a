//! Damaged stores: the restore fails, says what and where, and leaves nothing; other files are not concerned.

use std::path::{Path, PathBuf};

use fleethold_format::blob::{BlobDecoder, BlobEncoder, EncodeOptions};
use serde_json::Value;

use super::harness::{ENCRYPTED, IMAGE, SNAPSHOT, World, golden, restore_args, text};

/// Digest of the first chunk that is stored, and its position, read from the fixed index.
fn chunk_at(store: &Path, position: usize) -> (String, PathBuf) {
    let index = std::fs::read(store.join(SNAPSHOT).join(IMAGE)).unwrap();
    let start = 4096 + position * 32;
    let digest = hex::encode(&index[start..start + 32]);
    let path = store.join(".chunks").join(&digest[..4]).join(&digest);
    (digest, path)
}

fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

fn flip(at: usize) -> impl FnOnce(&mut Vec<u8>) {
    move |bytes| bytes[at] ^= 0x10
}

/// Damages a chunk and checks the report; the first chunk of the image holds data.
#[track_caller]
fn broken_chunk(code: &str, words: &[&str], damage: impl FnOnce(&Path, &Path)) {
    let world = World::new();
    let store = world.copy_of("store");
    let (digest, path) = chunk_at(&store, 0);
    let other = (1..8)
        .map(|position| chunk_at(&store, position))
        .find(|(found, _)| *found != digest)
        .unwrap();
    damage(&path, &other.1);
    let target = world.out("disk.raw");
    let mut args = restore_args(text(&store), SNAPSHOT, IMAGE, text(&target));
    args.push("--json");
    let ran = world
        .run(&args)
        .fails(4, &[text(&store), SNAPSHOT, IMAGE, &digest, "position 0"])
        .fails(4, words);
    let report = ran.json();
    assert_eq!(
        (&report["outcome"], &report["error"]["code"]),
        (&"failed".into(), &code.into()),
        "{report}"
    );
    assert_eq!(report["error"]["chunk"], digest);
    assert_eq!(
        (&report["error"]["position"], &report["error"]["file"]),
        (&0.into(), &IMAGE.into())
    );
    assert!(world.out_files().is_empty(), "{:?}", world.out_files());

    // Half a stream is not a clean one, either.
    let ran = world
        .run(&restore_args(text(&store), SNAPSHOT, IMAGE, "-"))
        .fails(4, words);
    assert!(ran.stdout.len() < 30_015_488);
    world
        .run(&restore_args(text(&store), SNAPSHOT, "qemu-server.conf", "null"))
        .ok();
}

#[test]
fn a_chunk_that_is_gone() {
    broken_chunk(
        "chunk-missing",
        &["removed by prune or garbage collection?"],
        |chunk, _| {
            std::fs::remove_file(chunk).unwrap();
        },
    );
}

#[test]
fn a_chunk_with_a_flipped_bit() {
    broken_chunk("blob-crc", &[], |chunk, _| edit(chunk, flip(100)));
}

#[test]
fn a_chunk_with_a_wrong_magic() {
    broken_chunk("blob-magic", &[], |chunk, _| edit(chunk, flip(0)));
}

#[test]
fn a_chunk_that_is_cut_short() {
    broken_chunk("blob-crc", &[], |chunk, _| {
        edit(chunk, |bytes| bytes.truncate(bytes.len() / 2))
    });
}

#[test]
fn a_chunk_that_is_empty() {
    broken_chunk("chunk-empty", &[], |chunk, _| edit(chunk, Vec::clear));
}

#[test]
fn a_chunk_with_the_content_of_another() {
    broken_chunk("chunk-digest", &[], |chunk, other| {
        edit(chunk, |bytes| *bytes = std::fs::read(other).unwrap())
    });
}

#[test]
fn a_chunk_that_is_a_link() {
    let world = World::new();
    let store = world.copy_of("store");
    let (_, path) = chunk_at(&store, 0);
    let moved = world.path("moved");
    std::fs::rename(&path, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &path).unwrap();
    let ran = world.run(&restore_args(text(&store), SNAPSHOT, IMAGE, "out/disk.raw"));
    assert!(matches!(ran.code, 1 | 4), "{ran:?}");
    assert!(world.out_files().is_empty());
}

/// Damages a file of the snapshot and checks the report.
#[track_caller]
fn broken_file(file: &str, archive: &str, codes: &[&str], damage: impl FnOnce(&Path)) {
    let world = World::new();
    let store = world.copy_of("store");
    damage(&store.join(SNAPSHOT).join(file));
    let mut args = restore_args(text(&store), SNAPSHOT, archive, "out/target");
    args.push("--json");
    let report = world.run(&args).fails(4, &[SNAPSHOT, archive]).json();
    let code = report["error"]["code"].as_str().unwrap();
    assert!(codes.contains(&code), "{file}: {report}");
    assert_eq!(report["outcome"], Value::from("failed"));
    assert!(world.out_files().is_empty());
}

#[test]
fn damaged_indexes() {
    let index = |codes: &[&str], damage: &dyn Fn(&Path)| broken_file(IMAGE, IMAGE, codes, damage);
    index(&["index-csum", "checksum-mismatch"], &|path| {
        edit(path, flip(4096 + 40))
    });
    index(&["index-damaged", "size-mismatch"], &|path| {
        edit(path, |bytes| bytes.truncate(bytes.len() - 1))
    });
    index(&["index-damaged"], &|path| {
        edit(path, |bytes| bytes.truncate(100))
    });
    index(&["index-damaged", "not-a-file"], &|path| edit(path, Vec::clear));
    index(&["index-damaged"], &|path| edit(path, flip(0)));
    index(&["file-missing"], &|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn damaged_blobs_and_manifests() {
    let blob = "qemu-server.conf.blob";
    let size = ["size-mismatch", "blob-size"];
    broken_file(
        blob,
        blob,
        &["checksum-mismatch", "blob-csum", "blob-crc"],
        |path| edit(path, flip(20)),
    );
    broken_file(blob, blob, &size, |path| edit(path, |bytes| bytes.truncate(20)));
    broken_file(blob, blob, &size, |path| edit(path, Vec::clear));
    broken_file(blob, blob, &["file-missing"], |path| {
        std::fs::remove_file(path).unwrap()
    });
    broken_file(
        "client.log.blob",
        "client.log.blob",
        &["manifest-damaged", "blob-crc"],
        |path| edit(path, flip(20)),
    );
    for damage in [0, 8, 200] {
        broken_file("index.json.blob", IMAGE, &["manifest-damaged"], |path| {
            edit(path, flip(damage))
        });
    }
    broken_file("index.json.blob", IMAGE, &["manifest-damaged"], |path| {
        edit(path, |bytes| bytes.truncate(30))
    });
}

/// Whoever can write to the datastore can take the signature away, but not make one.
#[test]
fn a_manifest_whose_signature_was_taken_away() {
    let world = World::new();
    let store = world.copy_of("store");
    let path = store.join(ENCRYPTED).join("index.json.blob");
    edit(&path, |bytes| {
        let plain = BlobDecoder::new()
            .decode_blob(bytes, None, None, 1 << 20)
            .unwrap();
        let mut manifest: Value = serde_json::from_slice(&plain).unwrap();
        manifest["signature"] = Value::Null;
        let text = serde_json::to_vec(&manifest).unwrap();
        *bytes = BlobEncoder::new()
            .encode(&text, EncodeOptions::default())
            .unwrap();
    });
    let key = golden().join("encryption-key.json");
    let mut args = restore_args(text(&store), ENCRYPTED, "drive-virtio0.img", "null");
    args.extend(["--key-file", text(&key), "--json"]);
    let report = world.run(&args).fails(4, &[ENCRYPTED, "no signature"]).json();
    assert_eq!(report["error"]["code"], "manifest-signature");
    assert_eq!(report["signature"], "invalid");
}

#[test]
fn a_key_for_an_unsigned_backup_is_remarked_upon() {
    let world = World::new();
    let (store, key) = (golden().join("store"), golden().join("encryption-key.json"));
    let mut args = restore_args(text(&store), SNAPSHOT, IMAGE, "null");
    args.extend(["--key-file", text(&key), "--json"]);
    let ran = world.run(&args).ok();
    assert!(
        ran.stderr.contains("the manifest is not signed"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.json()["signature"], "missing");
    let mut args = restore_args(text(&store), ENCRYPTED, "drive-virtio0.img", "null");
    args.extend(["--key-file", text(&key), "--json"]);
    assert_eq!(world.run(&args).ok().json()["signature"], "verified");
    let checked = world
        .run(&["check", text(&store), "--key-file", text(&key), "--json"])
        .ok()
        .json();
    let number = |field: &str| checked[field].as_u64().unwrap();
    assert!(number("snapshots_unsigned") > 0, "{checked}");
    assert!(number("snapshots_unsigned") < number("snapshots"), "{checked}");
}

#[test]
fn a_manifest_of_another_snapshot() {
    let world = World::new();
    let store = world.copy_of("store");
    let other = store.join("vm/100/2024-05-02T10:00:00Z/index.json.blob");
    std::fs::copy(other, store.join(SNAPSHOT).join("index.json.blob")).unwrap();
    let mut args = restore_args(text(&store), SNAPSHOT, IMAGE, "null");
    args.push("--json");
    let report = world.run(&args).fails(4, &["2024-05-02T10:00:00Z"]).json();
    assert_eq!(report["error"]["code"], "manifest-of-other-snapshot");
}
