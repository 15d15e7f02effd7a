//! Restoring a `.blob`: one small object, checked as strictly as a chunk (FORMAT.md §7).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use fleethold_format::blob::{BlobError, MAX_BLOB_PLAIN, check_crc, inspect};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::hash::Sha256;
use fleethold_format::manifest::ManifestFile;
use fleethold_format::names::ArchiveName;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::budget::{JobNeed, JobShare};
use crate::clock;
use crate::cpu_pool::Worker;
use crate::deliver;
use crate::engine::{RestoreEngine, unless_over};
use crate::error::{Failure, RestoreError, RestoreErrorKind};
use crate::finish;
use crate::job::{Books, Spent};
use crate::plan::PlanCounts;
use crate::report::{Outcome, Progress, RestoreIdentity, RestoreReport, hex};
use crate::sink::Sink;

/// Plain bytes that any compressed blob may have without further waiting: configuration files, keys, logs.
const USUAL_PLAIN_BYTES: u64 = 1 << 20;

/// Bytes sent to a stream as one piece.
const PIECE_BYTES: usize = 256 << 10;

/// A blob to restore.
pub struct BlobRequest {
    /// The stored bytes.
    pub raw: Vec<u8>,
    /// Its entry in the verified manifest; `None` only for the client log and the manifest itself, which no manifest
    /// lists.
    pub file: Option<ManifestFile>,
    /// Needed for an encrypted blob.
    pub key: Option<Arc<CryptKey>>,
    /// Where the plain bytes go.
    pub sink: Sink,
    /// Published at the end.
    pub progress: watch::Sender<Progress>,
    /// Ends the job at once.
    pub cancel: CancellationToken,
    /// For errors and the report.
    pub identity: RestoreIdentity,
    /// Compute the SHA-256 of the plain bytes.
    pub sha256: bool,
}

impl RestoreEngine {
    /// Restores one blob. Checks: size and SHA-256 of the stored bytes by the manifest, CRC, crypt mode; an encrypted
    /// one is authenticated. Exceptions of FORMAT.md §7: the client log has its CRC only, the wrapped key is stored
    /// plain whatever the manifest says of it.
    ///
    /// # Errors
    /// [`RestoreError`] with the store, snapshot and file.
    pub async fn restore_blob(&self, request: BlobRequest) -> Result<RestoreReport, RestoreError> {
        let identity = request.identity.clone();
        let mut report = RestoreReport::start(&identity, PlanCounts::default(), 1);
        let mut books = Books::new(
            request.progress.clone(),
            self.budget.clone(),
            PlanCounts::default(),
        );
        books.progress.encoded_bytes_read = request.raw.len() as u64;
        let result = self.write_blob(request, &mut books).await;
        books.publish();
        report.bytes_total = books.progress.bytes_total;
        report.finish(&books.progress, books.duration_ns(), books.cpu_ns);
        match result {
            Ok(sha256) => {
                report.outcome = Outcome::Ok;
                report.sha256 = sha256.map(|digest| hex(&digest));
                Ok(report)
            }
            Err(failure) => Err(RestoreError::new(failure, identity, report)),
        }
    }

    async fn write_blob(&self, request: BlobRequest, books: &mut Books) -> Result<Option<[u8; 32]>, Failure> {
        let sink = Arc::new(request.sink);
        let guard = finish::Settle::new(Arc::clone(&sink));
        let cancel = request.cancel;
        let blob = Arc::new(Blob {
            raw: request.raw,
            file: request.file,
            key: request.key,
            name: request.identity.archive,
            sha256: request.sha256,
        });
        let result = async {
            // The share stands for the plain bytes, too, until they are written.
            let ordered = matches!(*sink, Sink::Stream(_));
            let decoding = self.decode_blob(&blob, ordered, books);
            let (plain, digest, share) = unless_over(&sink, &cancel, decoding).await?;
            let size = plain.len() as u64;
            books.progress.bytes_total = size;
            finish::prepare(&sink, size).await?;
            let writing = write(&sink, Bytes::from(plain));
            match &*sink {
                Sink::Stream(stream) => {
                    // It is never stuck: all of its memory is there from the start.
                    let stuck = AtomicBool::new(false);
                    let writing = deliver::while_read(writing, stream, &share, &stuck);
                    unless_over(&sink, &cancel, writing).await?;
                }
                _ => unless_over(&sink, &cancel, writing).await?,
            }
            books.data(size, 0, 0);
            unless_over(&sink, &cancel, finish::sync(&sink, size, false, books)).await?;
            finish::publish(&sink).await?;
            Ok(digest)
        }
        .await;
        drop(sink);
        guard.settle(&result).await;
        result
    }

