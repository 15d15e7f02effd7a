//! The plan against a map, and the archives it must refuse.

use std::collections::HashMap;
use std::path::PathBuf;

use fleethold_format::index::{DynamicEntry, DynamicHeader, FixedHeader};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const CHUNK: u64 = 64 << 10;
const ANY: PlanLimit = PlanLimit { bytes: u64::MAX };

/// A fixed index of these digests, the last chunk `tail` bytes short.
fn fixed(digests: &[ChunkDigest], tail: u64) -> (TempDir, IndexFile) {
    let size = digests.len() as u64 * CHUNK - tail;
    let header = FixedHeader {
        uuid: uuid::Uuid::nil(),
        ctime: 0,
        csum: [0; 32],
        size,
        chunk_size: CHUNK,
    };
    let entries: Vec<u8> = digests.iter().flat_map(|digest| digest.0).collect();
    index("image.fidx", &header.encode(), &entries)
}

fn dynamic(entries: &[(u64, ChunkDigest)]) -> (TempDir, IndexFile) {
    let header = DynamicHeader {
        uuid: uuid::Uuid::nil(),
        ctime: 0,
        csum: [0; 32],
        entry_count: 0,
    };
    let mut end = 0;
    let encode = |(len, digest): &(u64, ChunkDigest)| {
        end += len;
        DynamicEntry { end, digest: *digest }.encode()
    };
    let entries: Vec<u8> = entries.iter().flat_map(encode).collect();
    index("root.pxar.didx", &header.encode(), &entries)
}

fn index(name: &str, header: &[u8], entries: &[u8]) -> (TempDir, IndexFile) {
    let directory = tempfile::tempdir().expect("a directory");
    let path: PathBuf = directory.path().join(name);
    std::fs::write(&path, [header, entries].concat()).expect("writing an index");
    let index = IndexFile::open(&path).expect("an index");
    (directory, index)
}

