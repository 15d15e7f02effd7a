//! Takes a file of another tool: first what would be stored, then the storing.

use std::rc::Rc;

use fleethold_api_types::bench::ImportReport;
use gloo::file::futures::read_as_bytes;
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api::bench,
    model::{format, load::Problem},
    route::Route,
    t,
    ui::{Dialog, ProblemAlert, glyph, small_glyph},
};

/// Formats as the server names them; the empty one is found out.
const FORMATS: [(&str, &str); 14] = [
    ("json", "Fleethold JSON"),
    ("csv", "Fleethold CSV"),
    ("gobench", "Go benchmark text"),
    ("hyperfine", "hyperfine --export-json"),
    ("criterion", "cargo-criterion JSON lines"),
    ("fio", "fio json, json+"),
    (
        "customSmallerIsBetter",
        "github-action-benchmark, smaller is better",
    ),
    (
        "customBiggerIsBetter",
        "github-action-benchmark, bigger is better",
    ),
    ("bencher", "Bencher BMF"),
    ("gnu-time", "GNU time -v"),
    ("perf-stat", "perf stat -j"),
    ("pbs-client", "proxmox-backup-client benchmark"),
    ("qmrestore", "qmrestore log"),
    ("folded", "folded stacks"),
];

/// Larger files are refused here already: the server would, too.
const LARGEST: u64 = 64 << 20;

#[derive(Clone, PartialEq)]
struct Chosen {
    name: String,
    bytes: Rc<Vec<u8>>,
}

/// Props of [`ImportDialog`].
#[derive(Properties, PartialEq)]
pub(super) struct ImportProps {
    /// Closes it.
    pub on_close: Callback<()>,
}

