//! Settings: password, look, and what the server says of itself.

use fleethold_api_types::{AboutInfo, ChangePassword, DatabaseState, Health};
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use crate::{
    api,
    app::use_app,
    i18n::{self, Language},
    model::{format, load::Problem},
    t, tn,
    ui::{
        CopyButton, Fingerprint, ProblemAlert, Skeleton, When, Word,
        hooks::{use_load, use_title},
        state::Look,
        theme::{self, Theme},
        toast::use_toast,
    },
};

/// The page.
#[component(SettingsPage)]
pub fn settings_page() -> Html {
    let app = use_app();
    use_title(t!(nav_settings));
    let about = use_load((), |()| api::about());
    let health = use_load((), |()| api::health());
    html! {
        <>
            <div class="page-head">
                <div><h1>{ t!(nav_settings) }</h1><p>{ t!(signed_in_as, user = app.session.user) }</p></div>
                <button type="button" class="btn" onclick={app.sign_out.reform(|_: MouseEvent| ())} data-testid="settings-logout">{ t!(sign_out) }</button>
            </div>
            <div class="settings-cols">
                <Appearance />
                <Password />
                <section class="panel" aria-labelledby="about-h">
                    <div class="panel-head"><h2 id="about-h">{ t!(about) }</h2></div>
                    <div class="panel-body stack">
                        if let Some(problem) = about.result.error.clone() {
                            { yew::props!(ProblemAlert { title: t!(about_not_read), problem, on_retry: about.reload.clone() }).view() }
                        }
                        if let Some(about) = about.result.value() {
                            { about_facts(about) }
                        } else if about.result.error.is_none() {
                            { yew::props!(Skeleton { label: t!(loading), lines: 3 }).view() }
                        }
                    </div>
                </section>
                <section class="panel" aria-labelledby="health-h">
                    <div class="panel-head"><h2 id="health-h">{ t!(health) }</h2></div>
                    <div class="panel-body stack">
                        if let Some(problem) = health.result.error.clone() {
                            { yew::props!(ProblemAlert { title: t!(health_not_read), problem, on_retry: health.reload.clone() }).view() }
                        }
                        if let Some(health) = health.result.value() {
                            { health_facts(health) }
                        }
                    </div>
                </section>
            </div>
        </>
    }
}

fn about_facts(about: &AboutInfo) -> Html {
    let list = |paths: &[String]| {
        if paths.is_empty() {
            t!(none).to_owned()
        } else {
            paths.join(", ")
        }
    };
    html! {
        <>
            <dl class="facts left">
                <dt>{ t!(version) }</dt><dd>{ format!("Fleethold {} ({})", about.version, about.revision) }</dd>
                <dt>{ t!(node) }</dt><dd>{ about.node.clone() }</dd>
                <dt>{ t!(up_since) }</dt><dd>{ yew::props!(When { at: about.started_at }).view() }</dd>
                <dt>{ t!(memory_budget) }</dt><dd>{ format::bytes(about.memory_bytes) }</dd>
                <dt>{ t!(parallel_fetches) }</dt><dd>{ about.default_parallel }</dd>
                <dt>{ t!(restore_roots) }</dt><dd class="mono">{ list(&about.restore_roots) }</dd>
                <dt>{ t!(devices) }</dt><dd class="mono">{ list(&about.devices) }</dd>
                <dt>{ t!(fingerprint) }</dt><dd>{ yew::props!(Fingerprint { value: about.fingerprint.clone() }).view() }</dd>
            </dl>
            <div class="cluster"><CopyButton text={about.fingerprint.clone()} label={t!(copy_fingerprint)} /><a class="btn btn-quiet" href="/api/docs/">{ t!(api_docs) }</a></div>
        </>
    }
}

fn health_facts(health: &Health) -> Html {
    let look = match health.database.state {
        DatabaseState::Ready => Look {
            state: "ok",
            icon: "ok",
            word: t!(database_ready),
        },
        DatabaseState::Starting => Look {
            state: "running",
            icon: "run",
            word: t!(database_starting),
        },
        DatabaseState::Away => Look {
            state: "warning",
            icon: "warn",
            word: t!(database_away),
        },
    };
    html! {
        <dl class="facts left">
            <dt>{ "PostgreSQL" }</dt><dd>{ yew::props!(Word { look, title: health.database.reason.clone() }).view() }</dd>
            <dt>{ t!(spool) }</dt><dd>{ tn!(health.spool.rows, spool_facts_one, spool_facts, bytes = format::bytes(health.spool.bytes), dropped = format::integer(health.spool.dropped)) }</dd>
            <dt>{ "datastore.cfg" }</dt><dd>{ health.config_problem.clone().unwrap_or_else(|| t!(state_ok).to_owned()) }</dd>
        </dl>
    }
}

