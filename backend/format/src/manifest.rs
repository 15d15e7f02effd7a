//! `index.json.blob`: what a snapshot holds, and the signature over it (FORMAT.md §7).
//!
//! The document is kept as it was read: the signature covers everything but `unprotected` and `signature`, also
//! what we do not know, and unknown keys survive an update. What `unprotected` holds is no one's promise: its
//! getters fail one by one, so that a broken note never stops a restore.

mod canonical;
mod unprotected;

pub use canonical::canonical_json;
pub use unprotected::{ChunkUploadStats, VerifyOutcome, VerifyState};

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use serde_json::{Map, Value, json};

use crate::blob::{BlobDecoder, BlobEncoder, BlobError, EncodeOptions};
use crate::crypt::{CryptError, CryptKey, CryptMode, Fingerprint};
use crate::names::{ArchiveName, BackupId, BackupTime, BackupType, GroupPath, NameError, SnapshotPath};
use crate::text::{lower_hex, quote};

/// Most plain bytes of a manifest: what a server accepts as a blob.
pub const MAX_MANIFEST_PLAIN: u64 = 16 << 20;

/// One file of a snapshot, as the manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    /// Name on the server.
    pub name: ArchiveName,
    /// How its data is protected; absent means none.
    pub crypt_mode: CryptMode,
    /// Of an index the plain size, of a blob the stored size, in bytes.
    pub size: u64,
    /// Of an index the checksum of its entries, of a blob the SHA-256 of the stored bytes.
    pub csum: [u8; 32],
}

/// A decoded manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The snapshot it describes, by its own words: compare with the directory.
    pub snapshot: SnapshotPath,
    /// The files, in the order of the document, names unique.
    pub files: Vec<ManifestFile>,
    /// What the server may change without breaking the signature; see the getters.
    pub unprotected: Map<String, Value>,
    /// HMAC-SHA256 over the canonical rest, if the client had a key.
    pub signature: Option<[u8; 32]>,
    /// The document without `unprotected` and `signature`, as it was read.
    signed: Map<String, Value>,
}

/// Outcome of a signature check that did not fail.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum SignatureCheck {
    /// Signed with this key.
    Valid,
    /// Not signed at all.
    Unsigned,
}

/// Why a manifest cannot be read or trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The envelope.
    #[error("manifest: {source}")]
    Blob {
        /// Why.
        #[from]
        source: BlobError,
    },
    /// Not JSON.
    #[error("manifest is not JSON: {source}")]
    Json {
        /// Line, column and reason.
        #[from]
        source: serde_json::Error,
    },
    /// A field is missing or has another type.
    #[error("manifest field `{field}`: expected {expected}, found {found}")]
    Field {
        /// Path of the field, such as `files[2].size`.
        field: String,
        /// What it should be.
        expected: &'static str,
        /// What is there, shortened.
        found: String,
    },
    /// A field is a text that is no valid name.
    #[error("manifest field `{field}`: {source}")]
    Name {
        /// Path of the field.
        field: String,
        /// Why.
        source: NameError,
    },
    /// A name twice.
    #[error("manifest lists `{name}` twice")]
    Duplicate {
        /// The name.
        name: ArchiveName,
    },
    /// No such file.
    #[error("manifest lists no file `{name}`")]
    NoSuchFile {
        /// What was asked for, shortened.
        name: String,
    },
    /// JSON null has no canonical form.
    #[error("manifest field `{field}` is null, which cannot be signed")]
    Null {
        /// Path of the field.
        field: String,
    },
    /// Changed since it was signed, or signed with another key.
    #[error("manifest signature does not match: changed, or signed with another key")]
    Signature,
    /// Taken away: who encrypts or signs files signs their list, too.
    #[error(
        "manifest has no signature although {reason}: it was removed, and whoever did so may have changed the rest"
    )]
    SignatureMissing {
        /// What shows that there was one.
        reason: String,
    },
    /// Made with another key.
    #[error("wrong key: the snapshot was made with key {}, the one given is {}", expected.short_id(), actual.short_id())]
    KeyFingerprint {
        /// Fingerprint in the manifest.
        expected: Fingerprint,
        /// Fingerprint of the given key.
        actual: Fingerprint,
    },
    /// The library failed.
    #[error("manifest signature: {source}")]
    Crypt {
        /// Why.
        #[from]
        source: CryptError,
    },
}

impl ManifestError {
    fn field(field: impl Into<String>, expected: &'static str, found: Option<&Value>) -> Self {
        let found = found.map_or_else(|| "nothing".to_owned(), |value| quote(&value.to_string()));
        Self::Field {
            field: field.into(),
            expected,
            found,
        }
    }
}

