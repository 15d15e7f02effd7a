//! What is written is read back: blobs, chunks, indexes, names, configuration, keys.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use fleethold_format::blob::{BlobDecoder, BlobEncoder, EncodeOptions, inspect};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;
use fleethold_format::index::{DynamicEntry, FixedHeader};
use fleethold_format::key_file::{Kdf, KeyFile, KeyFileError};
use fleethold_format::names::{Authid, BackupTime, Namespace};
use fleethold_format::property_string;
use fleethold_format::section_config::{Section, SectionConfig};
use fleethold_format::upid::Upid;
use proptest::collection::vec;
use proptest::prelude::*;

fn key(byte: u8) -> CryptKey {
    CryptKey::new([byte; 32]).unwrap()
}

/// Data with runs, so that compression sometimes helps and sometimes does not.
fn data() -> impl Strategy<Value = Vec<u8>> {
    vec((any::<u8>(), 1..400_usize), 0..40).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(byte, len)| vec![byte; len % 13 * (len / 13)])
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blobs_and_chunks(plain in data(), compress: bool, encrypt: bool) {
        let key = encrypt.then(|| key(9));
        let raw = BlobEncoder::new().encode(&plain, EncodeOptions { compress, key: key.as_ref() }).unwrap();
        let kind = inspect(&raw).unwrap().kind;
        prop_assert_eq!(kind.is_encrypted(), encrypt);
        prop_assert!(raw.len() <= kind.header_len() + plain.len(), "never longer than raw");
        prop_assert!(compress || !kind.is_compressed());

        let mode = if encrypt { CryptMode::Encrypt } else { CryptMode::None };
        let other = if encrypt { CryptMode::SignOnly } else { CryptMode::Encrypt };
        let mut decoder = BlobDecoder::new();
        let limit = plain.len() as u64;
        prop_assert_eq!(&decoder.decode_blob(&raw, Some(mode), key.as_ref(), limit).unwrap(), &plain);
        if limit > 0 {
            prop_assert!(decoder.decode_blob(&raw, Some(mode), key.as_ref(), limit - 1).is_err());
        }

        let digest = ChunkDigest::of_maybe_keyed(&plain, key.as_ref());
        let mut out = vec![0xEE; plain.len()];
        decoder.decode_chunk(&raw, &digest, mode, key.as_ref(), &mut out).unwrap();
        prop_assert_eq!(&out, &plain);
        prop_assert!(decoder.decode_chunk(&raw, &digest, other, key.as_ref(), &mut out).is_err());
        let mut longer = vec![0; plain.len() + 1];
        prop_assert!(decoder.decode_chunk(&raw, &digest, mode, key.as_ref(), &mut longer).is_err());
    }

    #[test]
    fn any_flipped_bit_is_noticed(plain in data(), compress: bool, encrypt: bool, at: prop::sample::Index, bit in 0..8_u32) {
        let key = encrypt.then(|| key(9));
        let mut raw = BlobEncoder::new().encode(&plain, EncodeOptions { compress, key: key.as_ref() }).unwrap();
        let digest = ChunkDigest::of_maybe_keyed(&plain, key.as_ref());
        let mode = if encrypt { CryptMode::Encrypt } else { CryptMode::None };
        let at = at.index(raw.len());
        raw[at] ^= 1_u8 << bit;
        let mut out = vec![0; plain.len()];
        prop_assert!(BlobDecoder::new().decode_chunk(&raw, &digest, mode, key.as_ref(), &mut out).is_err());
    }

    #[test]
    fn fixed_headers(size in 1..u64::MAX / 8, shift in 0..=24_u32, ctime: i64, csum: [u8; 32]) {
        let header = FixedHeader { uuid: uuid::Uuid::from_u128(7), ctime, csum, size, chunk_size: 1 << shift };
        let len = header.chunk_count().checked_mul(32).and_then(|len| len.checked_add(4096));
        let parsed = FixedHeader::parse(&header.encode(), len.unwrap_or(u64::MAX));
        match len {
            Some(len) => {
                prop_assert_eq!(parsed, Ok(header.clone()));
                prop_assert!(FixedHeader::parse(&header.encode(), len + 32).is_err());
                prop_assert!(FixedHeader::parse(&header.encode(), len - 1).is_err());
            }
            None => prop_assert!(parsed.is_err()),
        }
    }

    #[test]
    fn dynamic_entries(start: u64, len in 0..20_000_000_u64, digest: [u8; 32]) {
        let entry = DynamicEntry { end: start.wrapping_add(len), digest: ChunkDigest(digest) };
        let parsed = DynamicEntry::parse(&entry.encode(), 3, start);
        let valid = (1..=16 << 20).contains(&len) && start.checked_add(len).is_some();
        prop_assert_eq!(parsed.ok(), valid.then_some(entry));
    }

    #[test]
    fn times(epoch in 1..=BackupTime::MAX_EPOCH) {
        let time = BackupTime::from_epoch(epoch).unwrap();
        prop_assert_eq!(BackupTime::parse(&time.to_string()), Ok(time));
    }

    #[test]
    fn namespaces(components in vec("[A-Za-z0-9_][A-Za-z0-9._-]{0,8}", 0..=7)) {
        let mut namespace = Namespace::root();
        for component in &components {
            namespace = namespace.child(component).unwrap();
        }
        prop_assert_eq!(namespace.components().collect::<Vec<_>>(), components);
        prop_assert_eq!(Namespace::parse(namespace.as_str()), Ok(namespace));
    }

    #[test]
    fn upids(pid: u32, pstart in 0..1_u64 << 36, task_id: u32, starttime in 0..i64::MAX, id in "[ -~]{0,20}") {
        let upid = Upid {
            node: "pbs-1".into(), pid, pstart, task_id, starttime,
            worker_type: "reader".into(),
            worker_id: Some(id).filter(|id| !id.is_empty()),
            authid: Authid::parse("a!b@pbs!tok").unwrap(),
        };
        prop_assert_eq!(Upid::parse(&upid.to_string()), Ok(upid));
    }

    #[test]
    fn section_configs(sections in vec(("[a-z][a-z0-9-]{0,9}", vec(("[a-z-]{1,9}", "[!-~]([ -~]{0,20}[!-~])?"), 0..5)), 0..5)) {
        let sections = sections.into_iter().enumerate().map(|(number, (ty, props))| {
            Section { props, ..Section::new(&ty, &format!("id {number}")) }
        });
        let config = SectionConfig { sections: sections.collect() };
        let mut read = SectionConfig::parse(&config.write().unwrap()).unwrap();
        for section in &mut read.sections {
            prop_assert!(section.line > 0);
            section.line = 0;
        }
        prop_assert_eq!(read, config);
    }

    #[test]
    fn property_strings(values in prop::collection::btree_map("[a-z-]{1,6}", "[ -~\\n\u{e4}]{0,12}", 0..5)) {
        let values: Vec<_> = values.into_iter().collect();
        let default_key = values.first().map(|(key, _)| key.as_str());
        for default_key in [None, default_key] {
            let text = property_string::format(&values, default_key);
            prop_assert_eq!(property_string::parse(&text, default_key), Ok(values.clone()));
        }
    }
}

#[test]
fn key_files_of_all_kinds() {
    let now = time::OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
    let key = key(3);
    let plain = KeyFile::create_plain(&key, now);
    let mut files = vec![(plain, None)];
    for kdf in [Kdf::scrypt().unwrap(), Kdf::pbkdf2().unwrap()] {
        files.push((
            KeyFile::create(&key, kdf, "secret", Some("hint".into()), now).unwrap(),
            Some("secret"),
        ));
    }
    for (file, passphrase) in files {
        let read = KeyFile::parse(&file.to_json().unwrap()).unwrap();
        assert_eq!(read.needs_passphrase(), passphrase.is_some());
        let unlocked = read.unlock(passphrase.map(str::as_bytes)).unwrap();
        assert_eq!(unlocked.fingerprint(), key.fingerprint());
        assert_eq!(read.created, now);
        if passphrase.is_some() {
            assert!(matches!(
                read.unlock(Some(b"Secret")),
                Err(KeyFileError::WrongPassphrase)
            ));
        }
    }
    assert!(matches!(
        KeyFile::create(&key, Kdf::pbkdf2().unwrap(), "four", None, now),
        Err(KeyFileError::PassphraseTooShort { actual: 4 })
    ));
}
