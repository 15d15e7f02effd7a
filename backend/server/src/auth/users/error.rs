//! What can go wrong with the users' files.

use std::path::PathBuf;

use fleethold_fleet::FleetError;
use fleethold_format::names::{Authid, Userid};

use super::hash::HashError;
use crate::auth::acl::AclError;

/// Why a user cannot be read, verified or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserError {
    /// Reading, locking or replacing a file failed.
    #[error(transparent)]
    File(#[from] FleetError),
    /// The permissions cannot be used.
    #[error(transparent)]
    Acl(#[from] AclError),
    /// A file is not what it should be.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line, expected and found.
        message: String,
    },
    /// There is such a user already.
    #[error("user {user} already exists")]
    Exists {
        /// The user.
        user: Userid,
    },
    /// There is no such user.
    #[error("no such user: {user}")]
    NotFound {
        /// The user.
        user: Userid,
    },
    /// Only realm `pbs` keeps its passwords here.
    #[error("user {user}: expected realm pbs, found {}", user.realm())]
    Realm {
        /// The user.
        user: Userid,
    },
    /// A password that is not accepted.
    #[error(
        "password of {user}: expected 8 to 64 characters, none of them a control character, found {chars} characters"
    )]
    Password {
        /// The user.
        user: Userid,
        /// Its length.
        chars: usize,
    },
    /// A comment that cannot be stored.
    #[error(
        "comment of {user}: expected at most 128 characters without control characters, found {chars} characters"
    )]
    Comment {
        /// The user.
        user: Userid,
        /// Its length.
        chars: usize,
    },
    /// The stored hash cannot be compared with.
    #[error("stored hash of {authid} in {}: {source}", path.display())]
    StoredHash {
        /// Whose.
        authid: Authid,
        /// The file.
        path: PathBuf,
        /// Why.
        source: HashError,
    },
    /// A new hash cannot be made.
    #[error("cannot hash the password of {user}: {source}")]
    Hash {
        /// The user.
        user: Userid,
        /// Why.
        source: HashError,
    },
}
