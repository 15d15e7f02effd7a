//! The restore dialog: what, where to, how, what it would do, and the same as a command.

mod equivalent;
mod form;
mod plan;
mod request;

pub use request::Form;

use std::rc::Rc;

use fleethold_api_types::{RestoreSource, SnapshotEntry};
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api,
    app::use_app,
    live::{topic, use_topics},
    model::{command::Around, format, load::Problem},
    route::Route,
    t,
    ui::{Dialog, ProblemAlert, glyph, hooks::use_load, toast::use_toast},
};

/// Props of [`RestoreDialog`].
#[derive(Properties, PartialEq)]
pub struct RestoreProps {
    /// Store.
    pub store: String,
    /// Namespace.
    pub ns: String,
    /// Snapshot.
    pub entry: SnapshotEntry,
    /// Chosen file.
    pub file: String,
    /// Another file was chosen.
    pub on_file: Callback<String>,
    /// Closes it.
    pub on_close: Callback<()>,
}

/// The dialog.
#[component(RestoreDialog)]
pub fn restore_dialog(props: &RestoreProps) -> Html {
    let app = use_app();
    // the store's path comes with the fleet
    use_topics(&app.live, topic::FLEET);
    let toast = use_toast();
    let navigator = use_navigator();
    let of = format!(
        "{} {} {} {}",
        app.session.user, props.store, props.ns, props.entry.snapshot
    );
    let form =
        use_state(|| request::kept(&of).unwrap_or_else(|| Form::new(&props.entry.snapshot, &props.file)));
    use_effect_with((of, (*form).clone()), |(of, form)| request::keep(of, form));
    let busy = use_state(|| false);
    let problem = use_state(|| None::<Rc<Problem>>);
    let about = use_load((), |()| api::about());
    use_effect_with(props.file.clone(), {
        let (form, snapshot) = (form.clone(), props.entry.snapshot.clone());
        move |file| {
            if form.file != *file {
                form.set(form.for_file(&snapshot, file));
            }
        }
    });
    let file = props.entry.files.iter().find(|f| f.name == props.file);
    let encrypted = file.and_then(|f| f.crypt_mode) == Some(fleethold_api_types::CryptMode::Encrypt);
    let source = RestoreSource {
        store: props.store.clone(),
        ns: props.ns.clone(),
        snapshot: props.entry.snapshot.clone(),
        archive: props.file.clone(),
    };
    let request = Rc::new(form.request(source));
    let waits_for_key = encrypted && form.key.text.is_empty();
    let plan = plan::use_plan(plan::PlanInput::of(&request), waits_for_key);
    let about = about.result.value().cloned();
    let roots = about
        .as_ref()
        .map(|a| a.restore_roots.clone())
        .unwrap_or_default();
    // a plan of an earlier key says nothing of this one
    let plan_failed = !waits_for_key && !plan.result.loading && plan.result.error.is_some();
    let obstacle = form
        .obstacle(encrypted, &roots)
        .or_else(|| plan_failed.then(|| t!(plan_stops).to_owned()));
    let start = {
        let (request, busy, problem) = (request.clone(), busy.clone(), problem.clone());
        let live = app.live.clone();
        Callback::from(move |()| {
            let (request, busy, problem) = (request.clone(), busy.clone(), problem.clone());
            let (live, toast, navigator) = (live.clone(), toast.clone(), navigator.clone());
            busy.set(true);
            spawn_local(async move {
                match api::create_restore(&request).await {
                    Ok(job) => {
                        request::forget();
                        let id = job.id;
                        live.put_job(job);
                        toast.ok(t!(restore_started));
                        if let Some(navigator) = navigator {
                            navigator.push(&Route::Job { id });
                        }
                    }
                    Err(found) => {
                        problem.set(Some(Rc::new(found)));
                        busy.set(false);
                    }
                }
            });
        })
    };
    let on_close = props.on_close.reform(|()| request::forget());
    let ready = obstacle.is_none() && !*busy;
    let onsubmit = {
        let start = start.clone();
        move |event: SubmitEvent| {
            event.prevent_default();
            if ready {
                start.emit(());
            }
        }
    };
    let footer = html! {
        <>
            <span class="note grow" id="restore-note">{ obstacle.unwrap_or_else(|| t!(runs_on_server).to_owned()) }</span>
            <button type="button" class="btn" onclick={on_close.reform(|_: MouseEvent| ())}>{ t!(cancel) }</button>
            <button type="submit" form="restore-form" class="btn btn-primary" disabled={!ready} aria-describedby="restore-note" data-testid="restore-start">{ if *busy { t!(starting) } else { t!(start_restore) } }</button>
        </>
    };
    let around = Around {
        store_path: app
            .live
            .read()
            .fleet
            .get(&props.store)
            .map(|row| row.path.clone())
            .filter(|path| !path.is_empty()),
        root: roots.first().cloned(),
        key_file: (!form.key.file.is_empty()).then(|| form.key.file.clone()),
        origin: web_sys::window()
            .and_then(|w| w.location().origin().ok())
            .unwrap_or_default(),
        user: app.session.user.clone(),
    };
    html! {
        <Dialog title={t!(restore_from, store = props.store)} subtitle={t!(nothing_written)} on_close={on_close.clone()} {footer} testid="restore-dialog">
            <div class="restore">
                <div class="restore-pick">
                    { yew::props!(FileList { entry: props.entry.clone(), chosen: props.file.clone(), on_file: props.on_file.clone() }).view() }
                </div>
                <form class="restore-form" id="restore-form" {onsubmit}>
                    if let Some(problem) = &*problem {
                        { yew::props!(ProblemAlert { title: t!(not_started), problem: problem.clone() }).view() }
                    }
                    <form::Fields form={form.clone()} about={about.clone()} {encrypted} signed={props.entry.key_fingerprint.clone()} />
                    <plan::Plan plan={plan.result.clone()} on_retry={plan.reload.clone()} {waits_for_key} kind={form.kind} />
                </form>
            </div>
            <equivalent::Equivalent {request} {around} />
        </Dialog>
    }
}

#[derive(Properties, PartialEq)]
struct FileList {
    entry: SnapshotEntry,
    chosen: String,
    on_file: Callback<String>,
}

impl FileList {
    /// The images and archives of the snapshot, one of them chosen.
    fn view(&self) -> Html {
        let files: Vec<_> = self
            .entry
            .files
            .iter()
            .filter(|f| crate::pages::store::is_archive(&f.name))
            .collect();
        html! {
            <>
                <h3>{ self.entry.snapshot.clone() }</h3>
                <fieldset class="pick">
                    <legend class="vh">{ t!(file) }</legend>
                    { for files.into_iter().map(|file| {
                        let chosen = file.name == self.chosen;
                        let choose = self.on_file.reform({ let name = file.name.clone(); move |_: Event| name.clone() });
                        html! {
                            <label key={file.name.clone()} class="tree-row">
                                <span><input type="radio" name="restore-file" checked={chosen} onchange={choose} />{ glyph("disk") }<span class="t">{ file.name.clone() }</span></span>
                                <span>{ file.size_bytes.map_or_else(|| "–".to_owned(), format::bytes) }</span>
                            </label>
                        }
                    }) }
                </fieldset>
                <p class="note">{ t!(checked_note) }</p>
            </>
        }
    }
}
