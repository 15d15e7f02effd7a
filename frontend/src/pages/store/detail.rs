//! One snapshot: who, when, in what state, and its files.

use fleethold_api_types::{CryptMode, FileEntry, SnapshotEntry};
use yew::prelude::*;

use super::{key_dialog::KeyDialog, tree::snapshot_state};
use crate::{
    api,
    model::format,
    t,
    ui::{CopyButton, Fingerprint, When, glyph},
};

/// Props of [`Detail`].
#[derive(Properties, PartialEq)]
pub(super) struct DetailProps {
    /// Store.
    pub store: String,
    /// Namespace.
    pub ns: String,
    /// The snapshot.
    pub entry: SnapshotEntry,
    /// Opens the restore dialog for a file.
    pub on_restore: Callback<String>,
}

/// Can a file be restored as an image or archive?
pub fn is_archive(name: &str) -> bool {
    name.ends_with(".fidx") || name.ends_with(".didx")
}

/// The panel's content.
#[component(Detail)]
pub(super) fn detail(props: &DetailProps) -> Html {
    let entry = &props.entry;
    let decrypting = use_state(|| None::<String>);
    let fact = |word: &'static str, value: Option<Html>| {
        value.map(|value| html! { <><dt>{ word }</dt><dd>{ value }</dd></> })
    };
    let close = {
        let decrypting = decrypting.clone();
        Callback::from(move |()| decrypting.set(None))
    };
    html! {
        <>
            <div class="panel-head">
                <h2 id="snap-h">{ entry.snapshot.clone() }</h2>
                { snapshot_state(entry) }
            </div>
            <div class="panel-body stack">
                if let Some(problem) = &entry.problem {
                    <div class="alert" role="alert">{ glyph("error") }<p class="alert-h">{ t!(manifest_damaged) }</p><p>{ problem.clone() }</p></div>
                }
                if !entry.finished {
                    <div class="alert" data-state="warning">{ glyph("warn") }<p class="alert-h">{ t!(unfinished) }</p><p>{ t!(unfinished_text) }</p></div>
                }
                <dl class="facts left">
                    { fact(t!(taken), Some(yew::props!(When { at: entry.time, snapshot: true }).view())) }
                    { fact(t!(namespace), (!props.ns.is_empty()).then(|| html! { { props.ns.clone() } })) }
                    { fact(t!(size), entry.size_bytes.map(|n| html! { { format::bytes(n) } })) }
                    { fact(t!(owner), entry.owner.clone().map(|o| html! { { o } })) }
                    { fact(t!(notes), entry.notes.clone().map(|n| html! { <span class="notes">{ n }</span> })) }
                    { fact(t!(protected), Some(html! { { if entry.protected { t!(yes) } else { t!(no) } } })) }
                    { fact(t!(key_fingerprint), entry.key_fingerprint.clone().map(|f| yew::props!(Fingerprint { value: f }).view())) }
                </dl>
                <div class="scroll-x" tabindex="0" role="region" aria-label={t!(files)}>
                    <table class="table files">
                        <thead><tr><th scope="col">{ t!(file) }</th><th scope="col" class="num">{ t!(size) }</th><th scope="col" class="c-prot">{ t!(protection) }</th><th scope="col"><span class="vh">{ t!(actions) }</span></th></tr></thead>
                        <tbody>
                            { for entry.files.iter().map(|file| html! {
                                <FileRow key={file.name.clone()} store={props.store.clone()} ns={props.ns.clone()} snapshot={entry.snapshot.clone()} file={file.clone()} finished={entry.finished} on_restore={props.on_restore.clone()} decrypting={decrypting.setter()} />
                            }) }
                        </tbody>
                    </table>
                </div>
                <div class="cluster">
                    <CopyButton text={entry.snapshot.clone()} label={t!(copy_snapshot)} />
                </div>
            </div>
            if let Some(file) = &*decrypting {
                <KeyDialog store={props.store.clone()} ns={props.ns.clone()} snapshot={entry.snapshot.clone()} file={file.clone()} on_close={close} />
            }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct FileProps {
    store: String,
    ns: String,
    snapshot: String,
    file: FileEntry,
    finished: bool,
    on_restore: Callback<String>,
    decrypting: UseStateSetter<Option<String>>,
}

#[component(FileRow)]
fn file_row(props: &FileProps) -> Html {
    let file = &props.file;
    let name = file.name.clone();
    let encrypted = file.crypt_mode == Some(CryptMode::Encrypt);
    let restore = props.on_restore.reform({
        let name = name.clone();
        move |_: MouseEvent| name.clone()
    });
    let decrypt = {
        let (decrypting, name) = (props.decrypting.clone(), name.clone());
        move |_: MouseEvent| decrypting.set(Some(name.clone()))
    };
    let protection = match file.crypt_mode {
        Some(CryptMode::Encrypt) => {
            html! { <span class="state">{ glyph("lock") }{ t!(encrypted) }</span> }
        }
        Some(CryptMode::SignOnly) => html! { <span class="state">{ glyph("key") }{ t!(signed) }</span> },
        Some(CryptMode::None) => html! { <span class="faint">{ t!(plain) }</span> },
        None => html! { <span class="faint">{ "–" }</span> },
    };
    html! {
        <tr data-testid={format!("file-{name}")}>
            <th scope="row"><span class="state">{ glyph(if is_archive(&name) { "disk" } else { "file" }) }{ name.clone() }</span></th>
            <td class="num">{ file.size_bytes.map_or_else(|| "–".to_owned(), format::bytes) }</td>
            <td class="c-prot">{ protection }</td>
            <td class="num">
                <span class="row-actions">
                    if encrypted {
                        <button type="button" class="btn btn-icon" aria-label={t!(download_named, name = name)} title={t!(download)} onclick={decrypt} data-testid={format!("download-{name}")}>{ glyph("save") }</button>
                    } else {
                        <a class="btn btn-icon" href={api::content_href(&props.store, &props.ns, &props.snapshot, &name)} download={download_name(&name)} aria-label={t!(download_named, name = name)} title={t!(download)} data-testid={format!("download-{name}")}>{ glyph("save") }</a>
                    }
                    if is_archive(&name) && props.finished {
                        <button type="button" class="btn btn-primary" aria-label={t!(restore_named, name = name)} onclick={restore} data-testid="restore-open" data-file={name.clone()}>{ t!(restore) }</button>
                    }
                </span>
            </td>
        </tr>
    }
}

/// The name a downloaded file gets: without the server's extension, as its content has none of it left.
pub(super) fn download_name(name: &str) -> String {
    [".fidx", ".didx", ".blob"]
        .iter()
        .find_map(|ext| name.strip_suffix(ext))
        .unwrap_or(name)
        .to_owned()
}
