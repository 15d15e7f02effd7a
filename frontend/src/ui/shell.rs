//! What stands around every page: rail, top bar, connection, keyboard.

use gloo::{events::EventListener, timers::callback::Timeout};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};
use yew::prelude::*;
use yew_router::prelude::*;

use super::{glyph, hooks::use_tick, palette::Palette, shortcuts::Shortcuts, small_glyph, theme::Theme};
use crate::{
    app::use_app,
    clock,
    live::{Conn, topic, use_topics},
    model::format,
    route::Route,
    t, tn,
};

/// Props of [`Shell`].
#[derive(Properties, PartialEq)]
pub struct ShellProps {
    /// The page.
    pub children: Html,
}

#[derive(Clone, Copy, PartialEq)]
enum Overlay {
    None,
    Palette,
    Shortcuts,
}

/// Rail, top bar and the page.
#[component(Shell)]
pub fn shell(props: &ShellProps) -> Html {
    let overlay = use_state(|| Overlay::None);
    let theme = use_state(Theme::stored);
    let navigator = use_navigator();
    let toggle_theme = {
        let theme = theme.clone();
        Callback::from(move |()| {
            let next = Theme::stored().toggled();
            next.apply();
            theme.set(next);
        })
    };
    use_keys(overlay.setter(), toggle_theme.clone(), navigator);
    let close = {
        let overlay = overlay.clone();
        Callback::from(move |()| overlay.set(Overlay::None))
    };
    let show = |what: Overlay| {
        let overlay = overlay.clone();
        move |_: MouseEvent| overlay.set(what)
    };
    html! {
        <>
            <a class="skip" href="#main">{ t!(skip) }</a>
            <div class="app">
                <Rail on_help={Callback::from(show(Overlay::Shortcuts))} />
                <header class="topbar">
                    <Crumbs />
                    <button type="button" class="omni" aria-keyshortcuts="Control+K" onclick={show(Overlay::Palette)} data-testid="palette-open">
                        { glyph("search") }
                        <span class="vh">{ t!(search) }{ " " }</span>
                        <span>{ t!(omni_hint) }</span>
                        <kbd aria-hidden="true">{ "Ctrl K" }</kbd>
                    </button>
                    <TopbarEnd toggle_theme={toggle_theme.reform(|_: MouseEvent| ())} />
                </header>
                <div class="app-main">
                    <main class="page has-banner" id="main" tabindex="-1">
                        <ConnectionBanner />
                        { props.children.clone() }
                    </main>
                </div>
            </div>
            if *overlay == Overlay::Palette {
                <Palette on_close={close.clone()} on_theme={toggle_theme} />
            }
            if *overlay == Overlay::Shortcuts {
                { yew::props!(Shortcuts { on_close: close }).view() }
            }
        </>
    }
}

#[hook]
fn use_keys(overlay: UseStateSetter<Overlay>, toggle_theme: Callback<()>, navigator: Option<Navigator>) {
    use_effect_with((), move |()| {
        // the first key of a pair (`g f`) counts for a second
        let pending = std::rc::Rc::new(std::cell::RefCell::new(None::<Timeout>));
        let listener = web_sys::window().map(|window| {
            let options = gloo::events::EventListenerOptions::enable_prevent_default();
            EventListener::new_with_options(&window, "keydown", options, move |event| {
                let Some(key) = event.dyn_ref::<KeyboardEvent>() else {
                    return;
                };
                if (key.ctrl_key() || key.meta_key()) && key.key().eq_ignore_ascii_case("k") {
                    event.prevent_default();
                    overlay.set(Overlay::Palette);
                    return;
                }
                if key.ctrl_key() || key.meta_key() || key.alt_key() || typing(event) {
                    return;
                }
                let second = pending.borrow_mut().take().is_some();
                let go = |route: &Route| {
                    if let Some(navigator) = &navigator {
                        navigator.push(route);
                    }
                };
                match (second, key.key().as_str()) {
                    (true, "f") => go(&Route::Fleet),
                    (true, "j") => go(&Route::Jobs),
                    (true, "h") => go(&Route::History),
                    (true, "b") => go(&Route::Bench),
                    (true, "s") => go(&Route::Settings),
                    (_, "g") => {
                        let slot = pending.clone();
                        *pending.borrow_mut() =
                            Some(Timeout::new(1000, move || drop(slot.borrow_mut().take())));
                    }
                    (_, "t") => toggle_theme.emit(()),
                    (_, "?") => overlay.set(Overlay::Shortcuts),
                    (_, "/") if focus_search() => event.prevent_default(),
                    _ => {}
                }
            })
        });
        move || drop(listener)
    });
}

