//! The before side: one chunk after the other.

use fleethold_format::blob::BlobDecoder;
use fleethold_format::index::zero_digest;

use super::{Opened, failed};
use crate::error::BenchError;

/// Longest stored form beyond the plain length: header, and what zstd adds to what it cannot compress.
const ENCODED_EXTRA: usize = 64 << 10;

/// Restores the image to nowhere. Zeros are skipped, as they always were.
pub(super) async fn restore(opened: &Opened) -> Result<(), BenchError> {
    const WHAT: &str = "restoring serially";
    let entry = opened
        .snapshot
        .entry(&opened.archive)
        .map_err(|error| failed(WHAT, error))?;
    let index = opened
        .snapshot
        .open_index(&opened.archive)
        .map_err(|error| failed(WHAT, error))?;
    let csum = index.verify_csum().map_err(|error| failed(WHAT, error))?;
    if csum != entry.csum {
        return Err(failed(WHAT, "the index is not the manifest's"));
    }
    let mut decoder = BlobDecoder::new();
    let (mut encoded, mut plain) = (Vec::new(), Vec::new());
    let mut done = 0;
    // All chunks but the last have one length.
    let zeros = index.chunk_size().map(|size| zero_digest(size, None));
    for position in 0..index.chunk_count() {
        let chunk = index.entry(position).map_err(|error| failed(WHAT, error))?;
        let len = usize::try_from(chunk.len).map_err(|error| failed(WHAT, error))?;
        done += chunk.len;
        if Some(chunk.digest) == zeros {
            continue;
        }
        encoded = opened
            .source
            .fetch(chunk.digest, len + ENCODED_EXTRA, encoded)
            .await
            .map_err(|error| failed(WHAT, error))?;
        plain.resize(len, 0);
        decoder
            .decode_chunk_in_place(&mut encoded, &chunk.digest, entry.crypt_mode, None, &mut plain)
            .map_err(|error| failed(WHAT, error))?;
    }
    if done == opened.size {
        Ok(())
    } else {
        Err(failed(
            WHAT,
            format!("expected {} bytes, found {done}", opened.size),
        ))
    }
}
