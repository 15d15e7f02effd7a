//! The state vocabulary: shape, word, colour, the same everywhere.

use fleethold_api_types::{JobState, StoreState};
use yew::prelude::*;

use super::glyph;
use crate::t;

/// How a state looks: `data-state` of the sheet, icon, word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// `data-state`.
    pub state: &'static str,
    /// Icon.
    pub icon: &'static str,
    /// Word.
    pub word: &'static str,
}

/// Look of a store's health.
pub fn store_look(state: StoreState) -> Look {
    let (state, icon, word) = match state {
        StoreState::Unknown => ("queued", "queue", t!(state_unknown)),
        StoreState::Ok => ("ok", "ok", t!(state_ok)),
        StoreState::Maintenance => ("maint", "maint", t!(state_maintenance)),
        StoreState::Warning => ("warning", "warn", t!(state_warning)),
        StoreState::Error => ("error", "error", t!(state_error)),
        StoreState::Offline => ("offline", "off", t!(state_offline)),
    };
    Look { state, icon, word }
}

/// Look of a job's state.
pub fn job_look(state: JobState) -> Look {
    let (state, icon, word) = match state {
        JobState::Queued => ("queued", "queue", t!(job_queued)),
        JobState::Running => ("running", "run", t!(job_running)),
        JobState::Ok => ("ok", "ok", t!(job_ok)),
        JobState::Failed => ("error", "error", t!(job_failed)),
        JobState::Cancelled => ("offline", "off", t!(job_cancelled)),
        JobState::Interrupted => ("warning", "warn", t!(job_interrupted)),
    };
    Look { state, icon, word }
}

/// A state in running text or in a cell.
#[derive(Properties, PartialEq)]
pub struct Word {
    /// Look.
    pub look: Look,
    /// Another text than the look's word.
    #[prop_or_default]
    pub text: Option<AttrValue>,
    /// Explanation on hover.
    #[prop_or_default]
    pub title: Option<AttrValue>,
}

impl Word {
    /// Icon and word.
    pub fn view(&self) -> Html {
        html! {
            <span class="state" data-state={self.look.state} title={self.title.clone()}>
                { glyph(self.look.icon) }
                { self.text.clone().unwrap_or(AttrValue::Static(self.look.word)) }
            </span>
        }
    }
}

/// What is shown; drawn by [`StoreBadge::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct StoreBadge {
    /// State.
    pub state: StoreState,
}

impl StoreBadge {
    /// A store's health in a pill.
    pub fn view(&self) -> Html {
        let look = store_look(self.state);
        html! { <span class="badge" data-state={look.state} data-testid="store-state">{ glyph(look.icon) }{ look.word }</span> }
    }
}

/// What is shown; drawn by [`JobBadge::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct JobBadge {
    /// State.
    pub state: JobState,
    /// Another text than the state's word.
    #[prop_or_default]
    pub text: Option<AttrValue>,
}

impl JobBadge {
    /// A job's state in a pill.
    pub fn view(&self) -> Html {
        let look = job_look(self.state);
        let key = match self.state {
            JobState::Queued => "queued",
            JobState::Running => "running",
            JobState::Ok => "ok",
            JobState::Failed => "failed",
            JobState::Cancelled => "cancelled",
            JobState::Interrupted => "interrupted",
        };
        html! {
            <span class="badge" data-state={look.state} data-testid="job-state" data-job-state={key}>
                { glyph(look.icon) }
                { self.text.clone().unwrap_or(AttrValue::Static(look.word)) }
            </span>
        }
    }
}
