//! Hooks that more than one page uses.

use std::{any::Any, future::Future, pin::Pin, rc::Rc};

use gloo::timers::callback::Interval;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, HtmlElement};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api::Outcome,
    app::Context,
    clock,
    model::{load::LoadResult, query::QueryMap},
    route::Route,
};

/// What is fetched, without its type: one reducer, one effect and one task for everything, instead of one of each for
/// every type. `use_load` puts the types around it.
type Anything = Rc<dyn Any>;
type Answer = Pin<Box<dyn Future<Output = Outcome<Anything>>>>;

struct Slot(LoadResult<Anything>);

enum Step {
    Started,
    Finished(Outcome<Anything>),
}

impl Reducible for Slot {
    type Action = Step;

    fn reduce(self: Rc<Self>, step: Step) -> Rc<Self> {
        Rc::new(Self(match step {
            Step::Started => self.0.started(),
            Step::Finished(outcome) => self.0.finished(outcome, clock::now_ms()),
        }))
    }
}

/// Inputs of any type that can be compared with themselves.
trait Inputs {
    fn as_any(&self) -> &dyn Any;
    fn same(&self, other: &dyn Inputs) -> bool;
}

impl<D: PartialEq + 'static> Inputs for D {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn same(&self, other: &dyn Inputs) -> bool {
        other.as_any().downcast_ref::<D>() == Some(self)
    }
}

/// What was asked, and how often.
struct Question(Rc<dyn Inputs>, u32);

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1 && (*self.0).same(&*other.0)
    }
}

/// Something fetched, and how to fetch it again.
pub struct Loaded<T> {
    /// What is known.
    pub result: LoadResult<T>,
    /// Fetches again.
    pub reload: Callback<()>,
}

/// Fetches when the inputs change; of several answers only that to the newest question counts.
#[hook]
pub fn use_load<D, T, F, Fut>(inputs: D, fetch: F) -> Loaded<T>
where
    D: Clone + PartialEq + 'static,
    T: 'static,
    F: Fn(D) -> Fut + 'static,
    Fut: Future<Output = Outcome<T>> + 'static,
{
    let asked = inputs.clone();
    let fetch = move || -> Answer {
        let answer = fetch(asked);
        Box::pin(async move { answer.await.map(|value| Rc::new(value) as Anything) })
    };
    let loaded = use_load_anything(Rc::new(inputs), Box::new(fetch));
    Loaded {
        result: loaded.result.typed(),
        reload: loaded.reload,
    }
}

#[hook]
fn use_load_anything(inputs: Rc<dyn Inputs>, fetch: Box<dyn FnOnce() -> Answer>) -> Loaded<Anything> {
    let context = use_context::<Context>();
    let slot = use_reducer(|| Slot(LoadResult::default()));
    let newest = use_mut_ref(|| 0u32);
    let again = use_state(|| 0u32);
    use_effect_with(Question(inputs, *again), {
        let dispatch = slot.dispatcher();
        move |_| {
            let ticket = {
                let mut newest = newest.borrow_mut();
                *newest += 1;
                *newest
            };
            dispatch.dispatch(Step::Started);
            let answer = fetch();
            let cleanup = newest.clone();
            spawn_local(async move {
                let outcome = answer.await;
                if let (Err(problem), Some(context)) = (&outcome, &context)
                    && problem.status == 401
                {
                    context.signed_out.emit(());
                }
                if *newest.borrow() == ticket {
                    dispatch.dispatch(Step::Finished(outcome));
                }
            });
            // an answer that comes after the component is gone meets a newer ticket
            move || *cleanup.borrow_mut() += 1
        }
    });
    let reload = {
        let again = again.clone();
        Callback::from(move |()| again.set(again.wrapping_add(1)))
    };
    Loaded {
        result: slot.0.clone(),
        reload,
    }
}

/// The query of the address and how to change it without a new history entry.
#[hook]
pub fn use_query() -> (Rc<QueryMap>, Callback<QueryMap>) {
    let location = use_location();
    let navigator = use_navigator();
    let route = use_route::<Route>();
    let text = location.map(|l| l.query_str().to_owned()).unwrap_or_default();
    let map = use_memo(text, |text| QueryMap::parse(text));
    let set = Callback::from(move |map: QueryMap| {
        if let (Some(navigator), Some(route)) = (&navigator, &route)
            && navigator.replace_with_query(route, &map).is_err()
        {
            gloo::console::error!("the address could not be changed");
        }
    });
    (map, set)
}

/// Changes the query of the address with a new history entry: for what Back should undo.
#[hook]
pub fn use_query_push() -> Callback<QueryMap> {
    let navigator = use_navigator();
    let route = use_route::<Route>();
    Callback::from(move |map: QueryMap| {
        if let (Some(navigator), Some(route)) = (&navigator, &route)
            && navigator.push_with_query(route, &map).is_err()
        {
            gloo::console::error!("the address could not be changed");
        }
    })
}

/// Draws the component again every so many milliseconds, for ages that grow.
#[hook]
pub fn use_tick(ms: u32) {
    let update = use_force_update();
    use_effect_with(ms, move |ms| {
        let interval = Interval::new(*ms, move || update.force_update());
        move || drop(interval)
    });
}

/// Sets the title of the browser's tab.
#[hook]
pub fn use_title(title: &str) {
    use_effect_with(title.to_owned(), |title| {
        if let Some(document) = web_sys::window().and_then(|w| w.document()) {
            document.set_title(&format!("{title} · Fleethold"));
        }
    });
}

/// The focus is neither in this element nor nowhere: a person has gone on, and must not be pulled back.
pub fn focus_moved_elsewhere(node: &NodeRef) -> bool {
    let active = web_sys::window()
        .and_then(|w| w.document())
        .and_then(|d| d.active_element());
    match (active, node.cast::<Element>()) {
        (Some(active), Some(element)) => active.tag_name() != "BODY" && !element.contains(Some(&active)),
        _ => false,
    }
}

/// Gives the focus to the row with this `data-index`, if it is in the document.
pub fn focus_index(node: &NodeRef, index: usize) -> bool {
    node.cast::<Element>()
        .and_then(|n| {
            n.query_selector(&format!("[data-index=\"{index}\"]"))
                .ok()
                .flatten()
        })
        .and_then(|row| row.dyn_into::<HtmlElement>().ok())
        .is_some_and(|row| row.focus().is_ok())
}