impl Manifest {
    /// A manifest without files.
    pub fn new(snapshot: SnapshotPath) -> Self {
        Self {
            snapshot,
            files: Vec::new(),
            unprotected: Map::new(),
            signature: None,
            signed: Map::new(),
        }
    }

    /// Decodes the stored file, at most [`MAX_MANIFEST_PLAIN`] plain bytes. It is never encrypted.
    ///
    /// # Errors
    /// [`ManifestError`] with the field that is wrong.
    pub fn decode(raw: &[u8]) -> Result<Self, ManifestError> {
        let plain = BlobDecoder::new().decode_blob(raw, Some(CryptMode::None), None, MAX_MANIFEST_PLAIN)?;
        Self::from_json(&plain)
    }

    /// Parses the plain document.
    ///
    /// # Errors
    /// [`ManifestError`] with the field that is wrong.
    pub fn from_json(plain: &[u8]) -> Result<Self, ManifestError> {
        let Value::Object(mut signed) = serde_json::from_slice(plain)? else {
            return Err(ManifestError::field("", "an object", None));
        };
        let unprotected = match signed.remove("unprotected") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(unprotected)) => unprotected,
            other => return Err(ManifestError::field("unprotected", "an object", other.as_ref())),
        };
        let signature = match signed.remove("signature") {
            None | Some(Value::Null) => None,
            Some(value) => Some(hex_field("signature", Some(&value))?),
        };
        let snapshot = parse_snapshot(&signed)?;
        let files = parse_files(&signed)?;
        Ok(Self {
            snapshot,
            files,
            unprotected,
            signature,
            signed,
        })
    }

    /// Checks the signature over what was decoded, if there is one. The unsigned manifest of a backup made without a
    /// key proves nothing: whether that is enough is the caller's decision.
    ///
    /// # Errors
    /// [`ManifestError::Signature`] when it does not match, [`ManifestError::SignatureMissing`] when there must have
    /// been one, [`ManifestError::Null`] when it cannot be computed.
    pub fn verify_signature(&self, key: &CryptKey) -> Result<SignatureCheck, ManifestError> {
        let Some(signature) = self.signature else {
            let reason = match (
                self.key_fingerprint()?,
                self.files.iter().find(|file| file.crypt_mode != CryptMode::None),
            ) {
                (Some(fingerprint), _) => format!("it names the key {fingerprint}"),
                (None, Some(file)) => format!("`{}` was made with a key", file.name),
                (None, None) => return Ok(SignatureCheck::Unsigned),
            };
            return Err(ManifestError::SignatureMissing { reason });
        };
        let actual = sign(&self.signed, key)?;
        if bool::from(subtle::ConstantTimeEq::ct_eq(&actual[..], &signature[..])) {
            Ok(SignatureCheck::Valid)
        } else {
            Err(ManifestError::Signature)
        }
    }

    /// Compares the fingerprint, if the manifest names one, with the given key's.
    ///
    /// # Errors
    /// [`ManifestError::KeyFingerprint`] for another key.
    pub fn check_key_fingerprint(&self, key: &CryptKey) -> Result<(), ManifestError> {
        let actual = key.fingerprint();
        match self.key_fingerprint()? {
            Some(expected) if expected != actual => Err(ManifestError::KeyFingerprint { expected, actual }),
            _ => Ok(()),
        }
    }

    /// The entry of a file.
    ///
    /// # Errors
    /// [`ManifestError::NoSuchFile`].
    pub fn file(&self, name: &ArchiveName) -> Result<&ManifestFile, ManifestError> {
        self.files
            .iter()
            .find(|file| file.name == *name)
            .ok_or_else(|| ManifestError::NoSuchFile {
                name: name.to_string(),
            })
    }

    /// The entry that a person means: with or without extension ([`ArchiveName::candidates`]).
    ///
    /// # Errors
    /// [`ManifestError::NoSuchFile`].
    pub fn resolve(&self, text: &str) -> Result<&ManifestFile, ManifestError> {
        ArchiveName::candidates(text)
            .iter()
            .find_map(|name| self.file(name).ok())
            .ok_or_else(|| ManifestError::NoSuchFile { name: quote(text) })
    }

    /// Encodes the stored file from the public fields, signed when a key is given; unknown fields are kept.
    /// With a key its fingerprint is recorded.
    ///
    /// # Errors
    /// What encoding a blob or signing reports.
    pub fn encode(&self, key: Option<&CryptKey>) -> Result<Vec<u8>, ManifestError> {
        let mut document = self.signed.clone();
        document.insert("backup-type".into(), self.snapshot.group.ty.as_str().into());
        document.insert("backup-id".into(), self.snapshot.group.id.as_str().into());
        document.insert("backup-time".into(), self.snapshot.time.epoch().into());
        document.insert("files".into(), self.files.iter().map(file_to_json).collect());
        let mut unprotected = self.unprotected.clone();
        let signature = match key {
            None => Value::Null,
            Some(key) => {
                unprotected.insert("key-fingerprint".into(), key.fingerprint().to_string().into());
                hex::encode(sign(&document, key)?).into()
            }
        };
        document.insert("unprotected".into(), unprotected.into());
        document.insert("signature".into(), signature);
        let plain = serde_json::to_vec_pretty(&document)?;
        Ok(BlobEncoder::new().encode(
            &plain,
            EncodeOptions {
                compress: true,
                key: None,
            },
        )?)
    }
}

