//! Download of an encrypted file: the server decrypts it with the key in the request's body.

use fleethold_api_types::ContentRequest;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;

use super::detail::download_name;
use crate::{
    api,
    model::load::Problem,
    t,
    ui::{
        Dialog, ProblemAlert, download,
        key_fields::{Key, KeyFields},
    },
};

/// Props of [`KeyDialog`].
#[derive(Properties, PartialEq)]
pub(super) struct KeyDialogProps {
    /// Store.
    pub store: String,
    /// Namespace.
    pub ns: String,
    /// Snapshot.
    pub snapshot: String,
    /// File.
    pub file: String,
    /// Closes it.
    pub on_close: Callback<()>,
}

/// The dialog.
#[component(KeyDialog)]
pub(super) fn key_dialog(props: &KeyDialogProps) -> Html {
    let key = use_state(Key::default);
    let busy = use_state(|| false);
    let problem = use_state(|| None::<Rc<Problem>>);
    let on_change = {
        let key = key.clone();
        Callback::from(move |value| key.set(value))
    };
    let start = {
        let (key, busy, problem) = (key.clone(), busy.clone(), problem.clone());
        let (store, file, on_close) = (props.store.clone(), props.file.clone(), props.on_close.clone());
        let (ns, snapshot) = (props.ns.clone(), props.snapshot.clone());
        move |_: MouseEvent| {
            let request = ContentRequest {
                ns: ns.clone(),
                snapshot: snapshot.clone(),
                file: file.clone(),
                key: key.text(),
                key_password: key.password(),
            };
            let (busy, problem, store, on_close) =
                (busy.clone(), problem.clone(), store.clone(), on_close.clone());
            busy.set(true);
            spawn_local(async move {
                let saved = match api::content(&store, &request).await {
                    Ok(bytes) => {
                        download::save(&download_name(&request.file), "application/octet-stream", &bytes)
                    }
                    Err(found) => Err(found),
                };
                busy.set(false);
                match saved {
                    Ok(()) => on_close.emit(()),
                    Err(found) => problem.set(Some(Rc::new(found))),
                }
            });
        }
    };
    let footer = html! {
        <>
            <span class="grow" />
            <button type="button" class="btn" onclick={props.on_close.reform(|_: MouseEvent| ())}>{ t!(cancel) }</button>
            <button type="button" class="btn btn-primary" disabled={key.text.is_empty() || *busy} onclick={start}>{ if *busy { t!(decrypting) } else { t!(download) } }</button>
        </>
    };
    html! {
        <Dialog title={t!(download_named, name = props.file)} subtitle={t!(decrypt_note)} on_close={props.on_close.clone()} {footer} class="narrow">
            <div class="dialog-pad">
                { yew::props!(KeyFields { value: (*key).clone(), on_change, required: true }).view() }
                if let Some(problem) = &*problem {
                    { yew::props!(ProblemAlert { title: t!(not_downloaded), problem: problem.clone() }).view() }
                }
            </div>
        </Dialog>
    }
}
