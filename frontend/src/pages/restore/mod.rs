//! The restore dialog: what, where to, how, what it would do, and the same as a command.

mod equivalent;
mod form;
mod plan;

use std::rc::Rc;

use fleethold_api_types::{CreateRestore, RestoreSource, RestoreTarget, SnapshotEntry, TargetKind};
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api,
    app::use_app,
    model::{format, load::Problem},
    route::Route,
    t,
    ui::{Dialog, Icon, ProblemAlert, hooks::use_load, key_fields::Key, toast::use_toast},
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

/// What the form holds; the file is in the address.
#[derive(Clone, PartialEq)]
pub struct Form {
    /// Kind of target.
    pub kind: TargetKind,
    /// Path of a file, relative to the first restore root or absolute.
    pub path: String,
    /// Path of a device.
    pub device: String,
    /// Fetches outstanding; empty for the server's default.
    pub parallel: String,
    /// Compute the SHA-256.
    pub sha256: bool,
    /// Replace an existing file.
    pub overwrite: bool,
    /// Added latency in milliseconds; empty for none.
    pub latency_ms: String,
    /// Key.
    pub key: Key,
}

impl Form {
    fn new(snapshot: &str, file: &str) -> Self {
        Self {
            kind: TargetKind::File,
            path: suggested_path(snapshot, file),
            device: String::new(),
            parallel: String::new(),
            sha256: false,
            overwrite: false,
            latency_ms: String::new(),
            key: Key::default(),
        }
    }

    /// The request this form stands for.
    pub fn request(&self, source: RestoreSource) -> CreateRestore {
        CreateRestore {
            source,
            target: RestoreTarget {
                kind: self.kind,
                path: match self.kind {
                    TargetKind::File => Some(self.path.trim().to_owned()),
                    TargetKind::Device => Some(self.device.clone()),
                    TargetKind::Null => None,
                },
                overwrite: self.overwrite && self.kind == TargetKind::File,
                is_zero: false,
            },
            parallel: self.parallel.parse().ok(),
            sha256: self.sha256,
            key: self.key.text(),
            key_password: self.key.password(),
            simulate_latency_ms: self.latency_ms.parse().unwrap_or(0),
        }
    }

    /// What keeps it from being started, in words.
    pub fn obstacle(&self, encrypted: bool) -> Option<&'static str> {
        let number = |text: &str, most: u32| text.is_empty() || text.parse::<u32>().is_ok_and(|n| n <= most);
        if encrypted && self.key.text.is_empty() {
            Some(t!(needs_key))
        } else if self.kind == TargetKind::File && self.path.trim().is_empty() {
            Some(t!(needs_path))
        } else if self.kind == TargetKind::Device && self.device.is_empty() {
            Some(t!(needs_device))
        } else if !number(&self.parallel, 1024) || self.parallel == "0" {
            Some(t!(bad_parallel))
        } else if !number(&self.latency_ms, 10_000) {
            Some(t!(bad_latency))
        } else {
            None
        }
    }
}

/// `vm/100/2024-05-01T10:00:00Z`, `drive-scsi0.img.fidx` → `vm-100-20240501T100000Z-drive-scsi0.img`.
fn suggested_path(snapshot: &str, file: &str) -> String {
    let (group, time) = snapshot.rsplit_once('/').unwrap_or((snapshot, ""));
    let stem = file
        .strip_suffix(".fidx")
        .or_else(|| file.strip_suffix(".didx"))
        .unwrap_or(file);
    format!(
        "{}-{}-{stem}",
        group.replace('/', "-"),
        time.replace(['-', ':'], "")
    )
}

