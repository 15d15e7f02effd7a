//! The way every password and token secret goes: limits, a queue for the expensive hash, a late answer to a wrong one.
//!
//! ```text
//! attempt ─▶ too many failures of this user here? 429 ─▶ address slowed? waits ─▶ queue (bounded, also per address)
//!    ─▶ hash, two at once ─▶ right: answered │ wrong: counted, its place in the queue is free ─▶ answered 3 s late
//! ```
//!
//! Who waits for nothing but time holds no place in the queue. A client that hangs up changes nothing: the hash goes on
//! with its permit, and a failure is counted.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::limit::{FAILURE_DELAY, LoginLimiter, Origin, Place, Places, WINDOW};
use super::users::UserError;
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};

/// Password hashes computed at once: each takes a core and 19 MiB.
const HASHES_AT_ONCE: usize = 2;
/// Attempts that may wait for a hash, in all and of one address.
const HASHES_WAITING: (usize, usize) = (64, 32);
/// Attempts of slowed addresses that may wait to be looked at, in all and of one address.
const SLOWED: (usize, usize) = (1024, 32);
/// Failures that are answered late, in all and of one address; beyond that the answer comes at once.
const ANSWERED_LATE: (usize, usize) = (1024, 64);

/// The way in.
pub(super) struct Gate {
    limiter: Arc<LoginLimiter>,
    hashing: Arc<Semaphore>,
    queue: Arc<Places>,
    slowed: Arc<Places>,
    late: Arc<Places>,
}

impl Default for Gate {
    fn default() -> Self {
        let places = |(all, of_one)| Places::new(all, of_one);
        Self {
            limiter: Arc::default(),
            hashing: Arc::new(Semaphore::new(HASHES_AT_ONCE)),
            queue: places(HASHES_WAITING),
            slowed: places(SLOWED),
            late: places(ANSWERED_LATE),
        }
    }
}

impl Gate {
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
        if !self.limiter.allows(who, origin) {
            return Err(refused());
        }
        if let Some(delay) = self.limiter.delay(origin) {
            let _slowed = self.slowed.take(origin).ok_or_else(crowded)?;
            tokio::time::sleep(delay).await;
        }
        let place = self.queue.take(origin).ok_or_else(crowded)?;
        let (limiter, who) = (Arc::clone(&self.limiter), who.to_owned());
        let found = self
            .hash(Some(place), move || {
                // Many may have come at once: those that failed meanwhile count.
                if !limiter.allows(&who, origin) {
                    return Err(refused());
                }
                let found = check().map_err(ServiceError::internal)?;
                match &found {
                    Some(_) => limiter.succeeded(&who, origin),
                    None => limiter.failed(&who, origin),
                }
                Ok(found)
            })
            .await??;
        if found.is_none()
            && let Some(_late) = self.late.take(origin)
        {
            tokio::time::sleep(FAILURE_DELAY).await;
        }
        Ok(found)
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
}

fn refused() -> ServiceError {
    too_many(&format!(
        "too many failed log-ins, try again in {} s",
        WINDOW.as_secs()
    ))
}

fn crowded() -> ServiceError {
    too_many("too many log-ins are under way, try again")
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
        let gate = Arc::new(Gate::default());
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
}