/// The dialog.
#[component(ImportDialog)]
pub(super) fn import_dialog(props: &ImportProps) -> Html {
    let navigator = use_navigator();
    let chosen = use_state(|| None::<Chosen>);
    let format = use_state(String::new);
    let outcome = use_state(|| None::<Result<Rc<ImportReport>, Rc<Problem>>>);
    let busy = use_state(|| false);
    let send = {
        let (outcome, busy) = (outcome.clone(), busy.clone());
        let (navigator, close) = (navigator.clone(), props.on_close.clone());
        Callback::from(move |(file, format, dry): (Chosen, String, bool)| {
            let (outcome, busy) = (outcome.clone(), busy.clone());
            let (navigator, close) = (navigator.clone(), close.clone());
            busy.set(true);
            spawn_local(async move {
                let answer = bench::import(&file.name, &format, dry, &file.bytes).await;
                busy.set(false);
                if let (false, Ok(ImportReport { run: Some(id), .. }), Some(navigator)) =
                    (dry, &answer, &navigator)
                {
                    close.emit(());
                    navigator.push(&Route::BenchRun { id: *id });
                    return;
                }
                outcome.set(Some(answer.map(Rc::new).map_err(Rc::new)));
            });
        })
    };
    let on_file = {
        let (chosen, outcome, format, send) = (chosen.clone(), outcome.clone(), format.clone(), send.clone());
        move |event: Event| {
            let input = event.target_unchecked_into::<HtmlInputElement>();
            outcome.set(None);
            let Some(file) = input.files().and_then(|f| f.get(0)).map(gloo::file::File::from) else {
                chosen.set(None);
                return;
            };
            let (chosen, outcome, format, send) =
                (chosen.clone(), outcome.clone(), (*format).clone(), send.clone());
            spawn_local(async move {
                let refused = |detail: String| Problem {
                    code: "file".into(),
                    status: 0,
                    detail,
                };
                if file.size() > LARGEST {
                    let why = t!(
                        bench.file_too_large,
                        size = format::bytes(file.size()),
                        most = format::bytes(LARGEST)
                    );
                    outcome.set(Some(Err(Rc::new(refused(why)))));
                    return;
                }
                match read_as_bytes(&file).await {
                    Ok(bytes) => {
                        let file = Chosen {
                            name: file.name(),
                            bytes: Rc::new(bytes),
                        };
                        chosen.set(Some(file.clone()));
                        send.emit((file, format, true));
                    }
                    Err(error) => outcome.set(Some(Err(Rc::new(refused(error.to_string()))))),
                }
            });
        }
    };
    let on_format = {
        let (format, chosen, send) = (format.clone(), chosen.clone(), send.clone());
        move |event: Event| {
            let value = event.target_unchecked_into::<HtmlSelectElement>().value();
            format.set(value.clone());
            if let Some(file) = (*chosen).clone() {
                send.emit((file, value, true));
            }
        }
    };
    let good = matches!(&*outcome, Some(Ok(_)));
    let store = {
        let (chosen, format, send) = (chosen.clone(), format.clone(), send.clone());
        move |_: MouseEvent| {
            if let Some(file) = (*chosen).clone() {
                send.emit((file, (*format).clone(), false));
            }
        }
    };
    let footer = html! {
        <>
            <span class="grow note">{ t!(bench.import_kept) }</span>
            <button type="button" class="btn" onclick={props.on_close.reform(|_: MouseEvent| ())}>{ t!(cancel) }</button>
            <button type="button" class="btn btn-primary" disabled={*busy || !good} onclick={store} data-testid="import-store">{ small_glyph("save") }{ t!(bench.store_it) }</button>
        </>
    };
    html! {
        <Dialog title={t!(bench.import)} subtitle={t!(bench.import_text)} on_close={props.on_close.clone()} {footer} class="narrow" testid="import-dialog">
            <div class="dialog-pad">
                <div class="field">
                    <label for="import-file">{ t!(file) }</label>
                    <input id="import-file" type="file" class="input file" onchange={on_file} data-testid="import-file" />
                </div>
                <div class="field">
                    <label for="import-format">{ t!(bench.format) }</label>
                    <select id="import-format" class="select" onchange={on_format} data-testid="import-format">
                        <option value="" selected={format.is_empty()}>{ t!(bench.format_found) }</option>
                        { for FORMATS.into_iter().map(|(key, name)| html! { <option value={key} selected={*format == key}>{ name }</option> }) }
                    </select>
                </div>
                { match &*outcome {
                    None => html! { if *busy { <p class="note" role="status">{ t!(loading) }</p> } },
                    Some(Err(problem)) => yew::props!(ProblemAlert { title: t!(bench.not_importable), problem: problem.clone() }).view(),
                    Some(Ok(report)) => yew::props!(Report { report: report.clone() }).view(),
                } }
            </div>
        </Dialog>
    }
}

#[derive(Properties, PartialEq)]
struct Report {
    report: Rc<ImportReport>,
}

impl Report {
    /// What would be stored.
    fn view(&self) -> Html {
        let report = &self.report;
        html! {
            <div data-testid="import-report" role="status" class="stack">
                <dl class="facts left">
                    <dt>{ t!(bench.format) }</dt><dd>{ &report.format }</dd>
                    <dt>{ t!(bench.workload) }</dt><dd>{ &report.workload }</dd>
                    <dt>{ t!(bench.series) }</dt><dd>{ format::integer(report.series) }</dd>
                    <dt>{ t!(samples) }</dt><dd>{ format::integer(report.samples) }</dd>
                    { for report.facts.iter().take(12).map(|(name, value)| html! { <><dt>{ name }</dt><dd class="wrap">{ value }</dd></> }) }
                </dl>
                if report.known {
                    <div class="alert" data-state="info">{ glyph("info") }<p class="alert-h">{ t!(bench.import_known) }</p>
                        if let Some(id) = report.run { <p><Link<Route> to={Route::BenchRun { id }}>{ t!(bench.open_run) }</Link<Route>></p> }
                    </div>
                }
            </div>
        }
    }
}
