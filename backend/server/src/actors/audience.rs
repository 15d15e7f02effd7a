//! Who follows the live feed: still signed in? allowed to see what?

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::auth::session::{Caller, Sessions};
use crate::services::rights::Sight;

/// Somebody who follows the feed, however long the stream lasts.
pub struct Viewer {
    /// Where it is known who is signed in.
    pub sessions: Arc<Sessions>,
    /// Who.
    pub caller: Caller,
}

impl Viewer {
    /// `None` when everything may be seen.
    pub(super) fn sight(&self) -> Option<Sight> {
        let sight = Sight::of(&self.sessions.users, &self.caller.authid);
        (!sight.everything()).then_some(sight)
    }
}

/// One open stream.
pub(super) struct Client {
    viewer: Viewer,
    /// What is seen now, unless it is everything.
    pub(super) sight: Option<Sight>,
    queue: mpsc::Sender<Bytes>,
}

/// Why a frame did not go out; the client is dropped.
pub(super) enum Lost {
    /// It does not keep up.
    Slow,
    /// It went away.
    Gone,
}

impl Client {
    pub(super) fn new(viewer: Viewer, queue: mpsc::Sender<Bytes>) -> Self {
        Self {
            sight: viewer.sight(),
            viewer,
            queue,
        }
    }

    /// Looks at the rights again; false when the session ended or the client went away.
    pub(super) fn refresh(&mut self) -> bool {
        self.sight = self.viewer.sight();
        !self.queue.is_closed() && self.viewer.sessions.still_signed_in(&self.viewer.caller)
    }

    pub(super) fn send(&self, frame: Bytes) -> Result<(), Lost> {
        self.queue.try_send(frame).map_err(|error| match error {
            TrySendError::Full(_) => Lost::Slow,
            TrySendError::Closed(_) => Lost::Gone,
        })
    }
}
