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
    /// Password, theme, language, about.
    #[at("/settings")]
    Settings,
    /// Anything else.
    #[not_found]
    #[at("/404")]
    NotFound,
}
