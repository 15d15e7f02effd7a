//! Who is signed in: log-in, tickets, log-out, API tokens.
//!
//! Checking a ticket costs a signature; results are cached. Checking a password costs an argon2 on the blocking pool, two
//! at once, with a bounded number waiting. A password change or a log-out ends tickets at once (in memory: after a
//! restart of the server a stolen ticket may live on until its two hours are over).

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fleethold_format::hash::Sha256;
use fleethold_format::names::{Authid, Userid};
use moka::sync::Cache;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::csrf::CsrfKey;
use super::limit::{FAILURE_DELAY, LoginLimiter, WINDOW};
use super::ticket::{TICKET_LIFETIME_S, TicketClaims, TicketKey};
use super::users::UserStore;
use crate::clock;
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};

/// Password hashes computed at once: each takes a core and 19 MiB.
const HASHES_AT_ONCE: usize = 2;
/// Requests that may wait for a hash or for the delay of a failed log-in.
const MAX_WAITING: usize = 64;
/// Tickets and tokens whose check is remembered.
const REMEMBERED: u64 = 10_000;
/// How long a checked API token is taken as checked.
const TOKEN_TRUST: Duration = Duration::from_secs(60);

/// How the caller proved who it is.
#[derive(Debug, Clone, Copy, Eq, PartialEq)]
pub enum Via {
    /// A ticket in a cookie, issued at this time (epoch seconds).
    Ticket {
        /// Epoch seconds.
        issued: i64,
    },
    /// An API token.
    Token,
}

/// Who asks.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct Caller {
    /// User or token.
    pub authid: Authid,
    /// How it was proved.
    pub via: Via,
}

impl Caller {
    /// When the proof ends, epoch seconds; tokens do not end.
    #[must_use]
    pub fn expires(&self) -> Option<i64> {
        match self.via {
            Via::Ticket { issued } => Some(issued + TICKET_LIFETIME_S),
            Via::Token => None,
        }
    }
}

/// What a request came with.
pub enum Credentials {
    /// Nothing.
    None,
    /// A ticket; `csrf` is `Some` when the request changes something, with the header when it was there.
    Ticket {
        /// Text of the ticket.
        ticket: String,
        /// CSRF token, when one is needed.
        csrf: Option<Option<String>>,
    },
    /// An API token.
    Token {
        /// `user@realm!name`.
        token: String,
        /// Its secret.
        secret: Zeroizing<String>,
    },
}

/// A fresh session.
pub struct SignedIn {
    /// Who.
    pub user: Userid,
    /// The ticket.
    pub ticket: String,
    /// The CSRF token.
    pub csrf: String,
    /// Epoch seconds.
    pub expires: i64,
}

