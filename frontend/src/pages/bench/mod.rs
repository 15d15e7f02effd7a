//! The benchmark lab: workloads and runs, one run, two runs, series over commits, machines, alerts, flame graphs.

mod alerts;
mod attachments;
mod belief;
mod compare;
mod comparison;
mod counters;
mod detail;
mod environment;
mod export;
mod facts;
mod flame;
mod history;
mod import;
mod live;
mod machines;
mod notes;
mod run;
mod run_dialog;
mod runs;
mod series_chart;
mod sweep;
mod words;
mod workloads;

pub use alerts::AlertsPage;
pub use compare::ComparePage;
pub use flame::FlamePage;
pub use history::SeriesPage;
pub use machines::MachinesPage;
pub use run::RunPage;
pub use workloads::BenchPage;