fn file_to_json(file: &ManifestFile) -> Value {
    json!({
        "filename": file.name.as_str(),
        "crypt-mode": file.crypt_mode.as_str(),
        "size": file.size,
        "csum": hex::encode(file.csum),
    })
}

/// HMAC-SHA256 of the canonical document under the key's id.
fn sign(document: &Map<String, Value>, key: &CryptKey) -> Result<[u8; 32], ManifestError> {
    let message = canonical::of_object(document)?;
    let hmac = || -> Result<[u8; 32], openssl::error::ErrorStack> {
        let key = PKey::hmac(key.id_key())?;
        let mut signer = Signer::new(MessageDigest::sha256(), &key)?;
        signer.update(&message)?;
        let mut out = [0; 32];
        signer.sign(&mut out)?;
        Ok(out)
    };
    Ok(hmac().map_err(CryptError::from)?)
}

fn parse_snapshot(document: &Map<String, Value>) -> Result<SnapshotPath, ManifestError> {
    let text = |field| text_field(field, document.get(field));
    let named = |field: &'static str| {
        move |source| ManifestError::Name {
            field: field.to_owned(),
            source,
        }
    };
    let ty = BackupType::parse(text("backup-type")?).map_err(named("backup-type"))?;
    let id = BackupId::parse(text("backup-id")?).map_err(named("backup-id"))?;
    let epoch = document
        .get("backup-time")
        .and_then(Value::as_i64)
        .ok_or_else(|| ManifestError::field("backup-time", "seconds", document.get("backup-time")))?;
    let time = BackupTime::from_epoch(epoch).map_err(named("backup-time"))?;
    Ok(SnapshotPath {
        group: GroupPath { ty, id },
        time,
    })
}

fn parse_files(document: &Map<String, Value>) -> Result<Vec<ManifestFile>, ManifestError> {
    let value = document.get("files");
    let Some(Value::Array(entries)) = value else {
        return Err(ManifestError::field("files", "an array", value));
    };
    let files: Vec<_> = entries
        .iter()
        .enumerate()
        .map(parse_file)
        .collect::<Result<_, _>>()?;
    let mut names: Vec<_> = files.iter().map(|file| &file.name).collect();
    names.sort_unstable();
    match names.array_windows().find(|[left, right]| left == right) {
        Some([name, _]) => Err(ManifestError::Duplicate {
            name: (*name).clone(),
        }),
        None => Ok(files),
    }
}

fn parse_file((position, entry): (usize, &Value)) -> Result<ManifestFile, ManifestError> {
    let path = |field: &str| format!("files[{position}].{field}");
    let filename = text_field(path("filename"), entry.get("filename"))?;
    let name = ArchiveName::parse(filename).map_err(|source| ManifestError::Name {
        field: path("filename"),
        source,
    })?;
    let crypt_mode = match entry.get("crypt-mode") {
        None => CryptMode::None,
        Some(value) => serde_json::from_value(value.clone()).map_err(|_| {
            ManifestError::field(
                path("crypt-mode"),
                "`none`, `encrypt` or `sign-only`",
                Some(value),
            )
        })?,
    };
    let size = entry
        .get("size")
        .and_then(Value::as_u64)
        .ok_or_else(|| ManifestError::field(path("size"), "a number of bytes", entry.get("size")))?;
    Ok(ManifestFile {
        name,
        crypt_mode,
        size,
        csum: hex_field(path("csum"), entry.get("csum"))?,
    })
}

fn text_field(field: impl Into<String>, value: Option<&Value>) -> Result<&str, ManifestError> {
    value
        .and_then(Value::as_str)
        .ok_or_else(|| ManifestError::field(field, "a text", value))
}

fn hex_field(field: impl Into<String>, value: Option<&Value>) -> Result<[u8; 32], ManifestError> {
    value
        .and_then(Value::as_str)
        .and_then(lower_hex)
        .ok_or_else(|| ManifestError::field(field, "64 lower-case hex digits", value))
}
