//! Short messages that go by themselves; errors stay until dismissed.

use std::rc::Rc;

use gloo::timers::callback::Timeout;
use yew::prelude::*;

use super::{glyph, small_glyph};
use crate::t;

/// One message.
#[derive(Clone, PartialEq)]
pub struct Toast {
    id: u32,
    error: bool,
    text: AttrValue,
    link: Option<(AttrValue, AttrValue)>,
}

/// What a list of messages can do.
pub enum Action {
    /// Adds one.
    Show {
        /// Red, and stays.
        error: bool,
        /// Text.
        text: AttrValue,
        /// Address and text of a link.
        link: Option<(AttrValue, AttrValue)>,
    },
    /// Takes one away.
    Dismiss(u32),
}

/// The messages shown now.
#[derive(Clone, PartialEq, Default)]
pub struct Toasts {
    next: u32,
    shown: Vec<Toast>,
}

/// Older messages give way.
const MOST: usize = 4;
const SECONDS: u32 = 6;

impl Reducible for Toasts {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut toasts = (*self).clone();
        match action {
            Action::Show { error, text, link } => {
                toasts.shown.push(Toast {
                    id: toasts.next,
                    error,
                    text,
                    link,
                });
                toasts.next += 1;
                let over = toasts.shown.len().saturating_sub(MOST);
                toasts.shown.drain(..over);
            }
            Action::Dismiss(id) => toasts.shown.retain(|t| t.id != id),
        }
        Rc::new(toasts)
    }
}

/// Shows messages from anywhere below [`ToastProvider`].
#[derive(Clone, PartialEq)]
pub struct ToastHandle(UseReducerDispatcher<Toasts>);

impl ToastHandle {
    /// Something went well.
    pub fn ok(&self, text: impl Into<AttrValue>) {
        self.0.dispatch(Action::Show {
            error: false,
            text: text.into(),
            link: None,
        });
    }

    /// Something went well and can be looked at.
    pub fn link(&self, text: impl Into<AttrValue>, href: impl Into<AttrValue>, label: impl Into<AttrValue>) {
        self.0.dispatch(Action::Show {
            error: false,
            text: text.into(),
            link: Some((href.into(), label.into())),
        });
    }

    /// Something failed.
    pub fn error(&self, text: impl Into<AttrValue>) {
        self.0.dispatch(Action::Show {
            error: true,
            text: text.into(),
            link: None,
        });
    }
}

/// The handle of the page.
#[hook]
pub fn use_toast() -> ToastHandle {
    use_context::<ToastHandle>().expect("rendered below ToastProvider")
}

/// Props of [`ToastProvider`].
#[derive(Properties, PartialEq)]
pub struct ToastProviderProps {
    /// The page.
    pub children: Html,
}

/// Owns the messages.
#[component(ToastProvider)]
pub fn toast_provider(props: &ToastProviderProps) -> Html {
    let toasts = use_reducer(Toasts::default);
    let handle = ToastHandle(toasts.dispatcher());
    html! {
        <ContextProvider<ToastHandle> context={handle}>
            { props.children.clone() }
            <div class="toasts" role="status" aria-live="polite">
                { for toasts.shown.iter().map(|toast| html! {
                    <Shown key={toast.id} toast={toast.clone()} dispatch={toasts.dispatcher()} />
                }) }
            </div>
        </ContextProvider<ToastHandle>>
    }
}

#[derive(Properties, PartialEq)]
struct ShownProps {
    toast: Toast,
    dispatch: UseReducerDispatcher<Toasts>,
}

#[component(Shown)]
fn shown(props: &ShownProps) -> Html {
    let id = props.toast.id;
    use_effect_with((), {
        let (dispatch, stays) = (props.dispatch.clone(), props.toast.error);
        move |()| {
            let timeout = (!stays)
                .then(|| Timeout::new(SECONDS * 1000, move || dispatch.dispatch(Action::Dismiss(id))));
            move || drop(timeout)
        }
    });
    let dismiss = {
        let dispatch = props.dispatch.clone();
        move |_: MouseEvent| dispatch.dispatch(Action::Dismiss(id))
    };
    let (state, icon) = if props.toast.error {
        ("error", "error")
    } else {
        ("ok", "ok")
    };
    html! {
        <div class="toast" data-testid="toast">
            <span class="state" data-state={state}>{ glyph(icon) }</span>
            <span class="grow">{ props.toast.text.clone() }</span>
            if let Some((href, label)) = &props.toast.link {
                <a class="btn btn-quiet" href={href.clone()}>{ label.clone() }</a>
            }
            <button type="button" class="btn btn-quiet btn-icon" aria-label={t!(dismiss)} onclick={dismiss}>
                { small_glyph("x") }
            </button>
        </div>
    }
}
