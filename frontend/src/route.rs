//! The pages and their addresses.

use uuid::Uuid;
use yew_router::prelude::*;

/// A page.
#[derive(Clone, Debug, PartialEq, Routable)]
pub enum Route {
    /// All stores.
    #[at("/")]
    Fleet,
    /// One store.
    #[at("/store/:name")]
    Store {
        /// Its name.
        name: String,
    },
    /// Running, queued and lately ended restores.
    #[at("/jobs")]
    Jobs,
    /// One restore.
    #[at("/jobs/:id")]
    Job {
        /// Its id.
        id: Uuid,
    },
    /// Past restores.
    #[at("/history")]
    History,
    /// One past restore.
    #[at("/history/:id")]
    HistoryItem {
        /// Its id.
        id: Uuid,
    },
    /// Workloads that can be run, and their runs.
    #[at("/bench")]
    Bench,
    /// One run: while it measures, and what it measured.
    #[at("/bench/runs/:id")]
    BenchRun {
        /// Its id.
        id: Uuid,
    },
    /// Two runs against each other.
    #[at("/bench/compare")]
    BenchCompare,
    /// One measurement over all runs and commits.
    #[at("/bench/history")]
    BenchHistory,
    /// Machines that measured.
    #[at("/bench/machines")]
    BenchMachines,
    /// Series that got worse.
    #[at("/bench/alerts")]
    BenchAlerts,
    /// A flame graph, or the difference of two.
    #[at("/bench/flame")]
    BenchFlame,
    /// Password, theme, language, about.
    #[at("/settings")]
    Settings,
    /// Anything else.
    #[not_found]
    #[at("/404")]
    NotFound,
}
