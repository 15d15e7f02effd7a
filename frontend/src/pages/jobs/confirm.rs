//! Cancelling asks first: what was done so far is thrown away.

use fleethold_api_types::Job;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;

use crate::{
    api,
    model::format,
    t,
    ui::{Dialog, small_glyph, toast::use_toast},
};

/// Props of [`CancelButton`].
#[derive(Properties, PartialEq)]
pub(super) struct CancelProps {
    /// The job.
    pub job: Rc<Job>,
}

/// The button and its question.
#[component(CancelButton)]
pub(super) fn cancel_button(props: &CancelProps) -> Html {
    let asking = use_state(|| false);
    let busy = use_state(|| false);
    let toast = use_toast();
    let ask = {
        let asking = asking.clone();
        move |_: MouseEvent| asking.set(true)
    };
    let keep = {
        let asking = asking.clone();
        Callback::from(move |()| asking.set(false))
    };
    let cancel = {
        let (asking, busy, id) = (asking.clone(), busy.clone(), props.job.id);
        move |_: MouseEvent| {
            let (asking, busy, toast) = (asking.clone(), busy.clone(), toast.clone());
            busy.set(true);
            spawn_local(async move {
                match api::cancel_restore(id).await {
                    Ok(()) => toast.ok(t!(cancel_sent)),
                    Err(problem) => toast.error(t!(not_cancelled, why = problem.detail)),
                }
                busy.set(false);
                asking.set(false);
            });
        }
    };
    let title = t!(cancel_question, what = super::title(&props.job));
    let footer = html! {
        <>
            <span class="grow" />
            <button type="button" class="btn" onclick={keep.reform(|_: MouseEvent| ())}>{ t!(keep_running) }</button>
            <button type="button" class="btn btn-danger-fill" disabled={*busy} onclick={cancel} data-testid="job-cancel-confirm">{ t!(cancel_restore) }</button>
        </>
    };
    html! {
        <>
            <button type="button" class="btn btn-danger" onclick={ask} disabled={*busy} data-testid="job-cancel">{ small_glyph("x") }{ t!(cancel) }</button>
            if *asking {
                <Dialog {title} role="alertdialog" on_close={keep} {footer} class="narrow">
                    <div class="dialog-pad">
                        <p>{ t!(cancel_text, done = format::bytes(props.job.progress.bytes_done)) }</p>
                    </div>
                </Dialog>
            }
        </>
    }
}
