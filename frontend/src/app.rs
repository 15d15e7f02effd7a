//! Who is signed in decides what is seen: the log-in or the shell with its pages.

use std::rc::Rc;

use fleethold_api_types::Session;
use gloo::timers::callback::Interval;
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api,
    live::Live,
    model::load::Problem,
    pages,
    route::Route,
    t,
    ui::{ProblemAlert, shell::Shell, theme, toast::ToastProvider},
};

/// What every page below the log-in can reach.
#[derive(Clone)]
pub struct Context {
    /// Live state.
    pub live: Rc<Live>,
    /// Who is signed in.
    pub session: Rc<Session>,
    /// The server no longer knows us.
    pub signed_out: Callback<()>,
    /// Signs out.
    pub sign_out: Callback<()>,
    /// Draws the whole page again, after a change of language.
    pub redraw: Callback<()>,
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.live, &other.live) && Rc::ptr_eq(&self.session, &other.session)
    }
}

/// The context of the page.
#[hook]
pub fn use_app() -> Context {
    use_context::<Context>().expect("rendered below the shell")
}

enum Stage {
    Asking,
    Unreachable(Rc<Problem>),
    SignedOut,
    SignedIn(Rc<Session>),
}

/// Renewed well before a ticket of two hours ends.
const RENEW_MS: u32 = 30 * 60 * 1000;

/// The application.
#[component(App)]
pub fn app() -> Html {
    let stage = use_state(|| Stage::Asking);
    let redraw = use_force_update();
    use_effect_with((), {
        let stage = stage.clone();
        move |()| ask(stage)
    });
    let on_session = {
        let stage = stage.clone();
        Callback::from(move |session: Session| {
            api::set_csrf(Some(session.csrf_token.clone()));
            stage.set(Stage::SignedIn(Rc::new(session)));
        })
    };
    let signed_out = {
        let stage = stage.clone();
        Callback::from(move |()| {
            api::set_csrf(None);
            stage.set(Stage::SignedOut);
        })
    };
    use_effect_with((), {
        let signed_out = signed_out.clone();
        move |()| api::on_signed_out(signed_out)
    });
    match &*stage {
        Stage::Asking => html! { <p class="note center-page" role="status">{ t!(loading) }</p> },
        Stage::Unreachable(problem) => {
            let stage = stage.clone();
            html! {
                <main class="center-page">
                    { yew::props!(ProblemAlert { title: t!(server_unreachable), problem: problem.clone(), on_retry: Callback::from(move |()| ask(stage.clone())) }).view() }
                </main>
            }
        }
        Stage::SignedOut => html! { <pages::login::Login {on_session} /> },
        Stage::SignedIn(session) => html! {
            <SignedIn session={session.clone()} {signed_out} redraw={Callback::from(move |()| redraw.force_update())} />
        },
    }
}

fn ask(stage: UseStateHandle<Stage>) {
    spawn_local(async move {
        stage.set(match api::session().await {
            Ok(session) => {
                api::set_csrf(Some(session.csrf_token.clone()));
                Stage::SignedIn(Rc::new(session))
            }
            Err(problem) if problem.status == 401 => Stage::SignedOut,
            Err(problem) => Stage::Unreachable(Rc::new(problem)),
        });
    });
}

#[derive(Properties, PartialEq)]
struct SignedInProps {
    session: Rc<Session>,
    signed_out: Callback<()>,
    redraw: Callback<()>,
}

#[component(SignedIn)]
fn signed_in(props: &SignedInProps) -> Html {
    let live = use_memo((), {
        let signed_out = props.signed_out.clone();
        |()| Live::start(signed_out)
    });
    use_effect_with((), |()| {
        let interval = Interval::new(RENEW_MS, || {
            spawn_local(async {
                match api::renew_session().await {
                    Ok(session) => api::set_csrf(Some(session.csrf_token)),
                    Err(problem) => gloo::console::warn!(format!("session not renewed: {}", problem.detail)),
                }
            });
        });
        move || drop(interval)
    });
    let context = Context {
        live: (*live).clone(),
        session: props.session.clone(),
        signed_out: props.signed_out.clone(),
        sign_out: {
            let signed_out = props.signed_out.clone();
            Callback::from(move |()| {
                let signed_out = signed_out.clone();
                spawn_local(async move {
                    if let Err(problem) = api::log_out().await
                        && problem.status != 401
                    {
                        gloo::console::warn!(format!(
                            "the server did not end the session: {}",
                            problem.detail
                        ));
                    }
                    signed_out.emit(());
                });
            })
        },
        redraw: props.redraw.clone(),
    };
    html! {
        <BrowserRouter>
            <ToastProvider>
                <ContextProvider<Context> {context}>
                    <Shell key={crate::i18n::current().tag()}><Switch<Route> render={page} /></Shell>
                </ContextProvider<Context>>
            </ToastProvider>
        </BrowserRouter>
    }
}

fn page(route: Route) -> Html {
    match route {
        Route::Fleet => html! { <pages::fleet::FleetPage /> },
        Route::Store { name } => html! { <pages::store::StorePage key={name.clone()} name={name.clone()} /> },
        Route::Jobs => html! { <pages::jobs::JobsPage /> },
        Route::Job { id } => html! { <pages::jobs::JobPage key={id.to_string()} {id} /> },
        Route::History => html! { <pages::history::HistoryPage /> },
        Route::HistoryItem { id } => html! { <pages::history::HistoryItemPage key={id.to_string()} {id} /> },
        Route::Bench => html! { <pages::bench::BenchPage /> },
        Route::BenchRun { id } => html! { <pages::bench::RunPage key={id.to_string()} {id} /> },
        Route::BenchCompare => html! { <pages::bench::ComparePage /> },
        Route::BenchHistory => html! { <pages::bench::SeriesPage /> },
        Route::BenchMachines => html! { <pages::bench::MachinesPage /> },
        Route::BenchAlerts => html! { <pages::bench::AlertsPage /> },
        Route::BenchFlame => html! { <pages::bench::FlamePage /> },
        Route::Settings => html! { <pages::settings::SettingsPage /> },
        Route::NotFound => html! { <pages::not_found::NotFound /> },
    }
}

/// Draws the application into `#app`.
pub fn start() {
    theme::Theme::stored().apply();
    theme::apply_language(theme::stored_language());
    let Some(root) = web_sys::window()
        .and_then(|w| w.document())
        .and_then(|d| d.get_element_by_id("app"))
    else {
        gloo::console::error!("no element #app in the page");
        return;
    };
    yew::Renderer::<App>::with_root(root).render();
}
