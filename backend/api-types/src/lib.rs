//! Wire types of `/api/v1` and its live events.
//!
//! Conventions (one for all): `snake_case` names, sizes in bytes, spans in nanoseconds unless the
//! name says otherwise, times RFC 3339 in UTC, ids UUIDv7. Lists are [`Page`]s; errors are
//! [`Problem`]s with a stable `code`. No type here does I/O; the page compiles them to WebAssembly.

mod audit;
pub mod bench;
mod common;
mod content;
mod events;
mod health;
mod history;
mod object;
mod problem;
mod restore;
mod session;
mod store;

pub use audit::{AuditItem, AuditQuery};
pub use common::{Page, Timestamp};
pub use content::{
    ContentQuery, ContentRequest, CryptMode, FileEntry, GroupEntry, NamespaceEntry, SnapshotEntry,
    VerifyState,
};
pub use events::{Event, EventKind, ServerEvent, SnapshotEvent};
pub use health::{AboutInfo, AccessProblem, DatabaseHealth, DatabaseState, Health, SpoolHealth};
pub use history::{HistoryItem, HistoryQuery, HistorySample, HistorySamples};
pub use object::object;
pub use problem::Problem;
pub use restore::{
    CreateRestore, Job, JobError, JobLog, JobProgress, JobSample, JobState, JobTotals, LogLine, Outcome,
    PlanRequest, PlanStrip, RestorePlan, RestoreSource, RestoreTarget, TargetKind,
};
pub use session::{ChangePassword, LoginRequest, Session};
pub use store::{FleetSummary, Maintenance, StoreRow, StoreState, Usage};
