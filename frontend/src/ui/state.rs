//! The state vocabulary: shape, word, colour, the same everywhere.

use fleethold_api_types::{JobState, StoreState};
use yew::prelude::*;

use super::Icon;
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
pub struct WordProps {
    /// Look.
    pub look: Look,
    /// Another text than the look's word.
    #[prop_or_default]
    pub text: Option<AttrValue>,
    /// Explanation on hover.
    #[prop_or_default]
    pub title: Option<AttrValue>,
}

/// Icon and word.
#[component(Word)]
pub fn word(props: &WordProps) -> Html {
    html! {
        <span class="state" data-state={props.look.state} title={props.title.clone()}>
            <Icon name={props.look.icon} />
            { props.text.clone().unwrap_or(AttrValue::Static(props.look.word)) }
        </span>
    }
}

/// Props of [`StoreBadge`].
#[derive(Properties, PartialEq)]
pub struct StoreBadgeProps {
    /// State.
    pub state: StoreState,
}

/// A store's health in a pill.
#[component(StoreBadge)]
pub fn store_badge(props: &StoreBadgeProps) -> Html {
    let look = store_look(props.state);
    html! { <span class="badge" data-state={look.state} data-testid="store-state"><Icon name={look.icon} />{ look.word }</span> }
}

/// Props of [`JobBadge`].
#[derive(Properties, PartialEq)]
pub struct JobBadgeProps {
    /// State.
    pub state: JobState,
    /// Another text than the state's word.
    #[prop_or_default]
    pub text: Option<AttrValue>,
}

/// A job's state in a pill.
#[component(JobBadge)]
pub fn job_badge(props: &JobBadgeProps) -> Html {
    let look = job_look(props.state);
    let key = match props.state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Ok => "ok",
        JobState::Failed => "failed",
        JobState::Cancelled => "cancelled",
        JobState::Interrupted => "interrupted",
    };
    html! {
        <span class="badge" data-state={look.state} data-testid="job-state" data-job-state={key}>
            <Icon name={look.icon} />
            { props.text.clone().unwrap_or(AttrValue::Static(look.word)) }
        </span>
    }
}
