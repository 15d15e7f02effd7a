//! Damaged input says what was expected and what was found.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;

use fleethold_format::blob::{BlobDecoder, BlobEncoder, BlobKind, ChunkError, EncodeOptions, Unverified};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;
use fleethold_format::index::{DynamicHeader, FixedHeader};
use fleethold_format::key_file::KeyFile;
use fleethold_format::manifest::Manifest;
use fleethold_format::property_string;
use fleethold_format::section_config::{Section, SectionConfig};
use serde_json::{Value, json};

/// A blob around `payload`, with a good CRC, as damage that a CRC cannot see.
fn forged(kind: BlobKind, payload: &[u8]) -> Vec<u8> {
    let mut raw = kind.magic().to_vec();
    raw.extend(crc32fast::hash(payload).to_le_bytes());
    raw.extend(payload);
    raw
}

fn decode(raw: &[u8], plain: &[u8], mode: CryptMode, key: Option<&CryptKey>) -> Result<(), ChunkError> {
    let digest = ChunkDigest::of(plain);
    BlobDecoder::new().decode_chunk(raw, &digest, mode, key, &mut vec![0; plain.len()])
}

/// Among chunks checked together, with and without a key, exactly the wrong ones are found.
#[test]
fn wrong_chunks_among_many() {
    let key = CryptKey::new([9; 32]).unwrap();
    let plain: Vec<Vec<u8>> = (0..40).map(|n| vec![n; 1000 + usize::from(n)]).collect();
    let wrong = [3, 17, 39];
    let mut decoder = BlobDecoder::new();
    let mut outs: Vec<Vec<u8>> = plain.iter().map(|plain| vec![0; plain.len()]).collect();
    let mut decoded = Vec::new();
    for (n, (plain, out)) in plain.iter().zip(&mut outs).enumerate() {
        let (key, mode) = if n % 3 == 0 {
            (Some(&key), CryptMode::Encrypt)
        } else {
            (None, CryptMode::None)
        };
        let mut raw = BlobEncoder::new()
            .encode(plain, EncodeOptions { compress: true, key })
            .unwrap();
        // A good chunk in the place of another.
        let named = if wrong.contains(&n) {
            &b"another"[..]
        } else {
            plain
        };
        let digest = ChunkDigest::of_maybe_keyed(named, key);
        decoded.push(
            decoder
                .decode_chunk_unverified(&mut raw, &digest, mode, key, out)
                .unwrap(),
        );
    }
    let results = Unverified::verify_all(&decoded);
    let found: Vec<usize> = (0..)
        .zip(&results)
        .filter(|(_, result)| result.is_err())
        .map(|(n, _)| n)
        .collect();
    assert_eq!(found, wrong);
    assert!(matches!(
        &results[3],
        Err(ChunkError::Digest { expected, actual })
            if *expected == key.digest(b"another") && *actual == key.digest(&plain[3])
    ));
}

