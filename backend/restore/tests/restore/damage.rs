//! The damage matrix: what was done to a file of the store or to the key, and the error a restore ends with.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_datastore::{ChunkSource, Datastore};
use fleethold_format::blob::{BlobEncoder, EncodeOptions};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::key_file::KeyFile;
use fleethold_format::names::{ArchiveName, DatastoreName, Namespace, SnapshotPath};
use fleethold_restore::{
    BlobRequest, FileOptions, FileSink, Progress, RestoreEngine, RestoreIdentity, RestoreRequest, Sink,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::support::{engine, names, unpack_golden};

const SNAPSHOT: &str = "vm/101/2024-05-01T11:00:00Z";
const INDEX: &str = "drive-virtio0.img.fidx";
const BLOB: &str = "qemu-server.conf.blob";

/// What is damaged.
#[derive(Copy, Clone, Debug)]
enum What {
    /// The file of the index's first chunk.
    Chunk,
    Index,
    Manifest,
    Blob,
    KeyFile,
}

/// How.
#[derive(Copy, Clone, Debug)]
enum How {
    Truncate(usize),
    CutHalf,
    Flip(usize),
    FlipLast,
    Delete,
    /// The content of another file of the same sort.
    Swap,
    Empty,
    WrongMagic,
    /// Stored without encryption, though the manifest says otherwise.
    StorePlain,
    Lengthen(usize),
    /// Two digests of the index exchanged.
    SwapEntries,
}

const MATRIX: &[(What, How, &str)] = &[
    // Chunk: header, then payload.
    (What::Chunk, How::Truncate(5), "blob-too-short"),
    (What::Chunk, How::Truncate(44), "blob-crc"),
    (What::Chunk, How::Flip(8), "blob-crc"),
    (What::Chunk, How::Flip(12), "key-or-data-wrong"),
    (What::Chunk, How::Flip(28), "key-or-data-wrong"),
    (What::Chunk, How::WrongMagic, "blob-magic"),
    (What::Chunk, How::CutHalf, "blob-crc"),
    (What::Chunk, How::Flip(44), "blob-crc"),
    (What::Chunk, How::FlipLast, "blob-crc"),
    (What::Chunk, How::Delete, "chunk-missing"),
    (What::Chunk, How::Empty, "chunk-empty"),
    (What::Chunk, How::Swap, "chunk-digest"),
    (What::Chunk, How::StorePlain, "crypt-mode-mismatch"),
    (What::Chunk, How::Lengthen(5 << 20), "chunk-too-large"),
    // Index: header, then digests.
    (What::Index, How::Truncate(100), "index-damaged"),
    (What::Index, How::Empty, "index-damaged"),
    (What::Index, How::WrongMagic, "index-damaged"),
    (What::Index, How::Flip(64), "size-mismatch"),
    (What::Index, How::Flip(68), "index-damaged"),
    (What::Index, How::Flip(72), "index-damaged"),
    (What::Index, How::Delete, "file-missing"),
    (What::Index, How::Swap, "size-mismatch"),
    (What::Index, How::Truncate(4096 + 32), "index-damaged"),
    (What::Index, How::Flip(4096), "index-csum"),
    (What::Index, How::FlipLast, "index-csum"),
    (What::Index, How::SwapEntries, "index-csum"),
    // The header's own checksum is nothing anybody relies on: the manifest's is.
    (What::Index, How::Flip(32), "ok"),
    // Manifest.
    (What::Manifest, How::Truncate(5), "manifest-damaged"),
    (What::Manifest, How::CutHalf, "manifest-damaged"),
    (What::Manifest, How::Flip(8), "manifest-damaged"),
    (What::Manifest, How::FlipLast, "manifest-damaged"),
    (What::Manifest, How::WrongMagic, "manifest-damaged"),
    (What::Manifest, How::Empty, "manifest-damaged"),
    (What::Manifest, How::Delete, "snapshot-unfinished"),
    (What::Manifest, How::Swap, "manifest-of-other-snapshot"),
    // Blob archive: header and payload are covered by the manifest's checksum.
    (What::Blob, How::Truncate(5), "size-mismatch"),
    (What::Blob, How::CutHalf, "size-mismatch"),
    (What::Blob, How::Empty, "size-mismatch"),
    (What::Blob, How::Flip(8), "checksum-mismatch"),
    (What::Blob, How::FlipLast, "checksum-mismatch"),
    (What::Blob, How::WrongMagic, "checksum-mismatch"),
    (What::Blob, How::Delete, "file-missing"),
    (What::Blob, How::Swap, "size-mismatch"),
    // Key.
    (What::KeyFile, How::Delete, "key-missing"),
    (What::KeyFile, How::Swap, "wrong-key"),
    (What::KeyFile, How::Truncate(20), "key-file"),
    (What::KeyFile, How::Empty, "key-file"),
];

struct Bench {
    golden: tempfile::TempDir,
    out: tempfile::TempDir,
    engine: RestoreEngine,
}

impl Bench {
    fn path(&self, what: What) -> PathBuf {
        let snapshot = self.golden.path().join("store").join(SNAPSHOT);
        match what {
            What::Chunk => self.chunk_path(0),
            What::Index => snapshot.join(INDEX),
            What::Manifest => snapshot.join("index.json.blob"),
            What::Blob => snapshot.join(BLOB),
            What::KeyFile => self.golden.path().join("encryption-key.json"),
        }
    }

    /// File of another thing of the same sort.
    fn other(&self, what: What) -> PathBuf {
        let store = self.golden.path().join("store");
        match what {
            What::Chunk => self.chunk_path(1),
            What::Index => store.join("vm/100/2024-05-01T10:00:00Z/drive-scsi0.img.fidx"),
            What::Manifest => store.join("vm/100/2024-05-01T10:00:00Z/index.json.blob"),
            What::Blob => store.join("vm/100/2024-05-01T10:00:00Z").join(BLOB),
            What::KeyFile => self.golden.path().join("real/enc.key"),
        }
    }

    /// The files of the index's stored chunks, those of full length first.
    fn chunk_path(&self, number: usize) -> PathBuf {
        let store = self.golden.path().join("store");
        let index = fs::read(store.join(SNAPSHOT).join(INDEX)).expect("an index");
        let mut paths = index[4096..].chunks(32).map(|digest| {
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            store.join(".chunks").join(&hex[..4]).join(&hex)
        });
        let mut seen = Vec::new();
        paths.find(|path| {
            if path.exists() && !seen.contains(path) {
                seen.push(path.clone());
            }
            seen.len() > number
        });
        seen.pop().expect("a chunk")
    }

    fn damage(&self, what: What, how: How) {
        let path = self.path(what);
        let mut bytes = fs::read(&path).expect("the file");
        match how {
            How::Truncate(len) => bytes.truncate(len),
            How::CutHalf => bytes.truncate(bytes.len() / 2),
            How::Flip(at) => bytes[at] ^= 1,
            How::FlipLast => *bytes.last_mut().expect("bytes") ^= 1,
            How::Empty => bytes.clear(),
            How::WrongMagic => bytes[..8].copy_from_slice(b"not PBS!"),
            How::Lengthen(by) => bytes.resize(bytes.len() + by, 0),
            How::Swap => bytes = fs::read(self.other(what)).expect("the other file"),
            How::StorePlain => {
                bytes = BlobEncoder::new()
                    .encode(&bytes, EncodeOptions::default())
                    .expect("a blob");
            }
            How::SwapEntries => {
                let (first, second) = bytes[4096..].split_at_mut(32);
                first.swap_with_slice(&mut second[..32]);
            }
            How::Delete => return fs::remove_file(&path).expect("removing the file"),
        }
        fs::write(&path, bytes).expect("damaging the file");
    }

    /// Restores as the command line does; the code of whatever refuses first, or `ok`.
    async fn restore(&self, archive: &str) -> Result<(), String> {
        let name = DatastoreName::parse("golden").expect("a name");
        let code = |error: fleethold_datastore::DatastoreError| error.code().to_owned();
        let key = self.key()?;
        let store = Datastore::open(name, &self.golden.path().join("store")).map_err(code)?;
        let (ns, path) = (Namespace::root(), SnapshotPath::parse(SNAPSHOT).expect("a path"));
        let snapshot = store.snapshot(&ns, &path).map_err(code)?;
        if let Some(key) = &key {
            snapshot.verify_signature(key).map_err(code)?;
        }
        let archive = ArchiveName::parse(archive).expect("an archive");
        let file = snapshot.entry(&archive).map_err(code)?.clone();
        let identity = RestoreIdentity {
            store: "golden".into(),
            ns,
            snapshot: path,
            archive: archive.clone(),
        };
        let (progress, cancel) = (watch::Sender::new(Progress::default()), CancellationToken::new());
        let target = self.out.path().join("target");
        let sink = Sink::File(FileSink::create(&target, FileOptions::default()).expect("a file"));
        let result = if archive.kind().is_index() {
            let index = Arc::new(snapshot.open_index(&archive).map_err(code)?);
            let plan = self.engine.plan(&index, file.crypt_mode, key.as_deref());
            let request = RestoreRequest {
                plan: Arc::new(plan.map_err(|error| error.code().to_owned())?),
                index,
                file,
                source: Arc::new(store.chunk_source().map_err(code)?) as Arc<dyn ChunkSource>,
                sink,
                key,
                parallel: 4,
                progress,
                cancel,
                identity,
                sha256: false,
            };
            self.engine.execute(request).await
        } else {
            let raw = snapshot.read_blob_raw(&archive).map_err(code)?;
            let file = Some(file);
            let request = BlobRequest {
                raw,
                file,
                key,
                sink,
                progress,
                cancel,
                identity,
                sha256: false,
            };
            self.engine.restore_blob(request).await
        };
        match result {
            Ok(_report) => fs::remove_file(&target).map_err(|error| error.to_string()),
            Err(error) => {
                assert!(error.to_string().contains(SNAPSHOT), "{error}");
                Err(error.code().to_owned())
            }
        }
    }

    fn key(&self) -> Result<Option<Arc<CryptKey>>, String> {
        let Ok(bytes) = fs::read(self.path(What::KeyFile)) else {
            return Ok(None);
        };
        let parsed = KeyFile::parse(&bytes).and_then(|file| file.unlock(None));
        Ok(Some(Arc::new(parsed.map_err(|_error| "key-file".to_owned())?)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_damage_has_its_error_and_leaves_no_file() {
    let bench = Bench {
        golden: unpack_golden(),
        out: tempfile::tempdir().expect("a directory"),
        engine: engine(),
    };
    for archive in [INDEX, BLOB] {
        assert_eq!(bench.restore(archive).await, Ok(()), "undamaged {archive}");
    }
    for (what, how, expected) in MATRIX {
        let path = bench.path(*what);
        let whole = fs::read(&path).expect("the file");
        bench.damage(*what, *how);
        let archive = if matches!(what, What::Blob) { BLOB } else { INDEX };
        let found = bench.restore(archive).await;
        let found = found.as_ref().map_or_else(String::as_str, |()| "ok");
        assert_eq!(found, *expected, "{what:?} {how:?}");
        assert_eq!(names(bench.out.path()), Vec::<String>::new(), "{what:?} {how:?}");
        fs::write(&path, whole).expect("mending the file");
    }
}

/// Before its chunks are counted and memory for them is taken.
#[test]
fn no_plan_is_made_of_an_index_that_is_not_the_manifests() {
    let bench = Bench {
        golden: unpack_golden(),
        out: tempfile::tempdir().expect("a directory"),
        engine: engine(),
    };
    bench.damage(What::Index, How::SwapEntries);
    let name = DatastoreName::parse("golden").expect("a name");
    let store = Datastore::open(name, &bench.golden.path().join("store")).expect("a store");
    let path = SnapshotPath::parse(SNAPSHOT).expect("a path");
    let snapshot = store.snapshot(&Namespace::root(), &path).expect("a snapshot");
    let index = snapshot
        .open_index(&ArchiveName::parse(INDEX).expect("a name"))
        .expect("an index");
    let error = bench
        .engine
        .plan(&index, CryptMode::Encrypt, None)
        .expect_err("another checksum");
    assert_eq!(error.code(), "index-csum");
    assert!(error.to_string().contains(INDEX), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_other_than_the_manifest_lists_is_refused_by_the_restore_itself() {
    let golden = unpack_golden();
    let engine = engine();
    let read = |path: &Path| fs::read(golden.path().join("store").join(SNAPSHOT).join(path)).expect("a file");
    let manifest = fleethold_format::manifest::Manifest::decode(&read(Path::new("index.json.blob")))
        .expect("a manifest");
    let file = manifest
        .file(&ArchiveName::parse(BLOB).expect("a name"))
        .expect("a listed blob");
    let raw = read(Path::new(BLOB));
    let key =
        KeyFile::parse(&fs::read(golden.path().join("encryption-key.json")).expect("a key")).expect("a key");
    let key = Some(Arc::new(key.unlock(None).expect("a key")));
    let restore = async |raw: Vec<u8>, file: Option<_>, key| {
        let request = BlobRequest {
            raw,
            file,
            key,
            sink: Sink::Null,
            progress: watch::Sender::new(Progress::default()),
            cancel: CancellationToken::new(),
            identity: crate::support::identity(BLOB),
            sha256: true,
        };
        engine.restore_blob(request).await.map_err(|error| error.code())
    };
    let report = restore(raw.clone(), Some(file.clone()), key.clone())
        .await
        .expect("a restore");
    assert_eq!(report.bytes_total, 25);

    let mut flipped = raw.clone();
    flipped[50] ^= 1;
    let mut shorter = raw.clone();
    shorter.pop();
    assert_eq!(
        restore(flipped, Some(file.clone()), key.clone()).await.err(),
        Some("blob-csum")
    );
    assert_eq!(
        restore(shorter, Some(file.clone()), key.clone()).await.err(),
        Some("blob-size")
    );
    assert_eq!(
        restore(raw.clone(), Some(file.clone()), None).await.err(),
        Some("key-missing")
    );
    assert_eq!(restore(raw, None, key).await.err(), Some("not-in-manifest"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_compresses_unusually_well_restores_within_its_limit() {
    let plain = vec![b'x'; 40 << 20];
    let raw = BlobEncoder::new()
        .encode(
            &plain,
            EncodeOptions {
                compress: true,
                key: None,
            },
        )
        .expect("a blob");
    assert!(raw.len() < 64 << 10, "forty megabytes out of next to nothing");
    let request = BlobRequest {
        raw,
        file: None,
        key: None,
        sink: Sink::Null,
        progress: watch::Sender::new(Progress::default()),
        cancel: CancellationToken::new(),
        identity: crate::support::identity("client.log.blob"),
        sha256: true,
    };
    let report = engine().restore_blob(request).await.expect("a restore");
    assert_eq!(report.sha256, Some(crate::support::sha256(&plain)));
}
