//! Restores as jobs.
//!
//! ```text
//!            admit                 plan, fetch, decode, write
//!  queued ───────────▶ running ─────────────────────────────▶ ok
//!     │                   │ ├─────────────────────────────────▶ failed
//!     └───── cancel ──────┴─┼─────────────────────────────────▶ cancelled
//!                           └── the server stopped ───────────▶ interrupted
//! ```
//! Each change of state is on disk (task files, job record) before anybody is told.

pub mod durable;
pub mod history_rows;
pub mod load;
pub mod rate;
pub mod record;
pub mod recovery;
pub mod run;
pub mod samples;
pub mod source;
pub mod spec;
pub mod start;
pub mod table;
pub mod task_files;
pub mod task_list;
