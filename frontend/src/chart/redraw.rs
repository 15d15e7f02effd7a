//! When a canvas has to be drawn again.

use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, ResizeObserver};
use yew::prelude::*;

/// Draws again when the box, the device pixels or the theme change.
#[hook]
pub(super) fn use_redraw(canvas: &NodeRef, bump: UseStateSetter<u32>) {
    let canvas = canvas.clone();
    use_effect_with((), move |()| {
        let count = std::cell::Cell::new(0u32);
        let changed = Closure::<dyn FnMut()>::new(move || {
            count.set(count.get().wrapping_add(1));
            bump.set(count.get());
        });
        let function: &js_sys::Function = changed.as_ref().unchecked_ref();
        let observer = ResizeObserver::new(function).ok();
        if let (Some(observer), Some(element)) = (&observer, canvas.cast::<Element>()) {
            observer.observe(&element);
        }
        let theme = web_sys::window()
            .and_then(|w| w.document())
            .and_then(|d| d.document_element());
        let attributes = theme.and_then(|root| {
            let observer = web_sys::MutationObserver::new(function).ok()?;
            let options = web_sys::MutationObserverInit::new();
            options.set_attributes(true);
            observer.observe_with_options(&root, &options).ok()?;
            Some(observer)
        });
        let scheme =
            web_sys::window().and_then(|w| w.match_media("(prefers-color-scheme: dark)").ok().flatten());
        if let Some(scheme) = &scheme {
            scheme.set_onchange(Some(function));
        }
        move || {
            if let Some(observer) = observer {
                observer.disconnect();
            }
            if let Some(observer) = attributes {
                observer.disconnect();
            }
            if let Some(scheme) = scheme {
                scheme.set_onchange(None);
            }
            drop(changed);
        }
    });
}