#[test]
fn chunks() {
    let plain = vec![7; 5000];
    let key = CryptKey::new([9; 32]).unwrap();
    let other = CryptKey::new([8; 32]).unwrap();
    let encode = |key, compress| {
        BlobEncoder::new()
            .encode(&plain, EncodeOptions { compress, key })
            .unwrap()
    };
    let good = encode(None, true);
    let encrypted = encode(Some(&key), true);
    let flipped = |raw: &[u8], at: usize| {
        let mut raw = raw.to_vec();
        raw[at] ^= 1;
        raw
    };
    let none = CryptMode::None;
    let cases: Vec<(&str, Result<(), ChunkError>, &str)> = vec![
        ("empty", decode(&[], &plain, none, None), "blob-too-short"),
        (
            "half a header",
            decode(&good[..11], &plain, none, None),
            "blob-too-short",
        ),
        (
            "half an encrypted header",
            decode(&encrypted[..43], &plain, CryptMode::Encrypt, Some(&key)),
            "blob-too-short",
        ),
        (
            "magic",
            decode(&flipped(&good, 0), &plain, none, None),
            "blob-magic",
        ),
        ("crc", decode(&flipped(&good, 8), &plain, none, None), "blob-crc"),
        (
            "payload",
            decode(&flipped(&good, 20), &plain, none, None),
            "blob-crc",
        ),
        (
            "truncated",
            decode(&good[..good.len() - 1], &plain, none, None),
            "blob-crc",
        ),
        (
            "plain for encrypted",
            decode(&good, &plain, CryptMode::Encrypt, Some(&key)),
            "crypt-mode-mismatch",
        ),
        (
            "encrypted for plain",
            decode(&encrypted, &plain, CryptMode::SignOnly, Some(&key)),
            "crypt-mode-mismatch",
        ),
        (
            "no key",
            decode(&encrypted, &plain, CryptMode::Encrypt, None),
            "key-missing",
        ),
        (
            "other key",
            decode(&encrypted, &plain, CryptMode::Encrypt, Some(&other)),
            "key-or-data-wrong",
        ),
        (
            "iv",
            decode(&flipped(&encrypted, 12), &plain, CryptMode::Encrypt, Some(&key)),
            "key-or-data-wrong",
        ),
        (
            "tag",
            decode(&flipped(&encrypted, 28), &plain, CryptMode::Encrypt, Some(&key)),
            "key-or-data-wrong",
        ),
        (
            "unkeyed digest",
            decode(&encrypted, &plain, CryptMode::Encrypt, Some(&key)),
            "chunk-digest",
        ),
        ("swapped", decode(&good, &[8; 5000], none, None), "chunk-digest"),
        ("shorter", decode(&good, &[7; 5001], none, None), "chunk-length"),
        ("longer", decode(&good, &[7; 4999], none, None), "chunk-length"),
        (
            "plain, longer",
            decode(&encode(None, false), &[7; 4999], none, None),
            "chunk-length",
        ),
        (
            "not a stream",
            decode(&forged(BlobKind::Zstd, b"nonsense"), &plain, none, None),
            "blob-compression",
        ),
    ];
    for (what, result, code) in cases {
        let error = result.unwrap_err();
        assert_eq!(error.code(), code, "{what}: {error}");
    }
    decode(&good, &plain, none, None).unwrap();
}

/// A stream of 64 MiB of zeros that does not say how long it is.
fn bomb() -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(&vec![0; 64 << 20]).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn decompression_stops_at_the_known_length() {
    let raw = forged(BlobKind::Zstd, &bomb());
    let error = decode(&raw, &[0; 4096], CryptMode::None, None).unwrap_err();
    assert_eq!(error.code(), "blob-compression", "{error}");
    let error = BlobDecoder::new()
        .decode_blob(&raw, None, None, 1 << 20)
        .unwrap_err();
    assert_eq!(error.to_string(), "blob of more than 1048576 plain bytes");
    assert!(BlobDecoder::new().decode_blob(&raw, None, None, 64 << 20).is_ok());
}

#[test]
fn one_decoder_goes_on_after_an_error() {
    let mut decoder = BlobDecoder::new();
    let plain = vec![3; 100_000];
    let good = BlobEncoder::new()
        .encode(
            &plain,
            EncodeOptions {
                compress: true,
                key: None,
            },
        )
        .unwrap();
    let bomb = forged(BlobKind::Zstd, &bomb());
    for _ in 0..3 {
        assert!(decoder.decode_blob(&bomb, None, None, 1000).is_err());
        assert!(
            decoder
                .decode_blob(&forged(BlobKind::Zstd, &good[12..30]), None, None, 1000)
                .is_err()
        );
        assert_eq!(decoder.decode_blob(&good, None, None, 100_000).unwrap(), plain);
        let mut out = vec![0; plain.len()];
        decoder
            .decode_chunk(&good, &ChunkDigest::of(&plain), CryptMode::None, None, &mut out)
            .unwrap();
        assert_eq!(out, plain);
    }
}

