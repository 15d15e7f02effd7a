//! The way every password and token secret goes: limits, a queue for the expensive hash, a late answer to a wrong one.
//!
//! ```text
//! attempt ─▶ too many failures of this user here? 429 ─▶ address slowed? waits ─▶ queue (bounded, also per address)
//!    ─▶ hash, in turn ─▶ right: answered │ wrong: counted, its place in the queue is free ─▶ answered 3 s late
//! ```
//!
//! Who waits for nothing but time holds no place in the queue. A client that hangs up changes nothing: the hash goes on
//! with its permit, and a failure is counted.
//!
//! Passwords and tokens have a gate each: a flood of wrong tokens keeps nobody from signing in. A token's secret is random, so
//! its hash need not hide whether there is such a token by being slow: unknown ones are not hashed at all, and all wrong
//! answers come the same time after the question. So that this is always so, the place of a late answer is taken first;
//! without one the answer is 429 for everybody.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Semaphore;

use super::limit::{FAILURE_DELAY, LoginLimiter, Origin, Place, Places, WINDOW};
use super::users::UserError;
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};

/// Password hashes computed at once: each takes a core and 19 MiB.
const PASSWORDS_AT_ONCE: usize = 2;
/// The same of tokens: each is hashed once and then known.
const TOKENS_AT_ONCE: usize = 1;
/// Attempts that may wait for a hash, in all and of one address.
const HASHES_WAITING: (usize, usize) = (64, 32);
/// Attempts of slowed addresses that may wait to be looked at, in all and of one address.
const SLOWED: (usize, usize) = (1024, 32);
/// Failures that are answered late, in all and of one address; beyond that a wrong password is answered at once.
const ANSWERED_LATE: (usize, usize) = (1024, 64);

/// What a gate has seen.
#[derive(Debug, Default)]
pub struct GateStats {
    /// Wrong passwords or secrets.
    pub failed: AtomicU64,
    /// Attempts that were not looked at: too many failures, or too many under way.
    pub refused: AtomicU64,
    /// Slow hashes computed to compare with.
    pub hashed: AtomicU64,
}

/// A way in.
pub(super) struct Gate {
    pub(super) stats: Arc<GateStats>,
    limiter: Arc<LoginLimiter>,
    hashing: Arc<Semaphore>,
    queue: Arc<Places>,
    slowed: Arc<Places>,
    late: Arc<Places>,
}

impl Gate {
    /// For passwords.
    pub(super) fn of_passwords() -> Self {
        Self::new(PASSWORDS_AT_ONCE)
    }

    /// For secrets of API tokens.
    pub(super) fn of_tokens() -> Self {
        Self::new(TOKENS_AT_ONCE)
    }

    fn new(hashes_at_once: usize) -> Self {
        let places = |(all, of_one)| Places::new(all, of_one);
        Self {
            stats: Arc::default(),
            limiter: Arc::default(),
            hashing: Arc::new(Semaphore::new(hashes_at_once)),
            queue: places(HASHES_WAITING),
            slowed: places(SLOWED),
            late: places(ANSWERED_LATE),
        }
    }

