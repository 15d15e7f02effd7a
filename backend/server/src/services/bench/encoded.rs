//! Large replies as text.

use serde::Serialize;

use crate::services::error::{ServiceError, ServiceResult};

/// A reply as JSON text, written where it was computed and not on the thread that answers.
#[derive(Debug)]
pub struct Encoded(pub Vec<u8>);

impl Encoded {
    /// Takes the processor for a while.
    ///
    /// # Errors
    /// Internal, when `reply` has no text.
    pub fn of(reply: &impl Serialize) -> ServiceResult<Self> {
        serde_json::to_vec(reply)
            .map(Self)
            .map_err(ServiceError::internal)
    }
}
