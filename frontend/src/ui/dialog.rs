//! A modal dialog on the browser's own `<dialog>`: focus trap, inert page and Escape come with it.

use web_sys::HtmlDialogElement;
use yew::prelude::*;

use super::glyph;
use crate::t;

/// Props of [`Dialog`].
#[derive(Properties, PartialEq)]
pub struct DialogProps {
    /// Heading.
    pub title: AttrValue,
    /// A line below the heading.
    #[prop_or_default]
    pub subtitle: Option<AttrValue>,
    /// Escape, the cross, a click beside it.
    pub on_close: Callback<()>,
    /// `alertdialog` for a question that must be answered.
    #[prop_or("dialog")]
    pub role: &'static str,
    /// More classes of the sheet.
    #[prop_or_default]
    pub class: Classes,
    /// Body.
    pub children: Html,
    /// Buttons.
    #[prop_or_default]
    pub footer: Option<Html>,
    /// For tests.
    #[prop_or_default]
    pub testid: Option<&'static str>,
}

/// The dialog; it is open as long as it is rendered.
#[component(Dialog)]
pub fn dialog(props: &DialogProps) -> Html {
    let node = use_node_ref();
    use_effect_with((), {
        let node = node.clone();
        move |()| {
            if let Some(dialog) = node.cast::<HtmlDialogElement>()
                && dialog.show_modal().is_err()
            {
                gloo::console::error!("the dialog did not open");
            }
            move || {
                if let Some(dialog) = node.cast::<HtmlDialogElement>() {
                    dialog.close();
                }
            }
        }
    });
    let oncancel = {
        let on_close = props.on_close.clone();
        move |event: Event| {
            // stays open until the owner stops rendering it
            event.prevent_default();
            on_close.emit(());
        }
    };
    let onmousedown = {
        let (on_close, node) = (props.on_close.clone(), node.clone());
        move |event: MouseEvent| {
            let outside = event
                .target()
                .is_some_and(|t| node.get().is_some_and(|n| js_sys::Object::is(&t, &n)));
            if outside {
                on_close.emit(());
            }
        }
    };
    let close = props.on_close.reform(|_: MouseEvent| ());
    html! {
        <dialog ref={node} class="scrim" {oncancel} {onmousedown} role={props.role} aria-labelledby="dlg-h" data-testid={props.testid}>
            <div class={classes!("dialog", props.class.clone())}>
                <header class="dialog-head">
                    <div>
                        <h2 id="dlg-h">{ props.title.clone() }</h2>
                        if let Some(line) = &props.subtitle {
                            <p>{ line.clone() }</p>
                        }
                    </div>
                    <button type="button" class="btn btn-quiet btn-icon" aria-label={t!(close)} aria-keyshortcuts="Escape" onclick={close}>
                        { glyph("x") }
                    </button>
                </header>
                <div class="dialog-body">{ props.children.clone() }</div>
                if let Some(footer) = &props.footer {
                    <footer class="dialog-foot">{ footer.clone() }</footer>
                }
            </div>
        </dialog>
    }
}
