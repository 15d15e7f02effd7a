//! The test vectors of FORMAT.md.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use fleethold_format::blob::{self, BlobDecoder, BlobEncoder, BlobKind, EncodeOptions};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;
use fleethold_format::escape::{escape, unescape};
use fleethold_format::index::zero_digest;
use fleethold_format::manifest::{Manifest, ManifestFile, SignatureCheck, canonical_json};
use fleethold_format::names::*;
use fleethold_format::upid::Upid;
use serde_json::json;

fn key_09() -> CryptKey {
    CryptKey::new([9; 32]).unwrap()
}

#[test]
fn magics_are_the_beginnings_of_hashes_known_to_clients() {
    let magics = BlobKind::ALL.map(|kind| hex::encode(kind.magic()));
    assert_eq!(
        magics,
        [
            "42ab3807be8370a1",
            "31b958426fb6a37f",
            "7b6785be222d4cf0",
            "e6591bbf0bbfd80b"
        ]
    );
}

#[test]
fn plain_hello_blob() {
    let raw = BlobEncoder::new()
        .encode(b"hello", EncodeOptions::default())
        .unwrap();
    assert_eq!(hex::encode(&raw), "42ab3807be8370a186a6103668656c6c6f");
    assert_eq!(blob::check_crc(&raw).unwrap().kind, BlobKind::Plain);
    assert_eq!(
        BlobDecoder::new().decode_blob(&raw, None, None, 5).unwrap(),
        b"hello"
    );
}

#[test]
fn id_key_digests_and_fingerprint() {
    let key = key_09();
    assert_eq!(
        hex::encode(key.id_key()),
        "d8574fc7e9bcffc3127c21c78bebf73504a3be683e4dba652865f23435609353"
    );
    assert_eq!(
        key.digest(b"hello").to_string(),
        "b851432e039cc5e9bf9e739081632202c2c9d4204289ebf0cca6910b851ae5f1"
    );
    assert_eq!(
        ChunkDigest::of(b"hello").to_string(),
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    );
    let fingerprint = key.fingerprint();
    assert_eq!(
        fingerprint.to_string().replace(':', ""),
        "1ac82c72fbbb6206ec158977f8f9e8743fbe4f783f314f45c82fa087f9b5cd8a"
    );
    assert_eq!(fingerprint.short_id(), "1a:c8:2c:72:fb:bb:62:06");
    assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
    assert!(!format!("{key:?}").contains("0909"), "a key is never printed");
}

#[test]
fn zero_chunk() {
    let expected = "bb9f8df61474d25e71fa00722318cd387396ca1736605e1248821cc0de3d3af8";
    assert_eq!(zero_digest(4 << 20, None).to_string(), expected);
    assert_eq!(zero_digest(4 << 20, None), ChunkDigest::of(&vec![0; 4 << 20]));
    assert_eq!(
        zero_digest(100_000, Some(&key_09())),
        key_09().digest(&[0; 100_000])
    );
}

/// scrypt(`test`, no salt), as the reference's own test derives it.
fn test_key() -> CryptKey {
    let mut derived = [0; 32];
    openssl::pkcs5::scrypt(b"test", b"", 65536, 8, 1, 128 << 20, &mut derived).unwrap();
    CryptKey::new(derived).unwrap()
}

#[test]
fn manifest_signature() {
    let mut manifest = Manifest::new(SnapshotPath::parse("host/elsa/2020-06-26T13:56:05Z").unwrap());
    assert_eq!(manifest.snapshot.time.epoch(), 1_593_179_765);
    for (name, crypt_mode, byte) in [
        ("test1.img.fidx", CryptMode::Encrypt, 1),
        ("abc.blob", CryptMode::None, 2),
    ] {
        let name = ArchiveName::parse(name).unwrap();
        manifest.files.push(ManifestFile {
            name,
            crypt_mode,
            size: 200,
            csum: [byte; 32],
        });
    }
    let key = test_key();
    let decoded = Manifest::decode(&manifest.encode(Some(&key)).unwrap()).unwrap();
    assert_eq!(
        hex::encode(decoded.signature.unwrap()),
        "d7b446fb7db081662081d4b40fedd858a1d6307a5aff4ecff7d5bf4fd35679e9"
    );
    assert_eq!(decoded.verify_signature(&key).unwrap(), SignatureCheck::Valid);
    assert_eq!(decoded.key_fingerprint().unwrap(), Some(key.fingerprint()));
    decoded.check_key_fingerprint(&key).unwrap();
    assert!(decoded.verify_signature(&key_09()).is_err());
    assert!(decoded.check_key_fingerprint(&key_09()).is_err());
}