    /// Lets `check` look at a secret of `who`; `None` means that it is wrong, and comes late.
    ///
    /// # Errors
    /// Too many requests after too many failures or from an address with too many under way; those of `check`.
    pub(super) async fn attempt<T: Send + 'static>(
        &self,
        who: &str,
        from: Option<IpAddr>,
        check: impl FnOnce() -> Result<Option<T>, UserError> + Send + 'static,
    ) -> ServiceResult<Option<T>> {
        let origin = Origin::from(from);
        self.admit(who, origin)?;
        self.slow_down(origin).await?;
        let found = self.judge(who, origin, check).await?;
        if found.is_none()
            && let Some(_late) = self.late.take(origin)
        {
            tokio::time::sleep(FAILURE_DELAY).await;
        }
        Ok(found)
    }

    /// Lets `check`, where there is anything to compare with, look at a secret of a token; whether it is right. All wrong
    /// answers come the same time after the question.
    ///
    /// # Errors
    /// As [`Gate::attempt`].
    pub(super) async fn attempt_token(
        &self,
        token: &str,
        from: Option<IpAddr>,
        check: Option<impl FnOnce() -> Result<bool, UserError> + Send + 'static>,
    ) -> ServiceResult<bool> {
        let origin = Origin::from(from);
        self.admit(token, origin)?;
        let _late = self.late.take(origin).ok_or_else(|| self.crowded())?;
        self.slow_down(origin).await?;
        // Counts from now, whatever the check takes.
        let mut answer = pin!(tokio::time::sleep(FAILURE_DELAY));
        let right = match check {
            Some(check) => {
                let check = || Ok(check()?.then_some(()));
                self.judge(token, origin, check).await?.is_some()
            }
            None => {
                self.fail(token, origin);
                false
            }
        };
        if !right {
            answer.as_mut().await;
        }
        Ok(right)
    }

    fn admit(&self, who: &str, origin: Origin) -> ServiceResult<()> {
        if self.limiter.allows(who, origin) {
            return Ok(());
        }
        self.stats.refused.fetch_add(1, Ordering::Relaxed);
        Err(refused())
    }

    async fn slow_down(&self, origin: Origin) -> ServiceResult<()> {
        if let Some(delay) = self.limiter.delay(origin) {
            let _slowed = self.slowed.take(origin).ok_or_else(|| self.crowded())?;
            tokio::time::sleep(delay).await;
        }
        Ok(())
    }

    async fn judge<T: Send + 'static>(
        &self,
        who: &str,
        origin: Origin,
        check: impl FnOnce() -> Result<Option<T>, UserError> + Send + 'static,
    ) -> ServiceResult<Option<T>> {
        let place = self.queue.take(origin).ok_or_else(|| self.crowded())?;
        let (limiter, stats, who) = (Arc::clone(&self.limiter), Arc::clone(&self.stats), who.to_owned());
        self.hash(Some(place), move || {
            // Many may have come at once: those that failed meanwhile count.
            if !limiter.allows(&who, origin) {
                stats.refused.fetch_add(1, Ordering::Relaxed);
                return Err(refused());
            }
            stats.hashed.fetch_add(1, Ordering::Relaxed);
            let found = check().map_err(ServiceError::internal)?;
            match &found {
                Some(_) => limiter.succeeded(&who, origin),
                None => {
                    limiter.failed(&who, origin);
                    stats.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(found)
        })
        .await?
    }

    fn fail(&self, who: &str, origin: Origin) {
        self.limiter.failed(who, origin);
        self.stats.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs `work`, which computes a password hash, in turn.
    ///
    /// # Errors
    /// When it does not come to its end.
    pub(super) async fn hash<T: Send + 'static>(
        &self,
        place: Option<Place>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> ServiceResult<T> {
        let permit = Arc::clone(&self.hashing)
            .acquire_owned()
            .await
            .map_err(ServiceError::internal)?;
        let work = move || {
            let _until_done = (permit, place);
            work()
        };
        Ok(tokio::task::spawn_blocking(work).await?)
    }

    fn crowded(&self) -> ServiceError {
        self.stats.refused.fetch_add(1, Ordering::Relaxed);
        too_many("too many log-ins are under way, try again")
    }
}

fn refused() -> ServiceError {
    too_many(&format!(
        "too many failed log-ins, try again in {} s",
        WINDOW.as_secs()
    ))
}

fn too_many(text: &str) -> ServiceError {
    ServiceError::new(ErrorKind::TooManyRequests, "too-many-log-ins", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(address: &str) -> Option<IpAddr> {
        Some(address.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_log_ins_that_wait_for_their_answer_hold_no_place() {
        let gate = Arc::new(Gate::of_passwords());
        let wrong: Vec<_> = (0..HASHES_WAITING.0 * 2)
            .map(|n| {
                let gate = Arc::clone(&gate);
                let address = from(if n % 2 == 0 { "10.0.0.1" } else { "2001:db8::1" });
                tokio::spawn(async move {
                    gate.attempt(&format!("user{n}@pbs"), address, || Ok(None::<()>))
                        .await
                })
            })
            .collect();
        // Time stands still as long as anything has something to do: none of them is answered meanwhile.
        let before = tokio::time::Instant::now();
        while gate.late.taken() + wrong.iter().filter(|one| one.is_finished()).count() < wrong.len() {
            tokio::task::yield_now().await;
        }
        let right = gate.attempt("admin@pbs", from("10.0.0.2"), || Ok(Some(7))).await;
        assert_eq!(right.unwrap(), Some(7));
        assert!(before.elapsed() < FAILURE_DELAY);
        let mut late = 0;
        for one in wrong {
            late += usize::from(one.await.unwrap().is_ok());
        }
        assert!(late >= 32 && before.elapsed() >= FAILURE_DELAY, "{late}");
        // The flooding address, too, lets in who has the right password, if slower.
        for _ in 0..100 {
            gate.limiter.failed("someone@pbs", from("10.0.0.1").into());
        }
        let right = gate.attempt("admin@pbs", from("10.0.0.1"), || Ok(Some(7))).await;
        assert_eq!(right.unwrap(), Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_tokens_are_answered_after_the_same_time_and_rarely_hashed() {
        let gate = Arc::new(Gate::of_tokens());
        let begun = tokio::time::Instant::now();
        let unknown = gate.attempt_token("a@pbs!no", from("10.0.0.1"), None::<fn() -> _>);
        assert!(!unknown.await.unwrap());
        assert_eq!(begun.elapsed(), FAILURE_DELAY);
        let begun = tokio::time::Instant::now();
        let known = gate.attempt_token("a@pbs!yes", from("10.0.0.1"), Some(|| Ok(false)));
        assert!(!known.await.unwrap());
        assert_eq!(begun.elapsed(), FAILURE_DELAY);

        // A thousand at once, from two addresses: all are answered, few are looked at.
        let flood: Vec<_> = (0..1000)
            .map(|n| {
                let gate = Arc::clone(&gate);
                let address = from(if n % 2 == 0 { "10.0.0.1" } else { "10.0.0.9" });
                tokio::spawn(async move {
                    let check = || Ok(false);
                    gate.attempt_token("a@pbs!yes", address, Some(check)).await
                })
            })
            .collect();
        // Somebody else's token is known by one hash, meanwhile.
        let right = gate.attempt_token("b@pbs!yes", from("10.0.0.2"), Some(|| Ok(true)));
        assert!(right.await.unwrap());
        let mut looked_at = 0;
        for one in flood {
            looked_at += usize::from(one.await.unwrap().is_ok());
        }
        assert!(looked_at <= 20, "ten failures of each address: {looked_at}");
        let stats = &gate.stats;
        assert!(stats.hashed.load(Ordering::Relaxed) <= 70, "{stats:?}");
        assert!(stats.refused.load(Ordering::Relaxed) >= 900, "{stats:?}");
        assert_eq!(
            gate.late.taken() + gate.queue.taken(),
            0,
            "every place is free again"
        );
    }
}
