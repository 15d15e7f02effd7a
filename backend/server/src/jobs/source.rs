//! Where a job's chunks come from.

use std::sync::Arc;
use std::time::Duration;

use fleethold_datastore::sources::ThrottledSource;
use fleethold_datastore::{ChunkSource, Datastore, DatastoreError};

/// The chunks of a store, each fetch delayed by `latency`.
///
/// # Errors
/// When the store's chunks cannot be opened.
pub fn chunks(store: &Datastore, latency: Duration) -> Result<Arc<dyn ChunkSource>, DatastoreError> {
    let local: Arc<dyn ChunkSource> = Arc::new(store.chunk_source()?);
    Ok(if latency.is_zero() {
        local
    } else {
        Arc::new(ThrottledSource::with_latency(local, latency))
    })
}