/// Theme and language.
#[component(Appearance)]
fn look() -> Html {
    let app = use_app();
    let theme = use_state(Theme::stored);
    let choose = {
        let theme = theme.clone();
        move |choice: Theme| {
            let theme = theme.clone();
            move |_: MouseEvent| {
                choice.apply();
                theme.set(choice);
            }
        }
    };
    let on_language = move |event: Event| {
        let language = Language::from_tag(&event.target_unchecked_into::<HtmlSelectElement>().value());
        theme::keep_language(language);
        theme::apply_language(language);
        app.redraw.emit(());
    };
    let now = i18n::current();
    html! {
        <section class="panel" aria-labelledby="look-h">
            <div class="panel-head"><h2 id="look-h">{ t!(look) }</h2></div>
            <div class="panel-body stack">
                <div class="field">
                    <span class="label" id="theme-l">{ t!(theme) }</span>
                    <div class="seg" role="group" aria-labelledby="theme-l">
                        { for [(Theme::System, t!(theme_system)), (Theme::Light, t!(theme_light)), (Theme::Dark, t!(theme_dark))].into_iter().map(|(choice, word)| html! {
                            <button type="button" aria-pressed={(Theme::stored() == choice).to_string()} onclick={choose(choice)} data-testid={format!("theme-{}", choice.key())}>{ word }</button>
                        }) }
                    </div>
                </div>
                <div class="field">
                    <label for="lang">{ t!(language) }</label>
                    <select class="select auto" id="lang" onchange={on_language} data-testid="language">
                        <option value="en" selected={now == Language::En}>{ "English" }</option>
                        <option value="de" selected={now == Language::De}>{ "Deutsch" }</option>
                    </select>
                </div>
            </div>
        </section>
    }
}

/// Change of the password.
#[component(Password)]
fn password() -> Html {
    let (current, new) = (use_node_ref(), use_node_ref());
    let busy = use_state(|| false);
    let problem = use_state(|| None::<Rc<Problem>>);
    let toast = use_toast();
    let app = use_app();
    let onsubmit = {
        let (current, new, busy, problem) = (current.clone(), new.clone(), busy.clone(), problem.clone());
        move |event: SubmitEvent| {
            event.prevent_default();
            let (Some(old), Some(fresh)) =
                (current.cast::<HtmlInputElement>(), new.cast::<HtmlInputElement>())
            else {
                return;
            };
            let request = ChangePassword {
                current_password: old.value(),
                new_password: fresh.value(),
            };
            let (busy, problem, toast) = (busy.clone(), problem.clone(), toast.clone());
            busy.set(true);
            spawn_local(async move {
                match api::change_password(&request).await {
                    Ok(()) => {
                        old.set_value("");
                        fresh.set_value("");
                        problem.set(None);
                        toast.ok(t!(password_changed));
                    }
                    Err(found) => problem.set(Some(Rc::new(found))),
                }
                busy.set(false);
            });
        }
    };
    html! {
        <section class="panel" aria-labelledby="pw-h">
            <div class="panel-head"><h2 id="pw-h">{ t!(change_password) }</h2></div>
            <form class="panel-body stack" {onsubmit}>
                <input class="vh" type="text" autocomplete="username" value={app.session.user.clone()} readonly=true tabindex="-1" aria-hidden="true" />
                <div class="field"><label for="pw-old">{ t!(password_current) }</label><input class="input" id="pw-old" type="password" ref={current} required=true autocomplete="current-password" data-testid="password-current" /></div>
                <div class="field"><label for="pw-new">{ t!(password_new) }</label><input class="input" id="pw-new" type="password" ref={new} required=true minlength="8" maxlength="64" autocomplete="new-password" data-testid="password-new" /><small>{ t!(password_rule) }</small></div>
                if let Some(problem) = &*problem {
                    { yew::props!(ProblemAlert { title: t!(password_not_changed), problem: problem.clone() }).view() }
                }
                <div class="cluster"><button class="btn btn-primary" disabled={*busy} data-testid="password-submit">{ t!(change_password) }</button></div>
            </form>
        </section>
    }
}
