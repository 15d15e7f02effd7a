//! What a server adds to a manifest: notes, verification, upload counters, the key's name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Manifest, ManifestError};
use crate::crypt::Fingerprint;
use crate::upid::Upid;

/// Result of a verification.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifyOutcome {
    /// Every file was as the manifest says.
    Ok,
    /// At least one was not.
    Failed,
}

/// The last verification of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VerifyState {
    /// Its result.
    pub state: VerifyOutcome,
    /// The task that did it; its start time is the time of the verification.
    pub upid: Upid,
}

/// Counters which the server wrote when the backup finished.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChunkUploadStats {
    /// Chunks uploaded.
    pub count: u64,
    /// Their plain bytes.
    pub size: u64,
    /// Their stored bytes.
    pub compressed_size: u64,
    /// How many were there already.
    pub duplicates: u64,
}

impl Manifest {
    /// The snapshot's comment.
    ///
    /// # Errors
    /// [`ManifestError::Field`] when it is no text.
    pub fn notes(&self) -> Result<Option<&str>, ManifestError> {
        match self.unprotected.get("notes") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(notes)) => Ok(Some(notes)),
            other => Err(ManifestError::field("unprotected.notes", "a text", other)),
        }
    }

    /// The last verification.
    ///
    /// # Errors
    /// [`ManifestError::Field`] when it is malformed.
    pub fn verify_state(&self) -> Result<Option<VerifyState>, ManifestError> {
        self.typed("verify_state", "an object of `state` and `upid`")
    }

    /// The upload counters.
    ///
    /// # Errors
    /// [`ManifestError::Field`] when they are malformed.
    pub fn chunk_upload_stats(&self) -> Result<Option<ChunkUploadStats>, ManifestError> {
        self.typed("chunk_upload_stats", "an object of four counters")
    }

    /// The key that the client used.
    ///
    /// # Errors
    /// [`ManifestError::Field`] when it is no fingerprint.
    pub fn key_fingerprint(&self) -> Result<Option<Fingerprint>, ManifestError> {
        self.typed("key-fingerprint", "32 hex pairs joined by `:`")
    }

    fn typed<T: for<'de> Deserialize<'de>>(
        &self,
        field: &str,
        expected: &'static str,
    ) -> Result<Option<T>, ManifestError> {
        match self.unprotected.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::deserialize(value)
                .map(Some)
                .map_err(|_| ManifestError::field(format!("unprotected.{field}"), expected, Some(value))),
        }
    }
}
