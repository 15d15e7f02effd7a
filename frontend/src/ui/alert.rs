//! Errors: the cause, what is safe, what to do.

use std::rc::Rc;
use yew::prelude::*;

use super::Icon;
use crate::{
    clock,
    model::{format, load::Problem},
    t,
};

/// Props of [`ProblemAlert`].
#[derive(Properties, PartialEq)]
pub struct ProblemProps {
    /// What was attempted.
    pub title: AttrValue,
    /// What came back.
    pub problem: Rc<Problem>,
    /// Tries again.
    #[prop_or_default]
    pub on_retry: Option<Callback<()>>,
}

/// A failed request.
#[component(ProblemAlert)]
pub fn problem_alert(props: &ProblemProps) -> Html {
    let detail = match props.problem.code.as_str() {
        "network" => AttrValue::Static(t!(error_network)),
        _ => AttrValue::from(props.problem.detail.clone()),
    };
    html! {
        <div class="alert" role="alert" data-code={props.problem.code.clone()} data-testid="problem">
            <Icon name="error" />
            <p class="alert-h">{ props.title.clone() }</p>
            <p>{ detail }</p>
            if let Some(retry) = &props.on_retry {
                <div class="cluster">
                    <button type="button" class="btn" onclick={retry.reform(|_: MouseEvent| ())}>
                        <Icon name="retry" small=true />{ t!(try_again) }
                    </button>
                </div>
            }
        </div>
    }
}

/// Props of [`StaleNote`].
#[derive(Properties, PartialEq)]
pub struct StaleProps {
    /// When the data below arrived, milliseconds since the epoch.
    pub since_ms: f64,
}

/// Says how old the data below an error is.
#[component(StaleNote)]
pub fn stale_note(props: &StaleProps) -> Html {
    let age = format::age(((clock::now_ms() - props.since_ms) / 1000.0) as i64);
    html! { <span class="badge" data-state="warning"><Icon name="warn" />{ t!(stale, age = age) }</span> }
}