/// Keys belong to a field that has the focus, and to an open dialog.
fn typing(event: &Event) -> bool {
    let in_field = event
        .target()
        .and_then(|t| t.dyn_into::<HtmlElement>().ok())
        .is_some_and(|element| {
            matches!(element.tag_name().as_str(), "INPUT" | "SELECT" | "TEXTAREA")
                && element.get_attribute("type").as_deref() != Some("checkbox")
        });
    let dialog = web_sys::window()
        .and_then(|w| w.document())
        .is_some_and(|d| d.query_selector("dialog[open]").ok().flatten().is_some());
    in_field || dialog
}

fn focus_search() -> bool {
    web_sys::window()
        .and_then(|w| w.document())
        .and_then(|d| d.query_selector("[data-search]").ok().flatten())
        .and_then(|e| e.dyn_into::<HtmlElement>().ok())
        .is_some_and(|input| input.focus().is_ok())
}

#[derive(Properties, PartialEq)]
struct RailProps {
    on_help: Callback<MouseEvent>,
}

#[component(Rail)]
fn rail(props: &RailProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::JOBS | topic::ALERTS);
    let running = app.live.read().running().count();
    let alerts = app.live.read().alerts.standing;
    let here = use_route::<Route>();
    let item = |route: Route, icon: &'static str, word: &'static str, current: bool, extra: Html| {
        html! {
            <RailLink to={route} {current}>{ glyph(icon) }{ word }{ extra }</RailLink>
        }
    };
    let count = if running > 0 {
        html! { <span class="rail-count"><span class="vh">{ t!(running_count) }</span>{ running }</span> }
    } else {
        html! {}
    };
    let standing = if alerts > 0 {
        html! { <span class="rail-count warn" data-testid="alerts-standing" title={tn!(u64::from(alerts), bench.standing_one, bench.standing)}><span class="vh">{ t!(bench.alerts) }{ " " }</span>{ alerts }</span> }
    } else {
        html! {}
    };
    html! {
        <nav class="rail" aria-label={t!(nav_main)}>
            <Link<Route> to={Route::Fleet} classes="rail-mark">
                <svg width="26" height="22" role="img" aria-label="Fleethold"><use href="#i-mark" /></svg>
            </Link<Route>>
            { item(Route::Fleet, "fleet", t!(nav_fleet), matches!(here, Some(Route::Fleet | Route::Store { .. })), html! {}) }
            { item(Route::Jobs, "jobs", t!(nav_jobs), matches!(here, Some(Route::Jobs | Route::Job { .. })), count) }
            { item(Route::History, "history", t!(nav_history), matches!(here, Some(Route::History | Route::HistoryItem { .. })), html! {}) }
            { item(Route::Bench, "bench", t!(bench.nav), here.as_ref().is_some_and(is_bench), standing) }
            <span class="rail-gap" />
            { item(Route::Settings, "gear", t!(nav_settings), matches!(here, Some(Route::Settings)), html! {}) }
            <button type="button" class="rail-item" onclick={props.on_help.clone()} data-testid="help">{ glyph("help") }{ t!(nav_help) }</button>
        </nav>
    }
}

fn is_bench(route: &Route) -> bool {
    matches!(
        route,
        Route::Bench
            | Route::BenchRun { .. }
            | Route::BenchCompare
            | Route::BenchHistory
            | Route::BenchMachines
            | Route::BenchAlerts
            | Route::BenchFlame
    )
}

#[derive(Properties, PartialEq)]
struct RailLinkProps {
    to: Route,
    current: bool,
    children: Html,
}

/// A link that says which page is shown; the router's own link has no `aria-current`.
#[component(RailLink)]
fn rail_link(props: &RailLinkProps) -> Html {
    let navigator = use_navigator();
    let onclick = {
        let to = props.to.clone();
        move |event: MouseEvent| {
            if event.ctrl_key() || event.meta_key() || event.shift_key() {
                return;
            }
            if let Some(navigator) = &navigator {
                event.prevent_default();
                navigator.push(&to);
            }
        }
    };
    html! {
        <a class="rail-item" href={props.to.to_path()} {onclick} aria-current={props.current.then_some("page")}>
            { props.children.clone() }
        </a>
    }
}

