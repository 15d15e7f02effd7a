//! What the tests share: golden stores, images made from bytes, one way to run a job.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_datastore::{ChunkSource, IndexFile, MemorySource};
use fleethold_format::blob::{BlobEncoder, EncodeOptions};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;
use fleethold_format::hash::Sha256;
use fleethold_format::index::{DynamicEntry, DynamicHeader, FixedHeader, zero_digest};
use fleethold_format::manifest::ManifestFile;
use fleethold_format::names::{ArchiveName, Namespace, SnapshotPath};
use fleethold_restore::{
    EngineConfig, PlanLimit, Progress, RestoreEngine, RestoreError, RestoreIdentity, RestorePlan,
    RestoreReport, RestoreRequest, Sink, StreamReceiver, StreamSink,
};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Unpacks the golden stores into a directory of the test's own.
pub(crate) fn unpack_golden() -> TempDir {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden.tar.zst");
    let target = tempfile::tempdir().expect("a temporary directory");
    let stream = zstd::Decoder::new(File::open(&archive).expect("the golden archive")).expect("zstd");
    tar::Archive::new(stream)
        .unpack(target.path())
        .expect("unpacking the golden archive");
    target
}

pub(crate) fn engine() -> RestoreEngine {
    engine_of(512 << 20)
}

pub(crate) fn engine_of(memory_bytes: u64) -> RestoreEngine {
    RestoreEngine::new(EngineConfig {
        memory_bytes,
        cpu_threads: 2,
    })
    .expect("an engine")
}

pub(crate) fn identity(archive: &str) -> RestoreIdentity {
    RestoreIdentity {
        store: "test".to_owned(),
        ns: Namespace::root(),
        snapshot: SnapshotPath::parse("vm/100/2024-05-01T10:00:00Z").expect("a snapshot path"),
        archive: ArchiveName::parse(archive).expect("an archive name"),
    }
}

/// An archive whose chunks are in memory and whose index is a file.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) source: Arc<MemorySource>,
    pub(crate) index: Arc<IndexFile>,
    pub(crate) index_path: PathBuf,
    pub(crate) file: ManifestFile,
    pub(crate) key: Option<Arc<CryptKey>>,
    /// Digests by position.
    pub(crate) digests: Vec<ChunkDigest>,
    _directory: TempDir,
}

/// How the bytes are cut.
pub(crate) enum Cut {
    Fixed(u64),
    /// Lengths of the chunks.
    Dynamic(Vec<usize>),
}

impl Image {
    pub(crate) fn fixed(bytes: Vec<u8>, chunk_size: u64) -> Self {
        Self::new(bytes, &Cut::Fixed(chunk_size), None)
    }

    pub(crate) fn new(bytes: Vec<u8>, cut: &Cut, key: Option<CryptKey>) -> Self {
        let mut encoder = BlobEncoder::new();
        let source = MemorySource::new();
        let (mut entries, mut digests, mut end) = (Vec::new(), Vec::new(), 0);
        let chunks: Vec<&[u8]> = match cut {
            Cut::Fixed(size) => bytes
                .chunks(usize::try_from(*size).expect("a small chunk"))
                .collect(),
            Cut::Dynamic(lengths) => {
                let mut rest = bytes.as_slice();
                lengths
                    .iter()
                    .map(|len| rest.split_off(..*len).expect("lengths of the image"))
                    .collect()
            }
        };
        for (position, chunk) in chunks.into_iter().enumerate() {
            let digest = ChunkDigest::of_maybe_keyed(chunk, key.as_ref());
            // Zero chunks are not stored: fetching one is an error.
            if digest != zero_digest(chunk.len() as u64, key.as_ref()) || matches!(cut, Cut::Dynamic(_)) {
                let options = EncodeOptions {
                    compress: position % 2 == 0,
                    key: key.as_ref(),
                };
                source.insert(digest, encoder.encode(chunk, options).expect("encoding"));
            }
            end += chunk.len() as u64;
            digests.push(digest);
            match cut {
                Cut::Fixed(_) => entries.extend_from_slice(&digest.0),
                Cut::Dynamic(_) => entries.extend_from_slice(&DynamicEntry { end, digest }.encode()),
            }
        }
        let csum = Sha256::digest(&entries);
        let uuid = uuid::Uuid::nil();
        let (header, name) = match cut {
            Cut::Fixed(chunk_size) => {
                let header = FixedHeader {
                    uuid,
                    ctime: 0,
                    csum,
                    size: end,
                    chunk_size: *chunk_size,
                };
                (header.encode(), "drive.img.fidx")
            }
            Cut::Dynamic(_) => (
                DynamicHeader {
                    uuid,
                    ctime: 0,
                    csum,
                    entry_count: 0,
                }
                .encode(),
                "root.pxar.didx",
            ),
        };
        let directory = tempfile::tempdir().expect("a temporary directory");
        let index_path = directory.path().join(name);
        std::fs::write(&index_path, [header.as_slice(), &entries].concat()).expect("writing the index");
        let crypt_mode = if key.is_some() {
            CryptMode::Encrypt
        } else {
            CryptMode::None
        };
        Self {
            bytes,
            source: Arc::new(source),
            index: Arc::new(IndexFile::open(&index_path).expect("opening the index")),
            index_path,
            file: ManifestFile {
                name: ArchiveName::parse(name).expect("a name"),
                crypt_mode,
                size: end,
                csum,
            },
            key: key.map(Arc::new),
            digests,
            _directory: directory,
        }
    }

    pub(crate) fn plan(&self) -> Arc<RestorePlan> {
        let plan = RestorePlan::build(
            &self.index,
            self.file.crypt_mode,
            self.key.as_deref(),
            PlanLimit { bytes: u64::MAX },
        );
        Arc::new(plan.expect("a plan"))
    }

    pub(crate) fn request(&self, sink: Sink) -> RestoreRequest {
        self.request_from(Arc::clone(&self.source) as Arc<dyn ChunkSource>, sink)
    }

    pub(crate) fn request_from(&self, source: Arc<dyn ChunkSource>, sink: Sink) -> RestoreRequest {
        RestoreRequest {
            plan: self.plan(),
            index: Arc::clone(&self.index),
            file: self.file.clone(),
            source,
            sink,
            key: self.key.clone(),
            parallel: 4,
            progress: watch::Sender::new(Progress::default()),
            cancel: CancellationToken::new(),
            identity: identity(self.file.name.as_str()),
            sha256: false,
        }
    }

    pub(crate) fn sha256(&self) -> String {
        sha256(&self.bytes)
    }
}

/// Runs a job into a stream and reads all of it.
pub(crate) async fn stream(
    engine: &RestoreEngine,
    request: impl FnOnce(Sink) -> RestoreRequest,
) -> (Result<RestoreReport, RestoreError>, Result<Vec<u8>, String>) {
    let (sink, receiver) = StreamSink::channel(2);
    tokio::join!(engine.execute(request(Sink::Stream(sink))), read_all(receiver))
}

pub(crate) async fn read_all(mut receiver: StreamReceiver) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    while let Some(piece) = receiver.next_piece().await {
        all.extend_from_slice(&piece.map_err(|aborted| aborted.to_string())?);
    }
    Ok(all)
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    ChunkDigest(Sha256::digest(bytes)).to_string()
}

/// Names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .expect("reading a directory")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    names.sort();
    names
}
