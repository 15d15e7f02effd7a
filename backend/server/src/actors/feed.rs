//! The memory of the live feed: numbered frames in a bounded ring, so that a client that lost its connection gets what
//! it missed instead of everything.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use fleethold_api_types::EventKind;

/// Frames kept for clients that come back.
const RING_FRAMES: usize = 512;
/// Bytes of frames kept.
const RING_BYTES: usize = 8 << 20;

/// Id of an event: `<epoch>-<sequence>`. The epoch changes when the server starts.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub struct EventId {
    /// Start of the server.
    pub epoch: u64,
    /// Number of the event since then, from 1.
    pub sequence: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.sequence)
    }
}

impl FromStr for EventId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (epoch, sequence) = text.split_once('-').ok_or(())?;
        Ok(Self {
            epoch: epoch.parse().map_err(drop)?,
            sequence: sequence.parse().map_err(drop)?,
        })
    }
}

/// The ring.
#[derive(Debug)]
pub struct Feed {
    epoch: u64,
    sequence: u64,
    frames: VecDeque<Bytes>,
    bytes: usize,
}

impl Feed {
    /// An empty feed of a server that started at `epoch`.
    #[must_use]
    pub fn new(epoch: u64) -> Self {
        Self {
            epoch,
            sequence: 0,
            frames: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Id of the newest event.
    #[must_use]
    pub fn newest(&self) -> EventId {
        EventId {
            epoch: self.epoch,
            sequence: self.sequence,
        }
    }

    /// Numbers an event, keeps it and returns its frame.
    pub fn push(&mut self, kind: EventKind, json: &str) -> Bytes {
        self.sequence += 1;
        let frame = frame(self.newest(), kind, json);
        self.bytes += frame.len();
        self.frames.push_back(frame.clone());
        while self.frames.len() > RING_FRAMES || self.bytes > RING_BYTES {
            self.bytes -= self.frames.pop_front().map_or(0, |frame| frame.len());
        }
        frame
    }

    /// The frames behind `last`, when they are all still here.
    #[must_use]
    pub fn missed_since(&self, last: EventId) -> Option<Vec<Bytes>> {
        let missed = self.sequence.checked_sub(last.sequence)?;
        let missed = usize::try_from(missed).ok()?;
        (last.epoch == self.epoch && missed <= self.frames.len()).then(|| {
            self.frames
                .iter()
                .skip(self.frames.len() - missed)
                .cloned()
                .collect()
        })
    }

    /// Frames and bytes kept.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.frames.len(), self.bytes)
    }
}

/// An event as it goes over the wire. JSON has no line feed, so one `data` line is enough.
#[must_use]
pub fn frame(id: EventId, kind: EventKind, json: &str) -> Bytes {
    format!("id: {id}\nevent: {}\ndata: {json}\n\n", kind.as_str()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_missed_or_must_start_again() {
        let mut feed = Feed::new(7);
        let frames: Vec<Bytes> = (0..3)
            .map(|n| feed.push(EventKind::Store, &format!("{{\"n\":{n}}}")))
            .collect();
        assert_eq!(frames[0], "id: 7-1\nevent: store\ndata: {\"n\":0}\n\n");
        assert_eq!(feed.missed_since("7-1".parse().unwrap()).unwrap(), frames[1..]);
        assert_eq!(
            feed.missed_since("7-3".parse().unwrap()).unwrap(),
            Vec::<Bytes>::new()
        );
        assert_eq!(
            feed.missed_since("6-1".parse().unwrap()),
            None,
            "another start of the server"
        );
        assert_eq!(feed.missed_since("7-4".parse().unwrap()), None, "from the future");
        for _ in 0..RING_FRAMES {
            feed.push(EventKind::Job, "{}");
        }
        assert_eq!(
            feed.missed_since("7-2".parse().unwrap()),
            None,
            "fell out of the ring"
        );
        assert_eq!(feed.size().0, RING_FRAMES);
        assert!("7".parse::<EventId>().is_err() && "x-1".parse::<EventId>().is_err());
    }

    #[test]
    fn the_ring_is_bounded_in_bytes() {
        let mut feed = Feed::new(1);
        let json = format!("\"{}\"", "x".repeat(1 << 20));
        for _ in 0..20 {
            feed.push(EventKind::Store, &json);
        }
        assert!(feed.size().1 <= RING_BYTES);
    }
}
