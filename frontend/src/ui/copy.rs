//! Copies a text to the clipboard and says so.

use wasm_bindgen_futures::{JsFuture, spawn_local};
use yew::prelude::*;

use super::{glyph, toast::use_toast};
use crate::t;

/// Props of [`CopyButton`].
#[derive(Properties, PartialEq)]
pub struct CopyProps {
    /// What is copied.
    pub text: AttrValue,
    /// What it is called; default "Copy".
    #[prop_or_default]
    pub label: Option<AttrValue>,
}

/// The button.
#[component(CopyButton)]
pub fn copy_button(props: &CopyProps) -> Html {
    let toast = use_toast();
    let onclick = {
        let text = props.text.clone();
        move |_: MouseEvent| {
            let (text, toast) = (text.clone(), toast.clone());
            spawn_local(async move {
                let done = match web_sys::window() {
                    Some(window) => JsFuture::from(window.navigator().clipboard().write_text(&text))
                        .await
                        .is_ok(),
                    None => false,
                };
                if done {
                    toast.ok(t!(copied))
                } else {
                    toast.error(t!(copy_refused))
                }
            });
        }
    };
    html! {
        <button type="button" class="btn btn-quiet" {onclick}>
            { glyph("copy") }
            { props.label.clone().unwrap_or(AttrValue::Static(t!(copy))) }
        </button>
    }
}
