//! The live feed `GET /api/v1/events` (server-sent events).
//!
//! On (re)connect the client gets either the events it missed (`Last-Event-ID` still in the
//! server's ring) or one [`SnapshotEvent`]; after that changed rows only, at most four times a second.
//! The SSE field `event` is [`EventKind`]'s name, `id` is `<epoch>-<sequence>`, `data` the JSON of the
//! variant's content.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::bench::{Alert, BenchRun, LiveSample};
use crate::{FleetSummary, Health, Job, JobSample, StoreRow};

/// Name in the SSE field `event`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// [`SnapshotEvent`].
    Snapshot,
    /// `Vec<StoreRow>`: rows that changed.
    Store,
    /// [`JobEvent`](Event::Job): a job that changed, with its newest sample.
    Job,
    /// [`BenchEvent`](Event::Bench): benchmark runs that changed, with the samples taken since.
    Bench,
    /// [`AlertEvent`](Event::Alert): benchmark alerts that were opened or confirmed, and how many stand.
    Alert,
    /// [`ServerEvent`].
    Server,
}

impl EventKind {
    /// As in the SSE field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Store => "store",
            Self::Job => "job",
            Self::Bench => "bench",
            Self::Alert => "alert",
            Self::Server => "server",
        }
    }
}

/// Everything a page needs at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotEvent {
    /// Fleet figures.
    pub summary: FleetSummary,
    /// Queued and running jobs, and those that ended lately.
    pub jobs: Vec<Job>,
    /// Server.
    pub health: Health,
    /// Queued and running benchmark runs, and those that ended lately.
    #[serde(default)]
    pub bench: Vec<BenchRun>,
    /// Benchmark alerts that are open or confirmed: nobody has acknowledged or muted them.
    #[serde(default)]
    pub standing_alerts: u32,
}

/// What changed on the server itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServerEvent {
    /// Fleet figures.
    pub summary: FleetSummary,
    /// Server.
    pub health: Health,
    /// Stores appeared or went: fetch the list again.
    pub fleet_changed: bool,
}

/// An event as sent and as received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Event {
    /// See [`EventKind::Snapshot`].
    Snapshot(Box<SnapshotEvent>),
    /// See [`EventKind::Store`].
    Store {
        /// Rows that changed.
        stores: Vec<StoreRow>,
    },
    /// See [`EventKind::Job`].
    Job {
        /// Jobs that changed.
        jobs: Vec<Job>,
        /// Newest sample of each running one.
        samples: Vec<(Uuid, JobSample)>,
    },
    /// See [`EventKind::Bench`].
    Bench {
        /// Runs that changed.
        runs: Vec<BenchRun>,
        /// What they measured since the event before.
        samples: Vec<LiveSample>,
    },
    /// See [`EventKind::Alert`].
    Alert {
        /// Alerts that are open or confirmed now.
        standing: u32,
        /// Those that were opened or confirmed since the event before; empty when some only went.
        alerts: Vec<Alert>,
    },
    /// See [`EventKind::Server`].
    Server(Box<ServerEvent>),
}

impl Event {
    /// Its kind.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Snapshot(_) => EventKind::Snapshot,
            Self::Store { .. } => EventKind::Store,
            Self::Job { .. } => EventKind::Job,
            Self::Bench { .. } => EventKind::Bench,
            Self::Alert { .. } => EventKind::Alert,
            Self::Server(_) => EventKind::Server,
        }
    }

    /// Parses the SSE `data` of an event named `kind`.
    ///
    /// # Errors
    /// The JSON does not have the kind's shape.
    pub fn parse(kind: EventKind, data: &str) -> Result<Self, serde_json::Error> {
        let mut text = serde_json::Deserializer::from_str(data);
        let event = Self::read(kind, &mut text)?;
        text.end()?;
        Ok(event)
    }

    /// Reads the content of an event named `kind` from any format.
    ///
    /// # Errors
    /// It does not have the kind's shape.
    pub fn read<'de, D: serde::Deserializer<'de>>(kind: EventKind, content: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stores {
            stores: Vec<StoreRow>,
        }
        #[derive(Deserialize)]
        struct Jobs {
            jobs: Vec<Job>,
            samples: Vec<(Uuid, JobSample)>,
        }
        #[derive(Deserialize)]
        struct Benches {
            runs: Vec<BenchRun>,
            samples: Vec<LiveSample>,
        }
        #[derive(Deserialize)]
        struct Alerts {
            standing: u32,
            alerts: Vec<Alert>,
        }
        Ok(match kind {
            EventKind::Snapshot => Self::Snapshot(Box::deserialize(content)?),
            EventKind::Store => Self::Store {
                stores: Stores::deserialize(content)?.stores,
            },
            EventKind::Job => {
                let Jobs { jobs, samples } = Jobs::deserialize(content)?;
                Self::Job { jobs, samples }
            }
            EventKind::Bench => {
                let Benches { runs, samples } = Benches::deserialize(content)?;
                Self::Bench { runs, samples }
            }
            EventKind::Alert => {
                let Alerts { standing, alerts } = Alerts::deserialize(content)?;
                Self::Alert { standing, alerts }
            }
            EventKind::Server => Self::Server(Box::deserialize(content)?),
        })
    }
}
