//! Who is signed in: log-in, tickets, log-out, API tokens.
//!
//! Checking a ticket costs a signature; results are cached. Checking a password costs an argon2 and goes through the
//! [`Gate`]. So does a token's secret, once: then [`TokenCache`] knows it for as long as the stored hash stays. Every request
//! first asks [`Changes`] whether a file of users and rights was written, which costs one ioctl.
//!
//! What ends a ticket before its two hours are over, at once and also after a restart (`shadow.json` holds it):
//!
//! * log-out ends that ticket, and none that was made of it by renewal before: each is a session of its own;
//! * a new password, on the page, through either interface or on the command line, ends all tickets of the user;
//! * so do switching the user off and removing it: neither enabling nor adding the user again revives them.
//!
//! A ticket that nobody ends can be renewed for ever. Against a stolen one a new password helps. A password that some
//! other program writes into `shadow.json` ends no session.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use fleethold_format::hash::Sha256;
use fleethold_format::names::{Authid, Userid};
use moka::sync::Cache;
use zeroize::Zeroizing;

use super::changes::Changes;
use super::csrf::CsrfKey;
use super::gate::Gate;
pub use super::gate::GateStats;
use super::ticket::{self, TICKET_LIFETIME_S, TicketClaims, TicketKey};
use super::token_cache::TokenCache;
use super::users::{Change, UserStore};
use crate::clock;
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};

/// Tickets and tokens whose check is remembered.
const REMEMBERED: u64 = 10_000;

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
    gate: Gate,
    token_gate: Gate,
    changes: Arc<Changes>,
    checked: Cache<[u8; 32], TicketClaims>,
    tokens: Arc<TokenCache>,
    /// Logged out, also when it could not be written down.
    ended: Cache<(Userid, i64), ()>,
}