/// The dialog.
#[component(RestoreDialog)]
pub fn restore_dialog(props: &RestoreProps) -> Html {
    let app = use_app();
    let toast = use_toast();
    let navigator = use_navigator();
    let form = use_state(|| Form::new(&props.entry.snapshot, &props.file));
    let busy = use_state(|| false);
    let problem = use_state(|| None::<Rc<Problem>>);
    let about = use_load((), |()| api::about());
    // another file gets its own suggestion; everything else stays
    use_effect_with(props.file.clone(), {
        let (form, snapshot) = (form.clone(), props.entry.snapshot.clone());
        move |file| {
            form.set(Form {
                path: suggested_path(&snapshot, file),
                ..(*form).clone()
            })
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
    let obstacle = form.obstacle(encrypted);
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
            <span class="note grow" id="restore-note">{ obstacle.unwrap_or(t!(runs_on_server)) }</span>
            <button type="button" class="btn" onclick={props.on_close.reform(|_: MouseEvent| ())}>{ t!(cancel) }</button>
            <button type="submit" form="restore-form" class="btn btn-primary" disabled={!ready} aria-describedby="restore-note" data-testid="restore-start">{ if *busy { t!(starting) } else { t!(start_restore) } }</button>
        </>
    };
    let about = about.result.value().cloned();
    let root = about.as_ref().and_then(|a| a.restore_roots.first().cloned());
    html! {
        <Dialog title={t!(restore_from, store = props.store)} subtitle={t!(nothing_written)} on_close={props.on_close.clone()} {footer} testid="restore-dialog">
            <div class="restore">
                <div class="restore-pick">
                    <FileList entry={props.entry.clone()} chosen={props.file.clone()} on_file={props.on_file.clone()} />
                </div>
                <form class="restore-form" id="restore-form" {onsubmit}>
                    if let Some(problem) = &*problem {
                        <ProblemAlert title={t!(not_started)} problem={problem.clone()} />
                    }
                    <form::Fields form={form.clone()} about={about.clone()} {encrypted} signed={props.entry.key_fingerprint.clone()} />
                    <plan::Plan request={plan::PlanInput::of(&request)} waits_for_key={encrypted && form.key.text.is_empty()} kind={form.kind} />
                </form>
            </div>
            <equivalent::Equivalent {request} {root} key_file={(!form.key.file.is_empty()).then(|| form.key.file.clone())} />
        </Dialog>
    }
}

#[derive(Properties, PartialEq)]
struct FileListProps {
    entry: SnapshotEntry,
    chosen: String,
    on_file: Callback<String>,
}

/// The images and archives of the snapshot, one of them chosen.
#[component(FileList)]
fn file_list(props: &FileListProps) -> Html {
    let files: Vec<_> = props
        .entry
        .files
        .iter()
        .filter(|f| crate::pages::store::is_archive(&f.name))
        .collect();
    html! {
        <>
            <h3>{ props.entry.snapshot.clone() }</h3>
            <fieldset class="pick">
                <legend class="vh">{ t!(file) }</legend>
                { for files.into_iter().map(|file| {
                    let chosen = file.name == props.chosen;
                    let choose = props.on_file.reform({ let name = file.name.clone(); move |_: Event| name.clone() });
                    html! {
                        <label key={file.name.clone()} class="tree-row">
                            <span><input type="radio" name="restore-file" checked={chosen} onchange={choose} /><Icon name="disk" /><span class="t">{ file.name.clone() }</span></span>
                            <span>{ file.size_bytes.map_or_else(|| "–".to_owned(), format::bytes) }</span>
                        </label>
                    }
                }) }
            </fieldset>
            <p class="note">{ t!(checked_note) }</p>
        </>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suggested_path_is_one_flat_name() {
        assert_eq!(
            suggested_path("vm/100/2024-05-01T10:00:00Z", "drive-scsi0.img.fidx"),
            "vm-100-20240501T100000Z-drive-scsi0.img"
        );
    }

    #[test]
    fn a_form_that_cannot_work_says_why() {
        let mut form = Form::new("vm/1/2024-05-01T10:00:00Z", "a.img.fidx");
        assert!(form.obstacle(false).is_none() && form.obstacle(true).is_some());
        form.parallel = "0".into();
        assert!(form.obstacle(false).is_some());
        form.parallel = "8".into();
        form.path = "  ".into();
        assert!(form.obstacle(false).is_some());
        form.kind = TargetKind::Null;
        assert!(form.obstacle(false).is_none());
        form.latency_ms = "20000".into();
        assert!(form.obstacle(false).is_some());
    }
}
