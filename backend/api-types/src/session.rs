use serde::{Deserialize, Serialize};

use time::OffsetDateTime;

/// `POST /api/v1/session`.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    /// User id with realm, such as `admin@pbs`.
    pub user: String,
    /// The password; never logged.
    pub password: String,
}

/// Who is signed in; the reply to log-in and to `GET /api/v1/session`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// User id with realm.
    pub user: String,
    /// Send as header `CSRFPreventionToken` with every request other than GET.
    pub csrf_token: String,
    /// When the ticket ends; `POST /api/v1/session/renew` before that gives a new one.
    #[serde(with = "time::serde::rfc3339")]
    pub expires_at: OffsetDateTime,
}

/// `POST /api/v1/session/password`.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangePassword {
    /// The password in force.
    pub current_password: String,
    /// The new one, 8 to 64 characters.
    pub new_password: String,
}