fn digest(number: u16) -> ChunkDigest {
    ChunkDigest::of(&number.to_le_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// More positions than one window, few and many different chunks.
    #[test]
    fn uses_are_linked_like_in_a_map(numbers in prop::collection::vec(0_u16..400, 1..10_000), spread in 1_u16..400) {
        let zero = zero_digest(CHUNK, None);
        let kinds: Vec<Option<u16>> = numbers.iter().map(|number| (number % spread).checked_sub(1)).collect();
        let digests: Vec<_> = kinds.iter().map(|kind| kind.map_or(zero, digest)).collect();
        let (_directory, index) = fixed(&digests, 0);
        let plan = RestorePlan::build(&index, CryptMode::None, None, ANY).expect("a plan");

        let mut next: HashMap<u16, u64> = HashMap::new();
        for (position, kind) in (0..kinds.len() as u64).rev().zip(kinds.iter().rev()) {
            let expected = kind.and_then(|kind| next.insert(kind, position));
            prop_assert_eq!(plan.next_use(position), expected);
        }
        let mut counts = PlanCounts { bytes_total: index.size(), chunks_total: kinds.len() as u64, ..PlanCounts::default() };
        let (mut seen, mut before) = (HashMap::new(), false);
        for (position, kind) in (0..).zip(&kinds) {
            let expected = match kind {
                None => Use::Zero,
                Some(kind) if seen.insert(*kind, ()).is_none() => Use::First,
                Some(_) => Use::Repeat,
            };
            prop_assert_eq!(plan.use_at(position), expected);
            counts.zero_chunks += u64::from(expected == Use::Zero);
            counts.zero_runs += u64::from(expected == Use::Zero && !before);
            counts.chunks_distinct += u64::from(expected == Use::First);
            counts.duplicate_chunks += u64::from(expected == Use::Repeat);
            before = expected == Use::Zero;
        }
        counts.zero_bytes = counts.zero_chunks * CHUNK;
        prop_assert_eq!(plan.counts(), counts);
        prop_assert!(plan.memory_bytes() <= 5 * kinds.len() as u64);
        prop_assert_eq!(plan.index_csum(), index.verify_csum().expect("a checksum"));
    }
}

#[test]
fn a_short_tail_of_zeros_is_zeros() {
    let tail = 1000;
    let digests = [
        digest(1),
        zero_digest(CHUNK, None),
        zero_digest(CHUNK - tail, None),
    ];
    let (_directory, index) = fixed(&digests, tail);
    let counts = RestorePlan::build(&index, CryptMode::None, None, ANY)
        .expect("a plan")
        .counts();
    assert_eq!((counts.zero_chunks, counts.zero_runs), (2, 1));
    assert_eq!(
        (counts.zero_bytes, counts.bytes_total),
        (2 * CHUNK - tail, 3 * CHUNK - tail)
    );
}

#[test]
fn zeros_are_recognised_under_the_key_of_an_encrypted_archive_only() {
    let key = CryptKey::new([5; 32]).expect("a key");
    let digests = [zero_digest(CHUNK, Some(&key)), zero_digest(CHUNK, None)];
    let (_directory, index) = fixed(&digests, 0);
    let zero_at = |mode, key| {
        let plan = RestorePlan::build(&index, mode, key, ANY).expect("a plan");
        [0, 1].map(|position| plan.use_at(position) == Use::Zero)
    };
    assert_eq!(zero_at(CryptMode::Encrypt, Some(&key)), [true, false]);
    assert_eq!(zero_at(CryptMode::Encrypt, None), [false, false]);
    assert_eq!(zero_at(CryptMode::None, None), [false, true]);
    assert_eq!(zero_at(CryptMode::SignOnly, Some(&key)), [false, true]);
}

#[test]
fn the_largest_zero_chunk_of_a_dynamic_index_is_zeros() {
    let (long, odd) = (16 << 20, 12_345);
    let entries = [
        (odd, zero_digest(odd, None)),
        (long, zero_digest(long, None)),
        (long, zero_digest(long, None)),
        (7, digest(1)),
    ];
    let (_directory, index) = dynamic(&entries);
    let plan = RestorePlan::build(&index, CryptMode::None, None, ANY).expect("a plan");
    let uses: Vec<_> = (0..4).map(|position| plan.use_at(position)).collect();
    assert_eq!(uses, [Use::First, Use::Zero, Use::Zero, Use::First]);
    assert_eq!(plan.largest_chunk_bytes(), odd);
}

#[test]
fn one_chunk_with_two_lengths_is_refused() {
    let (_directory, index) = dynamic(&[(1000, digest(1)), (1000, digest(2)), (2000, digest(1))]);
    let error = RestorePlan::build(&index, CryptMode::None, None, ANY).expect_err("two lengths");
    assert!(
        matches!(
            error,
            PlanError::TwoLengths {
                first_position: 0,
                first: 1000,
                position: 2,
                second: 2000,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(error.code(), "index-invalid");
}

#[test]
fn an_empty_dynamic_index_is_an_empty_plan() {
    let (_directory, index) = dynamic(&[]);
    let plan = RestorePlan::build(&index, CryptMode::None, None, ANY).expect("a plan");
    assert_eq!(plan.counts(), PlanCounts::default());
    assert_eq!(plan.use_at(0), Use::Zero);
    assert_eq!(plan.next_use(0), None);
}

/// 4 KiB on disk, and 8 GiB of holes that claim 2^28 chunks.
#[test]
fn a_plan_larger_than_its_limit_is_refused_before_anything_is_read() {
    let chunks = 1_u64 << 28;
    let header = FixedHeader {
        uuid: uuid::Uuid::nil(),
        ctime: 0,
        csum: [0; 32],
        size: chunks * CHUNK,
        chunk_size: CHUNK,
    };
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("image.fidx");
    std::fs::write(&path, header.encode()).expect("writing the header");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("the index");
    file.set_len(4096 + chunks * 32).expect("holes");
    let index = IndexFile::open(&path).expect("an index");
    let limit = PlanLimit { bytes: 64 << 20 };
    let error = RestorePlan::build(&index, CryptMode::None, None, limit).expect_err("too large");
    assert_eq!(error.code(), "memory-budget");
    let text = error.to_string();
    for part in ["image.fidx", "268435456 chunks", "1879048192 bytes", "67108864"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
