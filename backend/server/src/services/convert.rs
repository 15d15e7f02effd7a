//! Errors of the crates below as service errors: their code stays, the kind says whose fault it is.

use fleethold_datastore::DatastoreError;
use fleethold_history::HistoryError;
use fleethold_restore::{PlanError, RestoreError, TargetError};

use super::error::{ErrorKind, ServiceError};

impl From<DatastoreError> for ServiceError {
    fn from(error: DatastoreError) -> Self {
        use DatastoreError as E;
        let kind = match &error {
            E::NamespaceMissing { .. }
            | E::GroupMissing { .. }
            | E::SnapshotMissing { .. }
            | E::FileMissing { .. } => ErrorKind::NotFound,
            _ if error.code() == "file-not-listed" => ErrorKind::NotFound,
            E::Unfinished { .. } | E::Locked { .. } | E::Changed { .. } => ErrorKind::Conflict,
            E::StoreMissing { .. } | E::NotADatastore { .. } => ErrorKind::Unavailable,
            E::Io { .. } => ErrorKind::Internal,
            _ => ErrorKind::Unprocessable,
        };
        Self::new(kind, error.code(), error)
    }
}

impl From<TargetError> for ServiceError {
    fn from(error: TargetError) -> Self {
        let kind = match &error {
            TargetError::Exists { .. } => ErrorKind::Conflict,
            TargetError::Outside { .. } => ErrorKind::Forbidden,
            _ => ErrorKind::Unprocessable,
        };
        Self::new(kind, error.code(), error)
    }
}

impl From<PlanError> for ServiceError {
    fn from(error: PlanError) -> Self {
        Self::unprocessable(error.code(), error)
    }
}

impl From<RestoreError> for ServiceError {
    fn from(error: RestoreError) -> Self {
        let kind = if error.code().ends_with("-io") {
            ErrorKind::Internal
        } else {
            ErrorKind::Unprocessable
        };
        Self::new(kind, error.code(), error)
    }
}

impl From<HistoryError> for ServiceError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Away { .. } | HistoryError::Starting => Self::unavailable("database-away", error),
            HistoryError::Import(error) => Self::unprocessable("import-refused", error),
            HistoryError::Refused { .. } | HistoryError::Matrix(_) => Self::unprocessable("refused", error),
            other => Self::internal(other),
        }
    }
}

/// A crypt mode as the API shows it.
#[must_use]
pub fn crypt_mode(mode: fleethold_format::crypt::CryptMode) -> fleethold_api_types::CryptMode {
    use fleethold_api_types::CryptMode as Api;
    use fleethold_format::crypt::CryptMode as Format;
    match mode {
        Format::None => Api::None,
        Format::Encrypt => Api::Encrypt,
        Format::SignOnly => Api::SignOnly,
    }
}
