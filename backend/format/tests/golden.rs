//! Stores written by the reference implementation: every manifest, index, blob and chunk of both.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use common::GOLDEN;
use fleethold_format::blob::{BlobDecoder, MAX_BLOB_PLAIN};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;
use fleethold_format::hash::Sha256;
use fleethold_format::index::{
    DYNAMIC_ENTRY_LEN, DynamicEntry, DynamicHeader, FIXED_ENTRY_LEN, FixedHeader, INDEX_HEADER_LEN,
};
use fleethold_format::key_file::{KeyFile, KeyFileError};
use fleethold_format::manifest::{Manifest, SignatureCheck};
use fleethold_format::names::{ArchiveKind, ArchiveName};
use serde_json::Value;

fn key(file: &str) -> CryptKey {
    KeyFile::parse(&GOLDEN.read(file)).unwrap().unlock(None).unwrap()
}

#[test]
fn key_files_hold_the_same_key() {
    let plain = KeyFile::parse(&GOLDEN.read("encryption-key.json")).unwrap();
    let wrapped = KeyFile::parse(&GOLDEN.read("encryption-key-scrypt.json")).unwrap();
    assert!(!plain.needs_passphrase());
    assert!(wrapped.needs_passphrase());
    let key = plain.unlock(None).unwrap();
    assert_eq!(
        key.fingerprint().to_string().replace(':', ""),
        "c1f1bda507eb86d454ff8072ecab0bcf6fee0c170bd5f52e8c189395c9f418b1"
    );
    assert_eq!(
        wrapped.unlock(Some(b"golden-pass")).unwrap().id_key(),
        key.id_key()
    );
    assert!(matches!(
        wrapped.unlock(Some(b"golden-past")),
        Err(KeyFileError::WrongPassphrase)
    ));
    let missing = wrapped.unlock(None).unwrap_err().to_string();
    assert_eq!(missing, "key file needs a passphrase (hint: the test password)");
}

/// Index entries as (digest, plain length), and the checksum over them.
fn index_entries(kind: ArchiveKind, raw: &[u8]) -> (Vec<(ChunkDigest, u64)>, [u8; 32], [u8; 32]) {
    let (head, body) = raw.split_at(INDEX_HEADER_LEN);
    let len = raw.len() as u64;
    let (entries, stored) = if kind == ArchiveKind::Fixed {
        let header = FixedHeader::parse(raw, len).unwrap();
        assert_eq!(header.encode()[..], *head, "the header encodes to the same bytes");
        let digests = body
            .chunks_exact(FIXED_ENTRY_LEN)
            .map(|entry| ChunkDigest(entry.try_into().unwrap()));
        let entries: Vec<_> = digests
            .zip(0..)
            .map(|(digest, i)| (digest, header.chunk_len(i)))
            .collect();
        assert_eq!(entries.len() as u64, header.chunk_count());
        (entries, header.csum)
    } else {
        let header = DynamicHeader::parse(raw, len).unwrap();
        assert_eq!(header.encode()[..], *head, "the header encodes to the same bytes");
        let mut end = 0;
        let entries: Vec<_> = (0..)
            .zip(body.chunks_exact(DYNAMIC_ENTRY_LEN))
            .map(|(number, bytes)| {
                let entry = DynamicEntry::parse(bytes.try_into().unwrap(), number, end).unwrap();
                assert_eq!(entry.encode()[..], *bytes);
                let len = entry.end - end;
                end = entry.end;
                (entry.digest, len)
            })
            .collect();
        assert_eq!(entries.len() as u64, header.entry_count);
        (entries, header.csum)
    };
    (entries, stored, Sha256::digest(body))
}

fn table(file: &str) -> Value {
    serde_json::from_slice(&GOLDEN.read(file)).unwrap()
}

fn check_store(store: &str, listed: &Value, key: &CryptKey) {
    let mut decoder = BlobDecoder::new();
    let mut by_snapshot: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for file in listed["files"].as_array().unwrap() {
        by_snapshot
            .entry(file["path"].as_str().unwrap())
            .or_default()
            .push(file);
    }
    let mut checked = 0;
    for (snapshot, files) in by_snapshot {
        let manifest =
            Manifest::decode(&GOLDEN.read(&format!("{store}/{snapshot}/index.json.blob"))).unwrap();
        assert!(snapshot.ends_with(&manifest.snapshot.to_string()));
        let signed = manifest.verify_signature(key).unwrap();
        assert_eq!(signed == SignatureCheck::Valid, manifest.signature.is_some());
        assert_eq!(
            manifest.key_fingerprint().unwrap().is_some(),
            manifest.signature.is_some()
        );
        for file in files {
            let name = ArchiveName::parse(file["file"].as_str().unwrap()).unwrap();
            if name.as_str() == ArchiveName::MANIFEST || file["plain-sha256"].is_null() {
                continue;
            }
            let raw = GOLDEN.read(&format!("{store}/{snapshot}/{name}"));
            let entry = manifest.file(&name).ok();
            let mode = entry.map(|entry| entry.crypt_mode);
            let plain = if name.kind().is_index() {
                let entry = entry.unwrap();
                let (chunks, stored, computed) = index_entries(name.kind(), &raw);
                assert_eq!((stored, computed), (entry.csum, entry.csum));
                let mut plain = Vec::new();
                for (digest, len) in chunks {
                    let hex = digest.to_string();
                    let chunk = GOLDEN.read(&format!("{store}/.chunks/{}/{hex}", &hex[..4]));
                    let mut out = vec![0; usize::try_from(len).unwrap()];
                    decoder
                        .decode_chunk(&chunk, &digest, entry.crypt_mode, Some(key), &mut out)
                        .unwrap();
                    plain.extend(out);
                }
                assert_eq!(plain.len() as u64, entry.size);
                plain
            } else {
                if let Some(entry) = entry {
                    assert_eq!(entry.size, raw.len() as u64);
                    assert_eq!(entry.csum[..], Sha256::digest(&raw)[..]);
                }
                let mode = mode.filter(|_| name.as_str() != ArchiveName::WRAPPED_KEY);
                decoder
                    .decode_blob(&raw, mode, Some(key), MAX_BLOB_PLAIN)
                    .unwrap()
            };
            assert_eq!(
                hex::encode(Sha256::digest(&plain)),
                file["plain-sha256"].as_str().unwrap(),
                "{name}"
            );
            checked += 1;
        }
    }
    assert!(checked >= 10, "{store}: only {checked} files in the table");
}

#[test]
fn every_file_of_the_golden_store_decodes() {
    check_store("store", &table("expected.json"), &key("encryption-key.json"));
}

#[test]
fn every_file_of_the_real_store_decodes() {
    check_store(
        "real/store",
        &table("real/expected-real.json"),
        &key("real/enc.key"),
    );
}

#[test]
fn a_manifest_survives_being_written_again() {
    let key = key("encryption-key.json");
    let raw = GOLDEN.read("store/vm/101/2024-05-01T11:00:00Z/index.json.blob");
    let mut manifest = Manifest::decode(&raw).unwrap();
    assert!(
        manifest
            .files
            .iter()
            .any(|file| file.crypt_mode == CryptMode::Encrypt)
    );
    let signature = manifest.signature;
    manifest
        .unprotected
        .insert("notes".into(), "changed by the server".into());
    let again = Manifest::decode(&manifest.encode(Some(&key)).unwrap()).unwrap();
    assert_eq!(again.signature, signature, "unprotected data is not signed");
    assert_eq!(again.notes().unwrap(), Some("changed by the server"));
    assert_eq!(again.files, manifest.files);
}
