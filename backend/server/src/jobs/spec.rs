//! What a restore needs, checked before it is queued: the file exists, the key fits, the target may be written.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fleethold_api_types::{CreateRestore, RestoreTarget};
use fleethold_datastore::{Datastore, IndexFile, OpenSnapshot};
use fleethold_format::blob::inspect;
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::manifest::SignatureCheck;
use fleethold_format::names::{ArchiveName, Authid, Namespace, SnapshotPath};

use crate::services::error::{ServiceError, ServiceResult};
use crate::services::keys::KeyText;
use crate::services::stores;
use crate::services::targets::Targets;
use crate::views::{StoreView, Views};

/// A single fetch is never delayed longer than this on request.
pub const MAX_LATENCY_MS: u32 = 10_000;

/// One file of one snapshot, by checked names.
#[derive(Clone)]
pub struct FileSpec {
    /// The store.
    pub store: Arc<StoreView>,
    /// Namespace.
    pub ns: Namespace,
    /// Snapshot.
    pub snapshot: SnapshotPath,
    /// The file as asked for, with or without its server extension.
    pub file: String,
}

/// As messages of the engine name it ([`fleethold_restore::RestoreIdentity`]).
impl fmt::Display for FileSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = &self.store.name;
        write!(f, "{} of snapshot {} in store {store}", self.file, self.snapshot)?;
        if !self.ns.is_root() {
            write!(f, ", namespace {}", self.ns)?;
        }
        Ok(())
    }
}

/// A snapshot and the file in it that was asked for.
pub struct OpenFile {
    /// The snapshot; keeps a running PBS from removing it.
    pub snapshot: OpenSnapshot,
    /// Server name of the file.
    pub name: ArchiveName,
    /// Crypt mode by the manifest; the client log and the manifest are not listed.
    pub crypt_mode: CryptMode,
    /// What the signature says, when a key was given.
    pub signature: Option<SignatureCheck>,
}

impl FileSpec {
    /// Checks the names of a request.
    ///
    /// # Errors
    /// When a name is malformed, or the store unknown or not readable now.
    pub fn parse(views: &Views, store: &str, ns: &str, snapshot: &str, file: &str) -> ServiceResult<Self> {
        let ns: Namespace = ns.parse()?;
        let snapshot: SnapshotPath = snapshot.parse()?;
        if ArchiveName::candidates(file).is_empty() {
            return Err(ServiceError::bad_request(
                "invalid-name",
                format!("`{file}` is not the name of a file"),
            ));
        }
        let store = stores::readable(views, store)?.view;
        Ok(Self {
            store,
            ns,
            snapshot,
            file: file.to_owned(),
        })
    }

    /// Opens the snapshot, checks signature and key, finds the file. Blocks.
    ///
    /// # Errors
    /// When anything of it is missing, damaged, or does not fit the key.
    pub fn open(&self, key: Option<&CryptKey>) -> ServiceResult<OpenFile> {
        let open = self.open_for_plan(key)?;
        if open.crypt_mode == CryptMode::Encrypt && key.is_none() {
            let text = format!("`{}` of {} is encrypted: give its key", open.name, self.snapshot);
            return Err(ServiceError::unprocessable("key-missing", text));
        }
        Ok(open)
    }

    /// As [`FileSpec::open`], but an encrypted file may come without its key: its index is readable. Blocks.
    ///
    /// # Errors
    /// When anything of it is missing, damaged, or does not fit the key.
    pub fn open_for_plan(&self, key: Option<&CryptKey>) -> ServiceResult<OpenFile> {
        let entry = self.store.entry();
        let store = Datastore::open(entry.name.clone(), &entry.path)?;
        let snapshot = store.snapshot(&self.ns, &self.snapshot)?;
        let name = ArchiveName::candidates(&self.file)
            .into_iter()
            .find(|name| snapshot.listed(name).is_some() || is_unlisted(name))
            .ok_or_else(|| {
                let text = format!(
                    "snapshot {} of {} has no file `{}`",
                    self.snapshot, entry.name, self.file
                );
                ServiceError::not_found("unknown-file", text)
            })?;
        let signature = key.map(|key| snapshot.verify_signature(key)).transpose()?;
        let crypt_mode = match snapshot.listed(&name) {
            Some(file) => file.crypt_mode,
            // The manifest says nothing about the client log; its own header does.
            None => unlisted_mode(&snapshot.read_blob_raw(&name)?)?,
        };
        Ok(OpenFile {
            snapshot,
            name,
            crypt_mode,
            signature,
        })
    }
}

fn is_unlisted(name: &ArchiveName) -> bool {
    matches!(name.as_str(), ArchiveName::MANIFEST | ArchiveName::CLIENT_LOG)
}

fn unlisted_mode(raw: &[u8]) -> ServiceResult<CryptMode> {
    let header = inspect(raw).map_err(|error| ServiceError::unprocessable("blob-damaged", error))?;
    Ok(if header.kind.is_encrypted() {
        CryptMode::Encrypt
    } else {
        CryptMode::None
    })
}

impl OpenFile {
    /// The index, when the file is one.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn index(&self) -> ServiceResult<Option<IndexFile>> {
        Ok(if self.name.kind().is_index() {
            Some(self.snapshot.open_index(&self.name)?)
        } else {
            None
        })
    }
}

/// A restore, ready to be queued.
pub struct RestoreSpec {
    /// What.
    pub file: FileSpec,
    /// Server name of the file.
    pub archive: ArchiveName,
    /// Crypt mode of the file.
    pub crypt_mode: CryptMode,
    /// Where to, resolved.
    pub target: RestoreTarget,
    /// Fetches outstanding at most.
    pub parallel: usize,
    /// Digest of the whole file.
    pub sha256: bool,
    /// The key.
    pub key: Option<Arc<CryptKey>>,
    /// Added to each fetch.
    pub latency: Duration,
    /// Who.
    pub authid: Authid,
}

impl RestoreSpec {
    /// Checks everything about a request that can be checked without restoring. Blocks.
    ///
    /// # Errors
    /// Says what does not exist, does not fit or is not allowed.
    pub fn prepare(
        views: &Views,
        targets: &Targets,
        request: CreateRestore,
        default_parallel: usize,
        authid: Authid,
    ) -> ServiceResult<Self> {
        let CreateRestore {
            source,
            target,
            parallel,
            sha256,
            key,
            key_password,
            simulate_latency_ms,
        } = request;
        let key = KeyText::new(key, key_password).unlock()?;
        let parallel = parallel.map_or(default_parallel, |parallel| {
            usize::try_from(parallel).unwrap_or(usize::MAX)
        });
        if !(1..=crate::settings::MAX_PARALLEL).contains(&parallel) {
            let text = format!(
                "parallel: expected 1 to {}, found {parallel}",
                crate::settings::MAX_PARALLEL
            );
            return Err(ServiceError::unprocessable("invalid-parallel", text));
        }
        if simulate_latency_ms > MAX_LATENCY_MS {
            let text = format!(
                "simulate_latency_ms: expected at most {MAX_LATENCY_MS}, found {simulate_latency_ms}"
            );
            return Err(ServiceError::unprocessable("invalid-latency", text));
        }
        let file = FileSpec::parse(
            views,
            &source.store,
            &source.ns,
            &source.snapshot,
            &source.archive,
        )?;
        let open = file.open(key.as_deref())?;
        let target = targets.check(&target)?;
        Ok(Self {
            file,
            archive: open.name,
            crypt_mode: open.crypt_mode,
            target,
            parallel,
            sha256,
            key,
            latency: Duration::from_millis(u64::from(simulate_latency_ms)),
            authid,
        })
    }
}