#[test]
fn indexes() {
    let header = FixedHeader {
        uuid: uuid::Uuid::nil(),
        ctime: 0,
        csum: [0; 32],
        size: 10 << 20,
        chunk_size: 4 << 20,
    };
    let good = header.encode();
    let len = 4096 + 3 * 32;
    assert_eq!(
        [0, 1, 2, 3].map(|chunk| header.chunk_len(chunk)),
        [4 << 20, 4 << 20, 2 << 20, 0]
    );
    let with = |at: usize, value: u64| {
        let mut bytes = good;
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    for (bytes, len, says) in [
        (
            good,
            len - 32,
            "index file of 4160 bytes, expected 4192 by its header",
        ),
        (good, 100, "expected at least 4096 bytes, found 100"),
        (with(0, 1), len, "unknown magic"),
        (with(64, 0), len, "found 0"),
        (with(64, u64::MAX), len, "expected"),
        (with(72, 0), len, "found 0"),
        (with(72, 3 << 20), len, "power of two"),
        (with(72, 1 << 40), len, "up to 16777216, found 1099511627776"),
    ] {
        let error = FixedHeader::parse(&bytes, len).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(FixedHeader::parse(&good[..4095], len).is_err());
    assert!(
        DynamicHeader::parse(&good, len)
            .unwrap_err()
            .to_string()
            .contains("magic")
    );

    let dynamic = DynamicHeader {
        uuid: uuid::Uuid::nil(),
        ctime: 0,
        csum: [0; 32],
        entry_count: 0,
    };
    assert_eq!(
        DynamicHeader::parse(&dynamic.encode(), 4096),
        Ok(dynamic.clone()),
        "an empty stream"
    );
    let error = DynamicHeader::parse(&dynamic.encode(), 4096 + 41)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "index entries of 41 bytes, expected a multiple of 40");
}

#[test]
fn manifests() {
    let csum = "01".repeat(32);
    let good = json!({
        "backup-type": "vm", "backup-id": "100", "backup-time": 5, "signature": null,
        "files": [{"filename": "a.blob", "size": 1, "csum": csum}, {"filename": "b.blob", "size": 1, "csum": csum}],
        "unprotected": {"notes": 3, "verify_state": {"state": "ok", "upid": "x"}},
    });
    let manifest = Manifest::from_json(good.to_string().as_bytes()).unwrap();
    assert_eq!(manifest.files[0].crypt_mode, CryptMode::None, "the default");
    let notes = manifest.notes().unwrap_err().to_string();
    assert_eq!(
        notes,
        "manifest field `unprotected.notes`: expected a text, found 3"
    );
    assert!(manifest.verify_state().is_err());

    let cases: [(&str, Value, &str); 9] = [
        ("/backup-type", "qm".into(), "field `backup-type`"),
        ("/backup-time", 0.into(), "field `backup-time`"),
        (
            "/files",
            Value::Null,
            "field `files`: expected an array, found null",
        ),
        ("/files/1/filename", "a.blob".into(), "lists `a.blob` twice"),
        (
            "/files/1/filename",
            "../a.blob".into(),
            "field `files[1].filename`",
        ),
        (
            "/files/1/csum",
            "01".into(),
            "field `files[1].csum`: expected 64 lower-case hex digits, found \"01\"",
        ),
        (
            "/files/1/size",
            (-1).into(),
            "field `files[1].size`: expected a number of bytes, found -1",
        ),
        ("/unprotected", 1.into(), "field `unprotected`"),
        ("/signature", "zz".into(), "field `signature`"),
    ];
    for (pointer, value, says) in cases {
        let mut document = good.clone();
        *document.pointer_mut(pointer).unwrap() = value;
        let error = Manifest::from_json(document.to_string().as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{pointer}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(
        Manifest::from_json(deep.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("recursion limit")
    );
}

#[test]
fn key_files() {
    let file = |kdf: Value, data: &str| {
        let file = json!({"kdf": kdf, "created": "2024-01-01T00:00:00Z", "modified": "2024-01-01T00:00:00Z", "data": data});
        KeyFile::parse(file.to_string().as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(file(Value::Null, "AAAA").contains("field `data`: expected 32 bytes, found 3"));
    assert!(file(Value::Null, "***").contains("key file"));
    let wrapped = "A".repeat(86) + "==";
    let scrypt = |n: u64, r: u64, p: u64| json!({"Scrypt": {"n": n, "r": r, "p": p, "salt": ""}});
    for (kdf, says) in [
        (scrypt(3, 8, 1), "kdf.Scrypt.n"),
        (scrypt(1 << 40, 8, 1), "at most 128 MiB"),
        (scrypt(1 << 63, 1 << 62, 1), "at most 128 MiB"),
        (scrypt(2, 0, 1), "kdf.Scrypt.r"),
        (scrypt(2, 1, 1000), "kdf.Scrypt.p"),
        (
            json!({"PBKDF2": {"iter": 1_u64 << 50, "salt": ""}}),
            "kdf.PBKDF2.iter",
        ),
        (json!({"Rot13": {}}), "unknown variant"),
    ] {
        let error = file(kdf, &wrapped);
        assert!(error.contains(says), "{error}");
    }
    assert!(
        KeyFile::parse(&vec![b' '; 1 << 20])
            .unwrap_err()
            .to_string()
            .contains("at most 65536")
    );
}

#[test]
fn section_configs_name_the_line() {
    for (text, says) in [
        (
            "datastore: a\n\tpath /a\n\n# comment\n",
            "line 4: expected a header",
        ),
        ("\tpath /a\n", "line 1: expected a header"),
        ("datastore: a\n\tpath\n", "line 2: expected a property"),
        (
            "datastore: a\n\tpath /a\ndatastore: b\n",
            "line 3: expected a property",
        ),
        (
            "datastore: a\n\tpath /a\n\ndatastore: a\n",
            "line 4: section `a` already stands at line 1",
        ),
        ("datastore:\n", "line 1"),
        ("1x: a\n", "line 1"),
    ] {
        let error = SectionConfig::parse(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
    }
    let config = SectionConfig::parse("\n\ndatastore:  a \r\n  path   /a b \n\tpath /c\n\n\n").unwrap();
    let section = config.section("a").unwrap();
    assert_eq!(section.props[0], ("path".into(), "/a b".into()));
    assert_eq!(section.get_all("path").count(), 2);
    assert_eq!(
        section.get("path").unwrap_err().to_string(),
        "line 5: property `path` of section `a` stands twice"
    );
    assert_eq!(section.get("comment"), Ok(None));
}

#[test]
fn section_configs_refuse_what_would_not_be_read_back() {
    let mut section = Section::new("datastore", "a");
    section.set("comment", "x\n\npath /etc");
    let error = SectionConfig {
        sections: vec![section.clone()],
    }
    .write()
    .unwrap_err()
    .to_string();
    assert!(error.contains("holds a line break"), "{error}");
    section.set("comment", "fine");
    assert!(section.unset("comment") && !section.unset("comment"));
    section.set("path", "/a");
    let config = SectionConfig {
        sections: vec![section.clone(), Section::new("datastore", "b")],
    };
    assert_eq!(
        config.write().unwrap(),
        "datastore: a\n\tpath /a\n\ndatastore: b\n"
    );
}

#[test]
fn property_strings_name_the_byte() {
    for (text, default_key, says) in [
        ("offline", None, "at byte 0: expected `key=value`"),
        ("a=1,offline", Some("type"), "at byte 4: expected `key=value`"),
        ("a=\"x", None, "at byte 4: expected a closing"),
        ("a=\"x\"y", None, "at byte 5: expected `,`"),
        ("a=\"\\q\"", None, "at byte 3"),
        ("a=1,a=2", None, "key `a` stands twice"),
        ("a=1,", None, "at byte 4"),
    ] {
        let error = property_string::parse(text, default_key).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let parsed = property_string::parse("offline,message=\"a, \\\"b\\\"\"", Some("type")).unwrap();
    assert_eq!(
        parsed,
        [
            ("type".into(), "offline".into()),
            ("message".into(), "a, \"b\"".into())
        ]
    );
}
