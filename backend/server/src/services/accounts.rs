//! Keeps what is known about users and rights up to date, so that no request has to look at a file.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::auth::users::UserStore;

/// What inotify does not tell counts after this long at the latest; all else counts at once (`auth::changes`).
const EVERY: Duration = Duration::from_millis(500);

/// Looks at the files until `stop`. Runs on a runtime with a blocking pool; a disk that hangs takes one thread of it.
pub async fn follow(users: Arc<UserStore>, stop: CancellationToken) {
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let looked_at = Arc::clone(&users);
        if let Err(error) = tokio::task::spawn_blocking(move || looked_at.look()).await {
            tracing::error!(%error, "a look at users and rights ended early");
        }
    }
}
