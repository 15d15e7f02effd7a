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
    /// The file is not the one that the caller saw.
    #[error(
        "detected modified configuration - {} was changed by somebody else, try again: expected digest {expected}, found {found}",
        path.display()
    )]
    Modified {
        /// The file.
        path: PathBuf,
        /// SHA-256 that the caller expects.
        expected: String,
        /// SHA-256 of the file.
        found: String,
    },
    /// There is such a user or token already.
    #[error("{} {authid} already exists", kind(authid))]
    Exists {
        /// Who.
        authid: Authid,
    },
    /// There is no such user or token.
    #[error("no such {}: {authid}", kind(authid))]
    NotFound {
        /// Who.
        authid: Authid,
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
    /// A property that cannot be stored.
    #[error("{field} of {authid}: expected {expected}, found {found}")]
    Field {
        /// Whose.
        authid: Authid,
        /// Which.
        field: &'static str,
        /// What can be stored.
        expected: &'static str,
        /// What was given, or how long it is.
        found: String,
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

fn kind(authid: &Authid) -> &'static str {
    if authid.token.is_some() { "token" } else { "user" }
}
