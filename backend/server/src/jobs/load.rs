//! A file of a snapshot, read so far that only its bytes are missing: an index with its plan, or a blob.

use std::sync::Arc;
use std::time::Duration;

use fleethold_datastore::{ChunkSource, IndexFile};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::manifest::{ManifestFile, SignatureCheck};
use fleethold_restore::{
    BlobRequest, Progress, RestoreEngine, RestoreError, RestoreIdentity, RestorePlan, RestoreReport,
    RestoreRequest, Sink,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::source;
use super::spec::OpenFile;
use crate::services::error::ServiceResult;

/// Said when a key was given for a backup that was made without one.
pub const UNSIGNED: &str = "the manifest is not signed: the key proves nothing about this snapshot";

/// What is to be poured into a sink.
pub struct Load {
    content: Content,
    identity: RestoreIdentity,
    key: Option<Arc<CryptKey>>,
    /// Plain length; of a blob unknown before it is decoded.
    pub plain_bytes: Option<u64>,
    /// Distinct chunks to fetch.
    pub chunks_distinct: u64,
    // Last: as long as the file is read, a running PBS must not remove the snapshot.
    open: OpenFile,
}

enum Content {
    Index {
        plan: Arc<RestorePlan>,
        index: Arc<IndexFile>,
        file: ManifestFile,
        source: Arc<dyn ChunkSource>,
    },
    Blob {
        raw: Vec<u8>,
        file: Option<ManifestFile>,
    },
}

/// How to pour.
pub struct Pour {
    /// Where to.
    pub sink: Sink,
    /// Fetches outstanding at most.
    pub parallel: usize,
    /// Published as it goes on.
    pub progress: watch::Sender<Progress>,
    /// Ends it.
    pub cancel: CancellationToken,
    /// Digest of the whole file.
    pub sha256: bool,
}

impl Load {
    /// Reads index and plan, or the blob. Blocks.
    ///
    /// # Errors
    /// When the file is missing, damaged or cannot be planned.
    pub fn read(
        engine: &RestoreEngine,
        open: OpenFile,
        key: Option<Arc<CryptKey>>,
        latency: Duration,
    ) -> ServiceResult<Self> {
        let snapshot = &open.snapshot;
        let identity = RestoreIdentity {
            store: snapshot.store().name().to_string(),
            ns: snapshot.namespace().clone(),
            snapshot: snapshot.path().clone(),
            archive: open.name.clone(),
        };
        let file = snapshot.listed(&open.name).cloned();
        let (content, plain_bytes, chunks_distinct) = match (open.index()?, file) {
            (Some(index), Some(file)) => {
                let plan = engine.plan(&index, open.crypt_mode, key.as_deref())?;
                let source = source::chunks(snapshot.store(), latency)?;
                let (size, distinct) = (index.size(), plan.counts().chunks_distinct);
                let content = Content::Index {
                    plan: Arc::new(plan),
                    index: Arc::new(index),
                    file,
                    source,
                };
                (content, Some(size), distinct)
            }
            (_, file) => (
                Content::Blob {
                    raw: snapshot.read_blob_raw(&open.name)?,
                    file,
                },
                None,
                0,
            ),
        };
        Ok(Self {
            content,
            identity,
            key,
            plain_bytes,
            chunks_distinct,
            open,
        })
    }

    /// Why a running PBS does or does not know of us, for the task log.
    #[must_use]
    pub fn lock_note(&self) -> String {
        self.open.snapshot.lock_note().to_string()
    }

    /// What the manifest's signature says, when a key was given, for the task log.
    #[must_use]
    pub fn signature_note(&self) -> Option<&'static str> {
        self.open.signature.as_ref().map(|check| match check {
            SignatureCheck::Valid => "the manifest's signature is valid",
            SignatureCheck::Unsigned => UNSIGNED,
        })
    }

    /// The file's name without `.fidx`, `.didx` or `.blob`.
    #[must_use]
    pub fn client_name(&self) -> String {
        self.open.name.client_name().to_owned()
    }

    /// Crypt mode of the file.
    #[must_use]
    pub fn crypt_mode(&self) -> CryptMode {
        self.open.crypt_mode
    }

    /// Restores into the sink.
    ///
    /// # Errors
    /// With the chunk at fault, when it is about one.
    pub async fn pour(self, engine: &RestoreEngine, how: Pour) -> Result<RestoreReport, RestoreError> {
        let Pour {
            sink,
            parallel,
            progress,
            cancel,
            sha256,
        } = how;
        let Self {
            content,
            identity,
            key,
            open,
            ..
        } = self;
        let report = match content {
            Content::Index {
                plan,
                index,
                file,
                source,
            } => {
                let request = RestoreRequest {
                    plan,
                    index,
                    file,
                    source,
                    sink,
                    key,
                    parallel,
                    progress,
                    cancel,
                    identity,
                    sha256,
                };
                engine.execute(request).await
            }
            Content::Blob { raw, file } => {
                let request = BlobRequest {
                    raw,
                    file,
                    key,
                    sink,
                    progress,
                    cancel,
                    identity,
                    sha256,
                };
                engine.restore_blob(request).await
            }
        };
        drop(open);
        report
    }
}