#[test]
fn canonical_json_sorts_by_bytes_and_refuses_null() {
    let document = json!({"b": [3, 1, {"z": true, "Z": "ä\"\n"}], "a": {}, "B": -1});
    let canonical = String::from_utf8(canonical_json(&document).unwrap()).unwrap();
    assert_eq!(canonical, r#"{"B":-1,"a":{},"b":[3,1,{"Z":"ä\"\n","z":true}]}"#);
    let error = canonical_json(&json!({"a": {"b": null}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "manifest field `a.b` is null, which cannot be signed"
    );
}

#[test]
fn upid_of_the_reference() {
    let text = "UPID:pbs1:0000C530:001C9BEC:00000002:5F2A7E6A:verify_snapshot:\
                store1\\x3ans\\x2dx-vm-100-5F2A7E6A:root@pam!auto:";
    let upid = Upid::parse(text).unwrap();
    assert_eq!(
        (upid.pid, upid.pstart, upid.task_id, upid.starttime),
        (0xC530, 0x1C_9BEC, 2, 0x5F2A_7E6A)
    );
    assert_eq!(upid.worker_id.as_deref(), Some("store1:ns-x/vm/100/5F2A7E6A"));
    assert_eq!(upid.authid.token.as_ref().unwrap().as_str(), "auto");
    assert_eq!(upid.to_string(), text);

    let empty = "UPID:pbs1:0000C530:001C9BEC:00000002:5F2A7E6A:logrotate::root@pam:";
    assert_eq!(Upid::parse(empty).unwrap().worker_id, None);
    assert_eq!(Upid::parse(empty).unwrap().to_string(), empty);
    for (bad, says) in [
        ("", "expected `UPID:"),
        (
            "UPID:pbs1:0000C530:001C9BEC:00000002:5F2A7E6A:reader:x:root@pam",
            "expected `UPID:",
        ),
        (
            "UPID:pbs1:C530:001C9BEC:00000002:5F2A7E6A:reader:x:root@pam:",
            "pid",
        ),
        (
            "UPID:pbs1:0000C530:001C9BEC:00000002:5F2A7E6A::x:root@pam:",
            "worker type",
        ),
        (
            "UPID:pbs1:0000C530:001C9BEC:00000002:5F2A7E6A:reader:\\x3:root@pam:",
            "byte 0",
        ),
        (
            "UPID:../x:0000C530:001C9BEC:00000002:5F2A7E6A:reader:x:root@pam:",
            "node",
        ),
        (
            "UPID:pbs1:0000C530:001C9BEC:00000002:5F2A7E6A:../reader:x:root@pam:",
            "worker type",
        ),
    ] {
        let error = Upid::parse(bad).unwrap_err().to_string();
        assert!(error.contains(says), "{bad}: {error}");
    }
}

#[test]
fn escaping_as_in_lock_and_task_names() {
    let path = "vm/100/2024-05-01T10:00:00Z/.index.json.lck";
    let escaped = "vm-100-2024\\x2d05\\x2d01T10\\x3a00\\x3a00Z-.index.json.lck";
    assert_eq!(escape(path), escaped);
    assert_eq!(unescape(escaped).unwrap(), path);
    assert_eq!(escape(".a.b"), "\\x2ea.b");
    assert!(unescape("\\xff").unwrap_err().to_string().contains("UTF-8"));
    assert!(unescape("a\\q41").is_err());
}

#[test]
fn names_follow_the_table() {
    for good in ["abc", "_a.b-c", "x23456789012345678901234567890ab"] {
        assert_eq!(DatastoreName::parse(good).unwrap().as_str(), good);
    }
    for bad in [
        "",
        "ab",
        ".abc",
        "-abc",
        "a/b",
        "a b c",
        "äbc",
        "x234567890123456789012345678901234",
    ] {
        assert!(DatastoreName::parse(bad).is_err(), "{bad}");
    }
    for bad in ["..", ".", "a/..", "/a", "a/", "a//b", "1/2/3/4/5/6/7/8"] {
        assert!(Namespace::parse(bad).is_err(), "{bad}");
    }
    let namespace = Namespace::parse("a/b").unwrap();
    assert_eq!(namespace.rel_path().to_str(), Some("ns/a/ns/b"));
    assert_eq!(namespace.parent().unwrap().parent(), Some(Namespace::root()));
    assert_eq!(namespace.child("c").unwrap().as_str(), "a/b/c");
    assert!(namespace.child("c/d").is_err());
    assert!(namespace.is_within(&Namespace::parse("a").unwrap()));
    assert!(
        !Namespace::parse("ab")
            .unwrap()
            .is_within(&Namespace::parse("a").unwrap())
    );
    assert_eq!((Namespace::root().depth(), namespace.depth()), (0, 2));

    for bad in [
        "vm/100/2024-05-01T10:00:00",
        "vm/100/2024-02-30T10:00:00Z",
        "vm/100/2024-05-01t10:00:00Z",
        "vm/100/1970-01-01T00:00:00Z",
        "vm/../2024-05-01T10:00:00Z",
        "qm/100/2024-05-01T10:00:00Z",
        "vm/100",
        "vm/1/0/2024-05-01T10:00:00Z",
    ] {
        assert!(SnapshotPath::parse(bad).is_err(), "{bad}");
    }
    assert!(BackupTime::from_epoch(0).is_err());
    assert_eq!(
        BackupTime::from_epoch(BackupTime::MAX_EPOCH).unwrap().to_string(),
        "9999-12-31T23:59:59Z"
    );

    assert_eq!(Userid::parse("a@b@pbs").unwrap().realm(), "pbs");
    assert_eq!(Authid::parse("a!b@pbs!tok").unwrap().user.name(), "a!b");
    for bad in [
        "admin", "@pbs", "a b@pbs", "a:b@pbs", "a/b@pbs", "a@p", "a@pbs!", "a@pbs!x", "!a@", "",
    ] {
        assert!(Authid::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn group_order_is_by_type_then_number_then_text() {
    let mut groups = ["vm/9", "vm/10", "vm/x", "vm/a", "host/z", "ct/100", "vm/010"]
        .map(|text| GroupPath::parse(text).unwrap());
    groups.sort_by(GroupPath::display_cmp);
    let texts = groups.map(|group| group.to_string());
    assert_eq!(
        texts,
        ["ct/100", "host/z", "vm/9", "vm/010", "vm/10", "vm/a", "vm/x"]
    );
}

#[test]
fn archive_names_of_clients_and_people() {
    for (user, server) in [
        ("root.pxar", "root.pxar.didx"),
        ("root.mpxar", "root.mpxar.didx"),
        ("catalog.pcat1", "catalog.pcat1.didx"),
        ("drive-scsi0.img", "drive-scsi0.img.fidx"),
        ("qemu-server.conf", "qemu-server.conf.blob"),
        ("x.fidx", "x.fidx"),
    ] {
        assert_eq!(ArchiveName::from_user(user).unwrap().as_str(), server);
    }
    assert!(ArchiveName::from_user("drive-scsi0").is_err());
    assert!(
        ArchiveName::candidates("drive-scsi0")
            .iter()
            .any(|name| name.as_str() == "drive-scsi0.img.fidx")
    );
    for bad in ["", ".blob", "../x.blob", ".protected", "x", "a/b.blob"] {
        assert!(ArchiveName::parse(bad).is_err(), "{bad}");
    }
    assert!(ArchiveName::candidates("../etc/passwd").is_empty());
    let name = ArchiveName::parse("drive-scsi0.img.fidx").unwrap();
    assert_eq!(
        (name.kind(), name.client_name()),
        (ArchiveKind::Fixed, "drive-scsi0.img")
    );
}
