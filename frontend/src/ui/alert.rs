//! Errors: the cause, what is safe, what to do.

use std::rc::Rc;
use yew::prelude::*;

use super::{glyph, small_glyph};
use crate::{
    clock,
    model::{format, load::Problem},
    t,
};

/// What is shown; drawn by [`ProblemAlert::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct ProblemAlert {
    /// What was attempted.
    pub title: AttrValue,
    /// What came back.
    pub problem: Rc<Problem>,
    /// Tries again.
    #[prop_or_default]
    pub on_retry: Option<Callback<()>>,
}

impl ProblemAlert {
    /// A failed request.
    pub fn view(&self) -> Html {
        let detail = match self.problem.code.as_str() {
            "network" => AttrValue::Static(t!(error_network)),
            _ => AttrValue::from(self.problem.detail.clone()),
        };
        html! {
            <div class="alert" role="alert" data-code={self.problem.code.clone()} data-testid="problem">
                { glyph("error") }
                <p class="alert-h">{ self.title.clone() }</p>
                <p>{ detail }</p>
                if let Some(retry) = &self.on_retry {
                    <div class="cluster">
                        <button type="button" class="btn" onclick={retry.reform(|_: MouseEvent| ())}>
                            { small_glyph("retry") }{ t!(try_again) }
                        </button>
                    </div>
                }
            </div>
        }
    }
}

/// What is shown; drawn by [`StaleNote::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct StaleNote {
    /// When the data below arrived, milliseconds since the epoch.
    pub since_ms: f64,
}

impl StaleNote {
    /// Says how old the data below an error is.
    pub fn view(&self) -> Html {
        let age = format::age(((clock::now_ms() - self.since_ms) / 1000.0) as i64);
        html! { <span class="badge" data-state="warning">{ glyph("warn") }{ t!(stale, age = age) }</span> }
    }
}