    /// Decodes within memory for what a blob usually holds, and only when that is too little within what it may hold.
    async fn decode_blob(
        &self,
        blob: &Arc<Blob>,
        ordered: bool,
        books: &mut Books,
    ) -> Result<(Vec<u8>, Option<[u8; 32]>, JobShare), Failure> {
        let encoded = blob.raw.len() as u64;
        let most = MAX_BLOB_PLAIN.min(self.budget.total_bytes().saturating_sub(encoded));
        // Encrypted and compressed: what is decrypted has to be somewhere until it is decompressed.
        let kind = inspect(&blob.raw)?.kind;
        let copy = if kind.is_encrypted() { encoded } else { 0 };
        let most = most.saturating_sub(copy);
        let mut limit = if kind.is_compressed() {
            encoded.saturating_mul(16).max(USUAL_PLAIN_BYTES).min(most)
        } else {
            encoded
        };
        loop {
            let need = JobNeed {
                fixed_bytes: encoded + copy + limit,
                chunk_bytes: 0,
                ordered,
            };
            let share = self.budget.admit(need).await?;
            let worker_blob = Arc::clone(blob);
            let work = move |worker: &mut Worker| {
                let start = clock::thread_cpu_ns();
                let decoded = worker_blob.decode(worker, limit);
                (decoded, clock::thread_cpu_ns().saturating_sub(start))
            };
            let (decoded, cpu_ns) = self.pool.run((), work).await?;
            books.spend(Spent {
                cpu_ns,
                decode_ns: cpu_ns,
                write_ns: 0,
            });
            match decoded {
                Err(RestoreErrorKind::Blob(BlobError::TooLarge { .. })) if limit < most => limit = most,
                decoded => {
                    let (plain, digest) = decoded?;
                    return Ok((plain, digest, share));
                }
            }
        }
    }
}

/// A stored blob and what to check it against.
struct Blob {
    raw: Vec<u8>,
    file: Option<ManifestFile>,
    key: Option<Arc<CryptKey>>,
    name: ArchiveName,
    sha256: bool,
}

impl Blob {
    /// Checks and decodes; also gives the SHA-256 of the plain bytes when it was asked for.
    fn decode(
        &self,
        worker: &mut Worker,
        limit: u64,
    ) -> Result<(Vec<u8>, Option<[u8; 32]>), RestoreErrorKind> {
        let mode = check(&self.raw, self.file.as_ref(), &self.name)?;
        let plain = worker
            .decoder
            .decode_blob(&self.raw, mode, self.key.as_deref(), limit)?;
        let digest = self.sha256.then(|| Sha256::digest(&plain));
        Ok((plain, digest))
    }
}

/// Compares with the manifest; returns the crypt mode the blob must have, if that is known.
fn check(
    raw: &[u8],
    file: Option<&ManifestFile>,
    name: &ArchiveName,
) -> Result<Option<CryptMode>, RestoreErrorKind> {
    let Some(file) = file else {
        return match name.as_str() {
            ArchiveName::CLIENT_LOG => Ok(None),
            ArchiveName::MANIFEST => Ok(Some(CryptMode::None)),
            _ => Err(RestoreErrorKind::NotInManifest),
        };
    };
    let actual = raw.len() as u64;
    if actual != file.size {
        return Err(RestoreErrorKind::BlobSize {
            expected: file.size,
            actual,
        });
    }
    let actual = Sha256::digest(raw);
    if actual != file.csum {
        return Err(RestoreErrorKind::BlobCsum {
            expected: file.csum,
            actual,
        });
    }
    check_crc(raw)?;
    Ok(Some(if name.as_str() == ArchiveName::WRAPPED_KEY {
        CryptMode::None
    } else {
        file.crypt_mode
    }))
}

async fn write(sink: &Arc<Sink>, mut plain: Bytes) -> Result<(), Failure> {
    match &**sink {
        Sink::Null => {}
        Sink::Stream(stream) => {
            while !plain.is_empty() {
                let piece = plain.split_to(plain.len().min(PIECE_BYTES));
                stream.send(piece).await?;
            }
            stream.drain().await?;
        }
        Sink::File(_) | Sink::Device(_) => {
            let sink = Arc::clone(sink);
            finish::blocking(move || match &*sink {
                Sink::File(file) => file.write_at(&plain, 0),
                Sink::Device(device) => device.write_at(&plain, 0),
                Sink::Null | Sink::Stream(_) => Ok(()),
            })
            .await?;
        }
    }
    Ok(())
}
