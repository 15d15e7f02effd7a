//! The fuzz targets on a stable compiler: arbitrary bytes, and real files with a few bytes changed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

#[path = "../fuzz/bodies.rs"]
mod bodies;

use common::GOLDEN;
use fleethold_format::blob::{BlobEncoder, EncodeOptions};
use fleethold_format::crypt::CryptKey;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Real inputs to start from: one of each kind.
fn seeds() -> Vec<Vec<u8>> {
    let key = CryptKey::new([9; 32]).unwrap();
    let mut seeds: Vec<Vec<u8>> = [
        "store/vm/100/2024-05-01T10:00:00Z/index.json.blob",
        "store/vm/100/2024-05-01T10:00:00Z/drive-scsi0.img.fidx",
        "store/vm/101/2024-05-01T11:00:00Z/qemu-server.conf.blob",
        "store/host/web1/2024-05-01T10:01:40Z/root.pxar.didx",
        "encryption-key.json",
        "encryption-key-scrypt.json",
    ]
    .map(|path| GOLDEN.read(path))
    .into();
    for text in [
        "datastore: store-1\n\tpath /srv/a\n\tcomment a, b\n\ndatastore: x\n  path /b\n",
        "offline,message=\"a, \\\"b\\\"\\n\"",
        "UPID:pbs1:0000C530:001C9BEC:00000002:5F2A7E6A:reader:a\\x3avm-100:root@pam!auto:",
        "vm/100/2024-05-01T10:00:00Z",
        "a@b!c@pbs!token",
    ] {
        seeds.push(text.as_bytes().to_vec());
    }
    for compress in [false, true] {
        for key in [None, Some(&key)] {
            seeds.push(
                BlobEncoder::new()
                    .encode(&[1; 500], EncodeOptions { compress, key })
                    .unwrap(),
            );
        }
    }
    let manifest = br#"{"backup-type":"vm","backup-id":"1","backup-time":5,"files":[{"filename":"a.blob",
        "size":1,"csum":"0101010101010101010101010101010101010101010101010101010101010101"}],
        "unprotected":{"notes":"x","verify_state":{"state":"ok","upid":"x"}},"signature":null}"#;
    seeds.push(manifest.to_vec());
    seeds
}

fn run_all(data: &[u8]) {
    let all = [
        bodies::blob,
        bodies::chunk,
        bodies::fixed_index,
        bodies::dynamic_index,
        bodies::manifest,
        bodies::key_file,
        bodies::section_config,
        bodies::property_string,
        bodies::names,
        bodies::upid,
    ];
    all.into_iter().for_each(|body| body(data));
}

#[test]
fn seeds_as_they_are() {
    seeds().iter().for_each(|seed| run_all(seed));
}

#[test]
fn truncated_anywhere() {
    for seed in seeds() {
        let step = (seed.len() / 200).max(1);
        (0..seed.len())
            .step_by(step)
            .for_each(|len| run_all(&seed[..len]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(data in vec(any::<u8>(), 0..300)) {
        run_all(&data);
    }

    #[test]
    fn arbitrary_text(text in "[a-z0-9:/@!.,=\"\\\\\\-\\t\\n \u{e4}ABCDEFUPIDTZ]{0,120}") {
        run_all(text.as_bytes());
    }

    #[test]
    fn mutated_files(which: Index, changes in vec((any::<Index>(), any::<u8>()), 1..6), cut in any::<Option<Index>>()) {
        let seeds = seeds();
        let mut data = which.get(&seeds).clone();
        for (at, byte) in changes {
            let at = at.index(data.len());
            data[at] = byte;
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len() + 1));
        }
        run_all(&data);
    }
}