#[component(Crumbs)]
fn crumbs() -> Html {
    let below_bench = Some((Route::Bench, t!(bench.title)));
    let (parent, here) = match use_route::<Route>() {
        Some(Route::Fleet) => (None, AttrValue::Static(t!(nav_fleet))),
        Some(Route::Store { name }) => (Some((Route::Fleet, t!(nav_fleet))), name.into()),
        Some(Route::Jobs) => (None, AttrValue::Static(t!(nav_jobs))),
        Some(Route::Job { id }) => (Some((Route::Jobs, t!(nav_jobs))), short_id(&id.to_string())),
        Some(Route::History) => (None, AttrValue::Static(t!(nav_history))),
        Some(Route::HistoryItem { id }) => {
            (Some((Route::History, t!(nav_history))), short_id(&id.to_string()))
        }
        Some(Route::Bench) => (None, AttrValue::Static(t!(bench.title))),
        Some(Route::BenchRun { id }) => (below_bench, short_id(&id.to_string())),
        Some(Route::BenchCompare) => (below_bench, AttrValue::Static(t!(bench.compare))),
        Some(Route::BenchHistory) => (below_bench, AttrValue::Static(t!(bench.series_title))),
        Some(Route::BenchMachines) => (below_bench, AttrValue::Static(t!(bench.machines))),
        Some(Route::BenchAlerts) => (below_bench, AttrValue::Static(t!(bench.alerts))),
        Some(Route::BenchFlame) => (below_bench, AttrValue::Static(t!(bench.flame_graph))),
        Some(Route::Settings) => (None, AttrValue::Static(t!(nav_settings))),
        Some(Route::NotFound) | None => (None, AttrValue::Static(t!(not_found))),
    };
    html! {
        <nav aria-label={t!(breadcrumb)} class="crumbs-nav">
            <ol class="crumbs">
                if let Some((route, word)) = parent {
                    <li><Link<Route> to={route}>{ word }</Link<Route>></li>
                }
                <li><span aria-current="page">{ here }</span></li>
            </ol>
        </nav>
    }
}

/// The random end of a UUIDv7: its beginning is the time and the same for neighbours.
fn short_id(id: &str) -> AttrValue {
    id.rsplit('-').next().unwrap_or(id).to_owned().into()
}

#[derive(Properties, PartialEq)]
struct EndProps {
    toggle_theme: Callback<MouseEvent>,
}

#[component(TopbarEnd)]
fn topbar_end(props: &EndProps) -> Html {
    let app = use_app();
    use_topics(&app.live, topic::CONN);
    let conn = app.live.read().conn;
    let (state, icon, word) = match conn {
        Conn::Live => ("ok", "ok", t!(conn_live)),
        Conn::Connecting => ("connecting", "run", t!(conn_connecting)),
        Conn::Lost { .. } => ("stale", "retry", t!(conn_lost)),
    };
    html! {
        <div class="topbar-end">
            <span class="conn" data-state={state} role="status" data-testid="conn-pill">{ small_glyph(icon) }{ word }</span>
            <button type="button" class="btn btn-quiet btn-icon only-wide" aria-label={t!(switch_theme)} aria-keyshortcuts="t" onclick={props.toggle_theme.clone()} data-testid="theme-toggle">
                { glyph("theme") }
            </button>
            <Link<Route> to={Route::Settings} classes="btn btn-quiet only-wide">{ small_glyph("user") }{ app.session.user.clone() }</Link<Route>>
            <button type="button" class="btn btn-quiet btn-icon only-wide" aria-label={t!(sign_out)} title={t!(sign_out)} onclick={app.sign_out.reform(|_: MouseEvent| ())} data-testid="logout">
                { glyph("out") }
            </button>
        </div>
    }
}

/// Says that what is seen is old, and how old.
#[component(ConnectionBanner)]
fn connection_banner() -> Html {
    let app = use_app();
    use_topics(&app.live, topic::CONN | topic::SERVER);
    use_tick(1000);
    let state = app.live.read();
    let config = state.health.as_ref().and_then(|h| h.config_problem.clone());
    let lost = match state.conn {
        Conn::Lost {
            since_ms,
            attempt,
            retry_in_s,
        } => {
            let age_ms = clock::now_ms() - since_ms;
            let at = time::OffsetDateTime::from_unix_timestamp((since_ms / 1000.0) as i64)
                .map(clock::time)
                .unwrap_or_default();
            // a reconnect within two seconds is nobody's business
            (age_ms > 2_000.0).then_some((at, format::age((age_ms / 1000.0) as i64), attempt, retry_in_s))
        }
        Conn::Live | Conn::Connecting => None,
    };
    drop(state);
    let live = app.live.clone();
    html! {
        <>
            if let Some((at, age, attempt, retry_in_s)) = lost {
                <div class="banner" role="status" data-testid="conn-banner">
                    { glyph("warn") }
                    <span><b>{ t!(not_live) }</b>{ " " }{ t!(not_live_detail, at = at, age = age) }</span>
                    <span class="note">
                        { if retry_in_s > 0 { t!(attempt_in, n = attempt, s = retry_in_s) } else { t!(attempt_now, n = attempt) } }
                    </span>
                    <button type="button" class="btn" onclick={move |_: MouseEvent| live.reconnect()}>{ t!(reconnect_now) }</button>
                </div>
            }
            if let Some(problem) = config {
                <div class="banner" role="status">
                    { glyph("warn") }
                    <span><b>{ t!(config_broken) }</b>{ " " }{ problem }</span>
                </div>
            }
        </>
    }
}
