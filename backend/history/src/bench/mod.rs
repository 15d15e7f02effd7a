//! The history of benchmark runs.
//!
//! ```text
//! NewBenchRun ──▶ store: one transaction ──▶ bench_run, bench_series, bench_sample (COPY), bench_summary, attachments
//!                    │ known digest: nothing            │
//!                    ▼                                  ├──▶ matrix: the run as it was, bit by bit
//!              watch: alerts of its series              ├──▶ series: points over time, from the summaries
//!                                                       └──▶ retention: raw samples go, summaries stay
//! ```
//!
//! A run measures cells; a cell has a *before* and an *after* series. What stays equal between two runs for their
//! numbers to be the same measurement at another time is the identity of a series ([`BenchSeries`]).

mod alert;
mod annotation;
mod attachment;
mod check;
mod columns;
mod copy;
mod identity;
mod machine;
mod matrix;
mod new_run;
pub mod outbox;
mod piecewise;
mod retention;
mod run;
mod series;
mod store;
mod summary;
mod watch;

pub use alert::{AlertFilter, AlertState, BenchAlert};
pub use annotation::{AnnotationKind, BenchAnnotation, NewAnnotation};
pub use attachment::{AttachmentKind, BenchAttachment, MAX_ATTACHMENT_BYTES, NewAttachment};
pub use machine::{BenchMachine, BenchMachineRow};
pub use matrix::BenchContent;
pub use new_run::{BenchLoad, BenchMeta, NewBenchRun, NewContent, Revision, WorkloadFile};
pub use piecewise::AttachmentReader;
pub use retention::RolledUp;
pub use run::{BenchRunFilter, BenchRunPage, BenchRunRow};
pub use series::{BenchPoint, BenchSeries, CellSeries, MAX_SERIES, SeriesFilter};
pub use store::Stored;
pub(crate) use store::blocking;