/// Log-ins and tickets of this server.
pub struct Sessions {
    /// The users.
    pub users: Arc<UserStore>,
    tickets: TicketKey,
    csrf: CsrfKey,
    limiter: LoginLimiter,
    checked: Cache<[u8; 32], TicketClaims>,
    tokens: Cache<[u8; 32], Authid>,
    ended: Cache<[u8; 32], ()>,
    valid_from: Cache<Userid, i64>,
    hashing: Semaphore,
    waiting: AtomicUsize,
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Sessions {
    /// Sessions of `users`, signed with `tickets` and `csrf`.
    #[must_use]
    pub fn new(users: Arc<UserStore>, tickets: TicketKey, csrf: CsrfKey) -> Self {
        let lifetime = Duration::from_secs(TICKET_LIFETIME_S.unsigned_abs() + 300);
        let cache = |ttl| Cache::builder().max_capacity(REMEMBERED).time_to_live(ttl);
        Self {
            users,
            tickets,
            csrf,
            limiter: LoginLimiter::default(),
            checked: cache(lifetime).build(),
            tokens: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(TOKEN_TRUST)
                .build(),
            ended: Cache::builder()
                .max_capacity(10 * REMEMBERED)
                .time_to_live(lifetime)
                .build(),
            valid_from: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(lifetime)
                .build(),
            hashing: Semaphore::new(HASHES_AT_ONCE),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Signs `user` in with a password, or with a ticket of that user that is still good (renewal).
    ///
    /// # Errors
    /// Unauthorized, late, when user or password is wrong; too many requests after too many failures.
    pub async fn log_in(
        &self,
        user: &str,
        password: Zeroizing<String>,
        from: Option<IpAddr>,
    ) -> ServiceResult<SignedIn> {
        if password.starts_with("PBS:")
            && let Ok(claims) = self.check_ticket(&password)
            && claims.user.as_str() == user
            && self.users.is_active(&claims.user.clone().into())
        {
            return self.issue(claims.user);
        }
        if !self.limiter.allows(user, from) {
            let text = format!("too many failed log-ins, try again in {} s", WINDOW.as_secs());
            return Err(ServiceError::new(
                ErrorKind::TooManyRequests,
                "too-many-log-ins",
                text,
            ));
        }
        let _waiting = self.wait()?;
        let parsed = user.parse::<Userid>().ok();
        let good = match parsed.clone() {
            Some(userid) => self.verify(userid, password).await?,
            None => false,
        };
        match parsed.filter(|_| good) {
            Some(userid) => {
                self.limiter.succeeded(user, from);
                tracing::info!(user = %userid, "signed in");
                self.issue(userid)
            }
            None => {
                self.limiter.failed(user, from);
                tracing::warn!(user = %user.escape_debug(), ?from, "log-in failed");
                tokio::time::sleep(FAILURE_DELAY).await;
                Err(unauthorized("wrong-credentials", "user or password is wrong"))
            }
        }
    }

    /// A fresh ticket for somebody who is signed in.
    ///
    /// # Errors
    /// When signing fails, or the caller is a token.
    pub fn renew(&self, caller: &Caller) -> ServiceResult<SignedIn> {
        if caller.authid.token.is_some() {
            return Err(ServiceError::bad_request(
                "not-a-session",
                "API tokens have no session",
            ));
        }
        self.issue(caller.authid.user.clone())
    }

    /// The CSRF token for a caller.
    ///
    /// # Errors
    /// When OpenSSL cannot compute it.
    pub fn csrf_for(&self, caller: &Caller) -> ServiceResult<String> {
        self.csrf
            .issue(&caller.authid.user, clock::epoch())
            .map_err(ServiceError::internal)
    }

    /// Ends a ticket before its time.
    pub fn log_out(&self, ticket: &str) {
        self.ended.insert(key_of(ticket), ());
        self.checked.invalidate(&key_of(ticket));
    }

    /// Changes the caller's password; all tickets issued so far end.
    ///
    /// # Errors
    /// When the current password is wrong (late), the new one is refused, or it cannot be stored.
    pub async fn change_password(
        &self,
        caller: &Caller,
        current: Zeroizing<String>,
        new: Zeroizing<String>,
        from: Option<IpAddr>,
    ) -> ServiceResult<SignedIn> {
        if caller.authid.token.is_some() {
            return Err(ServiceError::new(
                ErrorKind::Forbidden,
                "not-a-user",
                "API tokens have no password",
            ));
        }
        let user = caller.authid.user.clone();
        let text = user.to_string();
        if !self.limiter.allows(&text, from) {
            return Err(ServiceError::new(
                ErrorKind::TooManyRequests,
                "too-many-log-ins",
                "too many failed attempts",
            ));
        }
        let _waiting = self.wait()?;
        if !self.verify(user.clone(), current).await? {
            self.limiter.failed(&text, from);
            tokio::time::sleep(FAILURE_DELAY).await;
            return Err(ServiceError::new(
                ErrorKind::Forbidden,
                "wrong-password",
                "the current password is wrong",
            ));
        }
        let (users, owner) = (Arc::clone(&self.users), user.clone());
        let _permit = self.hashing.acquire().await.map_err(ServiceError::internal)?;
        tokio::task::spawn_blocking(move || users.set_password(&owner, &new))
            .await?
            .map_err(|error| ServiceError::unprocessable("password-refused", error))?;
        // Tickets count whole seconds: this one must be newer than every one before it.
        let now = clock::epoch() + 1;
        self.valid_from.insert(user.clone(), now);
        tracing::info!(%user, "password changed");
        self.issue_at(user, now)
    }

    /// Finds out who asks.
    ///
    /// # Errors
    /// Unauthorized without valid credentials; forbidden when the CSRF token is missing or wrong.
    pub async fn authenticate(
        &self,
        credentials: Credentials,
        from: Option<IpAddr>,
    ) -> ServiceResult<Caller> {
        match credentials {
            Credentials::None => Err(unauthorized("not-signed-in", "sign in first")),
            Credentials::Ticket { ticket, csrf } => {
                let claims = self.check_ticket(&ticket)?;
                let authid: Authid = claims.user.clone().into();
                if !self.users.is_active(&authid) {
                    return Err(unauthorized("not-signed-in", "the user is disabled or expired"));
                }
                if let Some(token) = csrf
                    && !token.is_some_and(|token| self.csrf.verify(&token, &claims.user, clock::epoch()))
                {
                    let text = "the header CSRFPreventionToken is missing or not of this session";
                    return Err(ServiceError::new(ErrorKind::Forbidden, "wrong-csrf-token", text));
                }
                Ok(Caller {
                    authid,
                    via: Via::Ticket {
                        issued: claims.issued,
                    },
                })
            }
            Credentials::Token { token, secret } => self.check_token(&token, secret, from).await,
        }
    }

    async fn check_token(
        &self,
        token: &str,
        secret: Zeroizing<String>,
        from: Option<IpAddr>,
    ) -> ServiceResult<Caller> {
        let refused = || {
            unauthorized(
                "wrong-token",
                "the API token is unknown, disabled or its secret is wrong",
            )
        };
        let authid: Authid = token.parse().map_err(|_| refused())?;
        let key = key_of(&format!("{token}:{}", *secret));
        let known = self.tokens.get(&key).is_some();
        if !known {
            if !self.limiter.allows(token, from) {
                let text = "too many attempts with a wrong secret";
                return Err(ServiceError::new(
                    ErrorKind::TooManyRequests,
                    "too-many-log-ins",
                    text,
                ));
            }
            let _waiting = self.wait()?;
            let (users, owner) = (Arc::clone(&self.users), authid.clone());
            let permit = self.hashing.acquire().await.map_err(ServiceError::internal)?;
            let good = tokio::task::spawn_blocking(move || users.verify_token(&owner, &secret)).await?;
            drop(permit);
            if !good.map_err(ServiceError::internal)? {
                self.limiter.failed(token, from);
                tokio::time::sleep(FAILURE_DELAY).await;
                return Err(refused());
            }
            self.tokens.insert(key, authid.clone());
        }
        if !self.users.is_active(&authid) {
            return Err(refused());
        }
        Ok(Caller {
            authid,
            via: Via::Token,
        })
    }

    fn check_ticket(&self, ticket: &str) -> ServiceResult<TicketClaims> {
        let key = key_of(ticket);
        let refused = |text: &str| unauthorized("not-signed-in", text);
        if self.ended.contains_key(&key) {
            return Err(refused("signed out"));
        }
        let now = clock::epoch();
        let claims = match self.checked.get(&key) {
            Some(claims) if claims.is_current(now) => claims,
            _ => {
                let claims = self
                    .tickets
                    .verify(ticket, now)
                    .map_err(|error| refused(&error.to_string()))?;
                self.checked.insert(key, claims.clone());
                claims
            }
        };
        if self
            .valid_from
            .get(&claims.user)
            .is_some_and(|from| claims.issued < from)
        {
            return Err(refused("the password was changed: sign in again"));
        }
        Ok(claims)
    }

    async fn verify(&self, user: Userid, password: Zeroizing<String>) -> ServiceResult<bool> {
        let users = Arc::clone(&self.users);
        let _permit = self.hashing.acquire().await.map_err(ServiceError::internal)?;
        tokio::task::spawn_blocking(move || users.verify_password(&user, &password))
            .await?
            .map_err(ServiceError::internal)
    }

    fn issue(&self, user: Userid) -> ServiceResult<SignedIn> {
        self.issue_at(user, clock::epoch())
    }

    fn issue_at(&self, user: Userid, now: i64) -> ServiceResult<SignedIn> {
        let ticket = self.tickets.issue(&user, now).map_err(ServiceError::internal)?;
        let csrf = self.csrf.issue(&user, now).map_err(ServiceError::internal)?;
        Ok(SignedIn {
            user,
            ticket,
            csrf,
            expires: now + TICKET_LIFETIME_S,
        })
    }

    fn wait(&self) -> ServiceResult<Waiting<'_>> {
        let waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            return Err(ServiceError::unavailable(
                "busy",
                "too many log-ins are waiting, try again",
            ));
        }
        Ok(waiting)
    }
}

/// Caches hold no secrets, only their digests.
fn key_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret)
}

fn unauthorized(code: &'static str, text: &str) -> ServiceError {
    ServiceError::new(ErrorKind::Unauthorized, code, text)
}