impl Sessions {
    /// Sessions of `users`, signed with `tickets` and `csrf`.
    #[must_use]
    pub fn new(users: Arc<UserStore>, tickets: TicketKey, csrf: CsrfKey) -> Self {
        let lifetime = Duration::from_secs(TICKET_LIFETIME_S.unsigned_abs() + 300);
        let changes = Changes::of(users.directory());
        // What was written before the watch began.
        users.look();
        Self {
            users,
            tickets,
            csrf,
            gate: Gate::of_passwords(),
            token_gate: Gate::of_tokens(),
            changes: Arc::new(changes),
            checked: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(lifetime)
                .build(),
            tokens: Arc::default(),
            ended: Cache::builder()
                .max_capacity(10 * REMEMBERED)
                .time_to_live(lifetime)
                .build(),
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
        let now = clock::epoch();
        if password.starts_with("PBS:")
            && let Ok(claims) = self.check_ticket(&password)
            && claims.user.as_str() == user
            && self.users.is_active(&claims.user.clone().into())
        {
            return self.reissue(claims.user, claims.issued, now).await;
        }
        let parsed = user.parse::<Userid>().ok();
        let (users, wanted) = (Arc::clone(&self.users), parsed.clone());
        let check = move || match &wanted {
            Some(userid) => users.sign_in(userid, &password, now),
            None => Ok(None),
        };
        match (parsed, self.gate.attempt(user, from, check).await?) {
            (Some(userid), Some(issued)) => {
                tracing::info!(user = %userid, "signed in");
                self.issue_at(userid, issued)
            }
            _ => {
                tracing::warn!(user = %user.escape_debug(), ?from, "log-in failed");
                Err(unauthorized("wrong-credentials", "user or password is wrong"))
            }
        }
    }

    /// A fresh ticket for somebody who is signed in.
    ///
    /// # Errors
    /// When signing fails, the session ended meanwhile, or the caller is a token.
    pub async fn renew(&self, caller: &Caller) -> ServiceResult<SignedIn> {
        match caller.via {
            Via::Ticket { issued } => {
                let user = caller.authid.user.clone();
                self.reissue(user, issued, clock::epoch()).await
            }
            Via::Token => Err(ServiceError::bad_request(
                "not-a-session",
                "API tokens have no session",
            )),
        }
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

    /// Ends the caller's ticket before its time. An API token has nothing that could end.
    pub async fn log_out(&self, caller: &Caller) {
        let Via::Ticket { issued } = caller.via else {
            return;
        };
        let user = caller.authid.user.clone();
        self.ended.insert((user.clone(), issued), ());
        let users = Arc::clone(&self.users);
        let ending = user.clone();
        let written = tokio::task::spawn_blocking(move || users.end_session(&ending, issued)).await;
        match written {
            Ok(Ok(())) => tracing::info!(%user, "signed out"),
            // It ended all the same, for as long as this server runs.
            Ok(Err(error)) => tracing::error!(%user, %error, "a log-out was not written down"),
            Err(error) => tracing::error!(%user, %error, "a log-out was not written down"),
        }
    }

    /// Whether the caller is still signed in: for streams, which outlive the request that opened them.
    #[must_use]
    pub fn still_signed_in(&self, caller: &Caller) -> bool {
        let current = match caller.via {
            Via::Ticket { issued } => {
                ticket::is_current(issued, clock::epoch()) && !self.has_ended(&caller.authid.user, issued)
            }
            // Its secret is the one the stream was opened with, or another that is right.
            Via::Token => self
                .users
                .token_hash(&caller.authid)
                .is_some_and(|stored| self.tokens.is_known(&caller.authid, &stored)),
        };
        current && self.users.is_active(&caller.authid)
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
    ) -> ServiceResult<(SignedIn, Change)> {
        self.prove(caller, current, from).await?;
        let user = caller.authid.user.clone();
        let (users, owner) = (Arc::clone(&self.users), user.clone());
        let (issued, change) = self
            .in_turn(move || users.set_password(&owner, &new))
            .await?
            .map_err(|error| ServiceError::unprocessable("password-refused", error))?;
        tracing::info!(%user, "password changed");
        Ok((self.issue_at(user, issued)?, change))
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
        self.settle().await?;
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
        let stored = self
            .users
            .token_hash(&authid)
            .filter(|_| self.users.is_active(&authid));
        if let Some(stored) = &stored
            && self.tokens.is_right(&authid, &secret, stored)
        {
            return Ok(Caller {
                authid,
                via: Via::Token,
            });
        }
        if stored.is_none() {
            self.tokens.forget(&authid);
        }
        // Who sends a wrong one again and again is answered like before.
        let to_check = stored.filter(|stored| !self.tokens.is_wrong(&authid, &secret, stored));
        let check = to_check.map(|stored| {
            let (users, tokens) = (Arc::clone(&self.users), Arc::clone(&self.tokens));
            let owner = authid.clone();
            move || {
                let right = users.is_secret(&owner, &secret, &stored)?;
                tokens.judged(&owner, &secret, &stored, right);
                Ok(right)
            }
        });
        if !self.token_gate.attempt_token(token, from, check).await? {
            tracing::warn!(token = %token.escape_debug(), ?from, "a token was refused");
            return Err(refused());
        }
        // It may have been taken away while the hash was computed.
        self.settle().await?;
        if self.users.token_hash(&authid).is_none() || !self.users.is_active(&authid) {
            return Err(refused());
        }
        Ok(Caller {
            authid,
            via: Via::Token,
        })
    }

    /// Takes note of what was written to the files of users and rights until now.
    async fn settle(&self) -> ServiceResult<()> {
        if self.changes.pending() {
            let (changes, users) = (Arc::clone(&self.changes), Arc::clone(&self.users));
            tokio::task::spawn_blocking(move || changes.settle(&users)).await?;
        }
        Ok(())
    }

    /// What the ways in have seen: for passwords, for tokens; and how many tokens are known.
    #[must_use]
    pub fn stats(&self) -> (&GateStats, &GateStats, u64) {
        (&self.gate.stats, &self.token_gate.stats, self.tokens.len())
    }

    /// Runs `work`, which computes a hash of a password or a new token, in turn with log-ins.
    ///
    /// # Errors
    /// When it does not come to its end.
    pub async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> ServiceResult<T> {
        self.gate.hash(None, work).await
    }

    /// Whether `password` is that of the caller, who is a user.
    ///
    /// # Errors
    /// Forbidden, late, when it is wrong, and to tokens; too many requests after too many failures.
    pub async fn prove(
        &self,
        caller: &Caller,
        password: Zeroizing<String>,
        from: Option<IpAddr>,
    ) -> ServiceResult<()> {
        let forbidden = |code, text| Err(ServiceError::new(ErrorKind::Forbidden, code, text));
        if caller.authid.token.is_some() {
            return forbidden("not-a-user", "API tokens have no password");
        }
        let user = caller.authid.user.clone();
        let (users, owner) = (Arc::clone(&self.users), user.clone());
        let check = move || users.sign_in(&owner, &password, clock::epoch());
        match self.gate.attempt(user.as_str(), from, check).await? {
            Some(_) => Ok(()),
            None => forbidden("wrong-password", "the current password is wrong"),
        }
    }

    fn check_ticket(&self, ticket: &str) -> ServiceResult<TicketClaims> {
        let key = key_of(ticket);
        let refused = |text: &str| unauthorized("not-signed-in", text);
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
        if self.has_ended(&claims.user, claims.issued) {
            return Err(refused("the session was ended: sign in again"));
        }
        Ok(claims)
    }

    /// By user and issue time, not by text: the same ticket can be written in more than one way.
    fn has_ended(&self, user: &Userid, issued: i64) -> bool {
        self.ended.contains_key(&(user.clone(), issued)) || self.users.session_ended(user, issued)
    }

    /// A fresh ticket for one that was good at `now`: not later, or it would outlive a password changed since. Looked up
    /// behind `now` for the same reason: what is in memory may be older.
    async fn reissue(&self, user: Userid, issued: i64, now: i64) -> ServiceResult<SignedIn> {
        let users = Arc::clone(&self.users);
        tokio::task::spawn_blocking(move || users.look()).await?;
        let fresh = self.users.issue_time(&user, now);
        if self.has_ended(&user, issued) {
            return Err(unauthorized(
                "not-signed-in",
                "the session was ended: sign in again",
            ));
        }
        self.issue_at(user, fresh)
    }

    fn issue_at(&self, user: Userid, now: i64) -> ServiceResult<SignedIn> {
        // A log-out of this very second may not be written down yet.
        let now = (now..)
            .find(|time| !self.ended.contains_key(&(user.clone(), *time)))
            .unwrap_or(now);
        let ticket = self.tickets.issue(&user, now).map_err(ServiceError::internal)?;
        let csrf = self.csrf.issue(&user, now).map_err(ServiceError::internal)?;
        Ok(SignedIn {
            user,
            ticket,
            csrf,
            expires: now + TICKET_LIFETIME_S,
        })
    }
}

/// Caches hold no secrets, only their digests.
fn key_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret)
}

fn unauthorized(code: &'static str, text: &str) -> ServiceError {
    ServiceError::new(ErrorKind::Unauthorized, code, text)
}
