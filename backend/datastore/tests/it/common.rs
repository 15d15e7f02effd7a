//! What several tests need: the golden stores, and restoring an archive the slow and simple way.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fleethold_datastore::{Datastore, OpenSnapshot, SourceError};
use fleethold_format::blob::BlobDecoder;
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::hash::Sha256;
use fleethold_format::names::{ArchiveName, DatastoreName};

/// A copy of what `fixtures/golden.tar.zst` holds. It is unpacked once for each test binary; chunks are linked.
pub(crate) fn golden() -> tempfile::TempDir {
    static UNPACKED: OnceLock<tempfile::TempDir> = OnceLock::new();
    let unpacked = UNPACKED.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden.tar.zst");
        let file = std::fs::File::open(archive).unwrap();
        tar::Archive::new(zstd::Decoder::new(file).unwrap())
            .unpack(dir.path())
            .unwrap();
        dir
    });
    let copy = tempfile::tempdir().unwrap();
    copy_tree(unpacked.path(), copy.path());
    copy
}

fn copy_tree(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_tree(&entry.path(), &target);
        } else if entry
            .path()
            .components()
            .any(|component| component.as_os_str() == ".chunks")
        {
            std::fs::hard_link(entry.path(), target).unwrap();
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(crate) fn name(text: &str) -> DatastoreName {
    DatastoreName::parse(text).unwrap()
}

pub(crate) fn archive(text: &str) -> ArchiveName {
    ArchiveName::parse(text).unwrap()
}

pub(crate) fn open(path: &Path) -> Datastore {
    Datastore::open(name("golden"), path).unwrap()
}

pub(crate) fn key(hex_key: &str) -> CryptKey {
    CryptKey::new(hex::decode(hex_key).unwrap().try_into().unwrap()).unwrap()
}

/// The SHA-256 and the length of an archive's plain bytes, every chunk decoded and checked.
pub(crate) fn restore(
    snapshot: &OpenSnapshot,
    name: &ArchiveName,
    key: Option<&CryptKey>,
) -> Result<(String, u64), String> {
    let mut decoder = BlobDecoder::new();
    if !name.kind().is_index() {
        let raw = snapshot.read_blob_raw(name).map_err(|error| error.to_string())?;
        let plain = decoder
            .decode_blob(&raw, None, key, 128 << 20)
            .map_err(|error| error.to_string())?;
        return Ok((hex::encode(Sha256::digest(&plain)), plain.len() as u64));
    }
    let mode = snapshot.manifest().file(name).unwrap().crypt_mode;
    let index = snapshot.open_index(name).map_err(|error| error.to_string())?;
    index.verify_csum().map_err(|error| error.to_string())?;
    let source = snapshot
        .store()
        .chunk_source()
        .map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    index
        .entries(0..index.chunk_count(), &mut entries)
        .map_err(|error| error.to_string())?;
    let (mut hasher, mut size, mut buf) = (Sha256::new(), 0, Vec::new());
    let mut last: Option<(_, Vec<u8>)> = None;
    for entry in entries {
        assert_eq!(entry.offset, size);
        size += entry.len;
        match &last {
            // Runs of one chunk need no second reading.
            Some((digest, plain)) if *digest == entry.digest => hasher.update(plain),
            _ => {
                buf = source
                    .read_blocking(entry.digest, (16 << 20) + 44, buf)
                    .map_err(|error: SourceError| error.to_string())?;
                let mut plain = vec![0; usize::try_from(entry.len).unwrap()];
                let mode = if mode == CryptMode::SignOnly {
                    CryptMode::None
                } else {
                    mode
                };
                decoder
                    .decode_chunk(&buf, &entry.digest, mode, key, &mut plain)
                    .map_err(|error| format!("chunk {}: {error}", entry.digest))?;
                hasher.update(&plain);
                last = Some((entry.digest, plain));
            }
        }
    }
    assert_eq!(size, index.size());
    Ok((hex::encode(hasher.finalize()), size))
}

/// See [`fingerprint`].
pub(crate) type Print = (PathBuf, u64, (i64, i64), Option<(i64, i64)>);

/// Everything below a directory: length, time of the last change of content or state, and of files the time of
/// access. Walking reads directories, so theirs says nothing.
pub(crate) fn fingerprint(dir: &Path) -> Vec<Print> {
    use std::os::unix::fs::MetadataExt;

    let mut found = Vec::new();
    let mut stack = vec![dir.to_owned()];
    while let Some(dir) = stack.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                stack.push(entry.path());
            }
            let changed = (metadata.ctime(), metadata.ctime_nsec());
            let accessed = metadata
                .is_file()
                .then(|| (metadata.atime(), metadata.atime_nsec()));
            found.push((entry.path(), metadata.len(), changed, accessed));
        }
    }
    found.sort();
    found
}
