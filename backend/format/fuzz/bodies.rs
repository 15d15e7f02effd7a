//! What is fuzzed, in one place: `fuzz_targets/` runs these under cargo-fuzz, `tests/no_panic.rs` on a stable
//! compiler. Each takes arbitrary bytes and must not panic; what it accepts must survive being written again.

use fleethold_format::MAX_CHUNK_PLAIN;
use fleethold_format::blob::{self, BlobDecoder};
use fleethold_format::crypt::{CryptKey, CryptMode, Fingerprint};
use fleethold_format::digest::ChunkDigest;
use fleethold_format::escape;
use fleethold_format::index::{
    DYNAMIC_ENTRY_LEN, DynamicEntry, DynamicHeader, FixedHeader, INDEX_HEADER_LEN,
};
use fleethold_format::key_file::KeyFile;
use fleethold_format::manifest::Manifest;
use fleethold_format::names::{
    ArchiveName, Authid, BackupTime, DatastoreName, GroupPath, Namespace, SnapshotPath,
};
use fleethold_format::property_string;
use fleethold_format::section_config::SectionConfig;
use fleethold_format::upid::Upid;

fn key() -> CryptKey {
    CryptKey::new([9; 32]).expect("a constant key can be derived")
}

pub(crate) fn blob(data: &[u8]) {
    let mut decoder = BlobDecoder::new();
    for key in [None, Some(&key())] {
        if let Ok(plain) = decoder.decode_blob(data, None, key, 1 << 20) {
            assert!(plain.len() <= 1 << 20);
        }
    }
}

pub(crate) fn chunk(data: &[u8]) {
    let mut decoder = BlobDecoder::new();
    let key = key();
    for mode in [CryptMode::None, CryptMode::Encrypt, CryptMode::SignOnly] {
        let mut out = [0; 4096];
        let digest = ChunkDigest([7; 32]);
        assert!(
            decoder
                .decode_chunk(data, &digest, mode, Some(&key), &mut out)
                .is_err(),
            "no preimage"
        );
    }
    if let Ok(header) = blob::inspect(data) {
        assert!(header.header_len <= data.len());
    }
}

pub(crate) fn fixed_index(data: &[u8]) {
    if let Ok(header) = FixedHeader::parse(data, data.len() as u64) {
        let sum: u64 = (0..header.chunk_count())
            .map(|chunk| header.chunk_len(chunk))
            .sum();
        assert_eq!(sum, header.size);
        assert_eq!(
            FixedHeader::parse(&header.encode(), data.len() as u64),
            Ok(header)
        );
    }
    // A header alone may claim any length of the file.
    let _ = FixedHeader::parse(data, u64::MAX);
}

pub(crate) fn dynamic_index(data: &[u8]) {
    let Ok(header) = DynamicHeader::parse(data, data.len() as u64) else {
        return;
    };
    assert_eq!(
        DynamicHeader::parse(&header.encode(), data.len() as u64),
        Ok(header)
    );
    let (entries, _) = data
        .get(INDEX_HEADER_LEN..)
        .unwrap_or_default()
        .as_chunks::<DYNAMIC_ENTRY_LEN>();
    let mut end = 0;
    for (number, bytes) in (0..).zip(entries) {
        let Ok(entry) = DynamicEntry::parse(bytes, number, end) else {
            return;
        };
        assert!(entry.end > end && entry.end - end <= MAX_CHUNK_PLAIN);
        assert_eq!(entry.encode(), *bytes);
        end = entry.end;
    }
}

pub(crate) fn manifest(data: &[u8]) {
    let key = key();
    for manifest in [Manifest::decode(data), Manifest::from_json(data)]
        .into_iter()
        .flatten()
    {
        let _ = (
            manifest.verify_signature(&key),
            manifest.check_key_fingerprint(&key),
        );
        let _ = (
            manifest.notes(),
            manifest.verify_state(),
            manifest.chunk_upload_stats(),
        );
        let again = Manifest::decode(&manifest.encode(None).expect("encodes")).expect("reads its own");
        assert_eq!((again.snapshot, again.files), (manifest.snapshot, manifest.files));
    }
}

pub(crate) fn key_file(data: &[u8]) {
    if let Ok(file) = KeyFile::parse(data) {
        // Unlocking a wrapped one costs what the file says: too slow here.
        if !file.needs_passphrase() {
            let _ = file.unlock(None);
        }
        KeyFile::parse(&file.to_json().expect("encodes")).expect("reads its own");
    }
}

pub(crate) fn section_config(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(config) = SectionConfig::parse(text) {
        let written = config.write().expect("writes what it read");
        let again = SectionConfig::parse(&written).expect("reads its own");
        let bare = |config: SectionConfig| -> Vec<_> {
            config
                .sections
                .into_iter()
                .map(|section| (section.ty, section.id, section.props))
                .collect()
        };
        assert_eq!(bare(again), bare(config));
    }
}

pub(crate) fn property_string(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    for default_key in [None, Some("type")] {
        if let Ok(values) = property_string::parse(text, default_key) {
            let written = property_string::format(&values, default_key);
            assert_eq!(property_string::parse(&written, default_key), Ok(values));
        }
    }
}

pub(crate) fn names(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    fn check<T, E>(text: &str)
    where
        T: std::str::FromStr<Err = E> + std::fmt::Display,
    {
        if let Ok(name) = text.parse::<T>() {
            assert_eq!(name.to_string(), text, "one name, one spelling");
        }
    }
    check::<ArchiveName, _>(text);
    check::<Authid, _>(text);
    check::<BackupTime, _>(text);
    check::<ChunkDigest, _>(text);
    check::<DatastoreName, _>(text);
    check::<Fingerprint, _>(text);
    check::<GroupPath, _>(text);
    check::<Namespace, _>(text);
    check::<SnapshotPath, _>(text);
    for name in ArchiveName::candidates(text) {
        assert!(!name.as_str().contains('/'));
    }
}

pub(crate) fn upid(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(upid) = Upid::parse(text) {
        assert_eq!(Upid::parse(&upid.to_string()), Ok(upid));
    }
    assert_eq!(escape::unescape(&escape::escape(text)).as_deref(), Ok(text));
    let _ = escape::unescape(text);
}
