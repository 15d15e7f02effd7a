//! The same restore as a command line and as a call of the API.

use std::rc::Rc;

use fleethold_api_types::CreateRestore;
use yew::prelude::*;

use crate::{
    model::command::{self, Around, Piece},
    t,
    ui::CopyButton,
};

/// Props of [`Equivalent`].
#[derive(Properties)]
pub(super) struct EquivalentProps {
    /// The request.
    pub request: Rc<CreateRestore>,
    /// What the commands need beside it.
    pub around: Around,
}

impl PartialEq for EquivalentProps {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.request, &other.request) && self.around == other.around
    }
}

/// Two tabs, one well, a copy button.
#[component(Equivalent)]
pub(super) fn equivalent(props: &EquivalentProps) -> Html {
    let curl = use_state(|| false);
    let pieces: Vec<Piece> = if *curl {
        command::curl(&props.request, &props.around)
    } else {
        command::command_line(&props.request, &props.around)
    };
    let tab = |is_curl: bool, word: &'static str| {
        let on = *curl == is_curl;
        let choose = {
            let curl = curl.clone();
            move |_: MouseEvent| curl.set(is_curl)
        };
        let switch = {
            let curl = curl.clone();
            move |event: KeyboardEvent| {
                if matches!(event.key().as_str(), "ArrowLeft" | "ArrowRight") {
                    curl.set(!*curl);
                }
            }
        };
        html! {
            <button type="button" role="tab" id={if is_curl { "tab-curl" } else { "tab-cli" }} aria-selected={on.to_string()} aria-controls="eqv" tabindex={if on { "0" } else { "-1" }} onclick={choose} onkeydown={switch}>{ word }</button>
        }
    };
    html! {
        <div class="eqv">
            <div class="split">
                <div class="tabs" role="tablist" aria-label={t!(equivalent)}>{ tab(false, t!(command_line)) }{ tab(true, "curl") }</div>
                <CopyButton text={command::joined(&pieces)} />
            </div>
            <pre class="well wrap" id="eqv" role="tabpanel" aria-labelledby={if *curl { "tab-curl" } else { "tab-cli" }} tabindex="0" data-testid="restore-command">if !*curl { <span class="p">{ "$ " }</span> }{ for pieces.iter().map(|p| if p.chosen { html! { <span class="a">{ p.text.clone() }</span> } } else { html! { { p.text.clone() } } }) }</pre>
        </div>
    }
}
