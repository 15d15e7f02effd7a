//! The log-in.

use fleethold_api_types::{LoginRequest, Session};
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::{api, model::load::Problem, t, ui::hooks::use_title};

/// Props of [`Login`].
#[derive(Properties, PartialEq)]
pub struct LoginProps {
    /// Signed in.
    pub on_session: Callback<Session>,
}

/// The page.
#[component(Login)]
pub fn login(props: &LoginProps) -> Html {
    // controlled: the rendered value would otherwise overwrite what was typed
    let user = use_state(|| "admin@pbs".to_owned());
    let password = use_node_ref();
    let problem = use_state(|| None::<Problem>);
    let busy = use_state(|| false);
    use_title(t!(sign_in));
    use_effect_with((), {
        let password = password.clone();
        move |()| {
            if password
                .cast::<HtmlInputElement>()
                .is_some_and(|p| p.focus().is_err())
            {
                gloo::console::warn!("the password field did not take the focus");
            }
        }
    });
    let onsubmit = {
        let (user, password) = (user.clone(), password.clone());
        let (problem, busy, on_session) = (problem.clone(), busy.clone(), props.on_session.clone());
        move |event: SubmitEvent| {
            event.prevent_default();
            let value = |node: &NodeRef| {
                node.cast::<HtmlInputElement>()
                    .map(|i| i.value())
                    .unwrap_or_default()
            };
            let mut name = user.trim().to_owned();
            if !name.contains('@') {
                name.push_str("@pbs");
            }
            let request = LoginRequest {
                user: name,
                password: value(&password),
            };
            let (problem, busy, on_session) = (problem.clone(), busy.clone(), on_session.clone());
            busy.set(true);
            spawn_local(async move {
                match api::log_in(&request).await {
                    Ok(session) => on_session.emit(session),
                    Err(found) => {
                        problem.set(Some(found));
                        busy.set(false);
                    }
                }
            });
        }
    };
    let on_user = {
        let user = user.clone();
        move |event: InputEvent| user.set(event.target_unchecked_into::<HtmlInputElement>().value())
    };
    let message = problem.as_ref().map(|p| match (p.status, p.code.as_str()) {
        (401, _) => t!(login_wrong).to_owned(),
        (_, "network") => t!(error_network).to_owned(),
        _ => p.detail.clone(),
    });
    let host = web_sys::window()
        .and_then(|w| w.location().host().ok())
        .unwrap_or_default();
    html! {
        <main class="center-page" id="main">
            <form class="login" aria-label={t!(sign_in)} {onsubmit}>
                <h1 class="login-mark"><svg width="28" height="24" aria-hidden="true"><use href="#i-mark" /></svg>{ "Fleethold" }</h1>
                <div class="field">
                    <label for="u">{ t!(user) }</label>
                    <input class="input" id="u" value={(*user).clone()} oninput={on_user} autocomplete="username" autocapitalize="none" spellcheck="false" required=true data-testid="login-user" />
                    <small>{ t!(login_realm) }</small>
                </div>
                <div class="field" data-invalid={message.is_some().then_some("")}>
                    <label for="pw">{ t!(password) }</label>
                    <input class="input" id="pw" ref={password} type="password" autocomplete="current-password" required=true aria-invalid={message.is_some().to_string()} aria-describedby="pwe" data-testid="login-password" />
                    <small id="pwe" role="alert" data-testid="login-error">{ message.unwrap_or_default() }</small>
                </div>
                <button class="btn btn-primary" disabled={*busy} data-testid="login-submit">{ if *busy { t!(signing_in) } else { t!(sign_in) } }</button>
                <p class="note">{ host }</p>
            </form>
        </main>
    }
}
