//! The one error of the services: what happened, for both faces. `http::problem` turns it into a reply.

use std::borrow::Cow;
use std::fmt::Display;

/// What kind of failure it is; each face maps it to its own status and form.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is not understood.
    BadRequest,
    /// Nobody, or somebody unknown, asked.
    Unauthorized,
    /// The caller may not.
    Forbidden,
    /// What was named does not exist.
    NotFound,
    /// What was named exists, but not for this method.
    MethodNotAllowed,
    /// It collides with what is there.
    Conflict,
    /// Understood, but it cannot be done with these data.
    Unprocessable,
    /// Too many attempts.
    TooManyRequests,
    /// The request is too large.
    TooLarge,
    /// It comes in a form that is not read here.
    UnsupportedMedia,
    /// Path and query are too long.
    UriTooLong,
    /// A bounded queue is full, or a part of the server is away; try again later.
    Unavailable,
    /// A fault of the server or its disks.
    Internal,
}

/// A service could not do what it was asked for.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ServiceError {
    /// Kind.
    pub kind: ErrorKind,
    /// Stable, kebab-case.
    pub code: Cow<'static, str>,
    /// One sentence: what was attempted on what, expected and found.
    pub message: String,
}

/// What services return.
pub type ServiceResult<T> = Result<T, ServiceError>;

impl ServiceError {
    /// An error of `kind` with a stable `code`.
    pub fn new(kind: ErrorKind, code: impl Into<Cow<'static, str>>, message: impl Display) -> Self {
        Self {
            kind,
            code: code.into(),
            message: message.to_string(),
        }
    }

    /// The request is not understood.
    pub fn bad_request(code: impl Into<Cow<'static, str>>, message: impl Display) -> Self {
        Self::new(ErrorKind::BadRequest, code, message)
    }

    /// What was named does not exist.
    pub fn not_found(code: impl Into<Cow<'static, str>>, message: impl Display) -> Self {
        Self::new(ErrorKind::NotFound, code, message)
    }

    /// It collides with what is there.
    pub fn conflict(code: impl Into<Cow<'static, str>>, message: impl Display) -> Self {
        Self::new(ErrorKind::Conflict, code, message)
    }

    /// It cannot be done with these data.
    pub fn unprocessable(code: impl Into<Cow<'static, str>>, message: impl Display) -> Self {
        Self::new(ErrorKind::Unprocessable, code, message)
    }

    /// A queue is full or a part is away.
    pub fn unavailable(code: impl Into<Cow<'static, str>>, message: impl Display) -> Self {
        Self::new(ErrorKind::Unavailable, code, message)
    }

    /// A fault of the server.
    pub fn internal(message: impl Display) -> Self {
        Self::new(ErrorKind::Internal, "internal", message)
    }
}

impl From<actix::MailboxError> for ServiceError {
    fn from(error: actix::MailboxError) -> Self {
        match error {
            actix::MailboxError::Closed => Self::unavailable("shutting-down", "the server is shutting down"),
            actix::MailboxError::Timeout => Self::unavailable("busy", "no answer in time, try again"),
        }
    }
}

impl<M> From<actix::prelude::SendError<M>> for ServiceError {
    fn from(error: actix::prelude::SendError<M>) -> Self {
        match error {
            actix::prelude::SendError::Full(_) => {
                Self::unavailable("busy", "too many requests are waiting, try again")
            }
            actix::prelude::SendError::Closed(_) => {
                Self::unavailable("shutting-down", "the server is shutting down")
            }
        }
    }
}

impl From<tokio::task::JoinError> for ServiceError {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::internal(format!("a background task ended early: {error}"))
    }
}

impl From<fleethold_format::names::NameError> for ServiceError {
    fn from(error: fleethold_format::names::NameError) -> Self {
        Self::bad_request("invalid-name", error)
    }
}
