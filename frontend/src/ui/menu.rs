//! A button that opens a short list of things to do.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, Node};
use yew::prelude::*;

use super::{glyph, small_glyph};

/// Props of [`Menu`].
#[derive(Properties, PartialEq)]
pub struct MenuProps {
    /// Icon of the button.
    pub icon: &'static str,
    /// What the button says.
    pub label: AttrValue,
    /// The icon alone; the label is for screen readers and the tooltip.
    #[prop_or_default]
    pub short: bool,
    /// Links and buttons.
    pub children: Html,
    /// For tests.
    #[prop_or_default]
    pub testid: Option<&'static str>,
}

/// The menu, on the browser's own `<details>`: it opens with Enter and Space, and closes with Escape, a choice, or when the
/// focus goes elsewhere.
#[component(Menu)]
pub fn menu(props: &MenuProps) -> Html {
    let node = use_node_ref();
    let close = {
        let node = node.clone();
        move |refocus: bool| {
            let Some(details) = node.cast::<Element>() else {
                return;
            };
            if !details.has_attribute("open") {
                return;
            }
            let closed = details.remove_attribute("open").is_ok();
            let summary = details
                .query_selector("summary")
                .ok()
                .flatten()
                .and_then(|s| s.dyn_into::<HtmlElement>().ok());
            if closed && refocus && summary.is_none_or(|s| s.focus().is_err()) {
                gloo::console::warn!("the menu's button did not take the focus");
            }
        }
    };
    let onkeydown = {
        let close = close.clone();
        move |event: KeyboardEvent| {
            if event.key() == "Escape" {
                close(true);
            }
        }
    };
    let onfocusout = {
        let (close, node) = (close.clone(), node.clone());
        move |event: FocusEvent| {
            let to = event.related_target().and_then(|t| t.dyn_into::<Node>().ok());
            let inside = to.is_some_and(|to| node.get().is_some_and(|n| n.contains(Some(&to))));
            if !inside {
                close(false);
            }
        }
    };
    let chosen = move |_: MouseEvent| close(false);
    html! {
        <details class="menu" ref={node} {onkeydown} {onfocusout} data-testid={props.testid}>
            if props.short {
                <summary class="btn btn-quiet btn-icon" aria-label={props.label.clone()} title={props.label.clone()}>{ glyph(props.icon) }</summary>
            } else {
                <summary class="btn">{ small_glyph(props.icon) }{ props.label.clone() }{ small_glyph("down") }</summary>
            }
            <div class="menu-list" onclick={chosen}>{ props.children.clone() }</div>
        </details>
    }
}
