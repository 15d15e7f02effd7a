//! Every SQL statement; the private PostgreSQL cluster; the spool for when it is away.
//!
//! * [`Database`] brings PostgreSQL up in the background (a private cluster or the user's own server), migrates it,
//!   watches it, and answers reads while it is there.
//! * [`Recorder`] takes what must not be lost: it goes to a bounded spool on disk first and into the database, in order
//!   and exactly once, when that is there.
//! * [`audit`] keeps who changed which user, token or rule.
//! * [`bench`] keeps benchmark runs: each whole or not at all, and once.
//!
//! Queries are checked at compile time against the committed `.sqlx`; `prepare.sh` renews it.

pub mod audit;
pub mod bench;
mod clock;
mod cluster;
mod database;
mod error;
mod machine;
mod query;
mod recorder;
mod replay;
mod rows;
mod spool;
mod supervisor;
mod write;

pub use cluster::ClusterError;
pub use database::{Database, DatabaseConfig, DbState};
pub use error::HistoryError;
pub use query::{JobFilter, JobPage, OutcomeFilter};
pub use recorder::{Recorder, RecorderConfig, SpoolStats};
pub use rows::{JobRow, Machine, Outcome, SamplePoint, SampleRow, StoreHistory, Totals, UnknownOutcome};
pub use spool::SpoolError;

/// The embedded migrations, for tests and tools.
pub fn migrations() -> sqlx::migrate::Migrator {
    supervisor::migrations()
}
