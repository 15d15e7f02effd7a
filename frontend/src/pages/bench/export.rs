//! Export menu, permalink and the text that is mailed.

use fleethold_api_types::bench::ExportFormat;
use yew::prelude::*;

use crate::{
    api::bench::{self, Exported, word},
    t,
    ui::{CopyButton, Menu, ProblemAlert, hooks::use_load, small_glyph},
};

const FORMATS: [(ExportFormat, &str); 6] = [
    (ExportFormat::Mail, "txt"),
    (ExportFormat::Markdown, "md"),
    (ExportFormat::Csv, "csv"),
    (ExportFormat::Json, "json"),
    (ExportFormat::GoBench, "bench.txt"),
    (ExportFormat::Html, "html"),
];

fn name(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Mail => t!(bench.mail_text),
        ExportFormat::Markdown => "Markdown",
        ExportFormat::Csv => t!(bench.csv_samples),
        ExportFormat::Json => "JSON",
        ExportFormat::GoBench => t!(bench.go_text),
        ExportFormat::Html => t!(bench.html_file),
    }
}

/// Props of [`ExportMenu`].
#[derive(Properties, PartialEq)]
pub(super) struct ExportProps {
    /// What.
    pub what: Exported,
    /// Name of the workload, for the files.
    pub workload: String,
}

/// Every form as a download.
#[component(ExportMenu)]
pub(super) fn export_menu(props: &ExportProps) -> Html {
    html! {
        <Menu icon="save" label={t!(bench.export)} testid="export-menu">
            { for FORMATS.into_iter().map(|(format, ending)| html! {
                <a href={props.what.href(format)} download={format!("{}.{ending}", props.workload)} data-testid={format!("export-{}", word(&format))}>{ name(format) }</a>
            }) }
        </Menu>
    }
}

/// Copies the address that shows the same to others.
#[component(Permalink)]
pub(super) fn permalink(props: &ExportProps) -> Html {
    let origin = web_sys::window()
        .and_then(|w| w.location().origin().ok())
        .unwrap_or_default();
    let text = format!("{origin}{}", props.what.permalink());
    html! { <span class="permalink" data-testid="permalink" data-href={text.clone()}><CopyButton {text} label={t!(bench.permalink)} /></span> }
}

/// The texts that are shown on the page.
const SHOWN: [ExportFormat; 3] = [ExportFormat::Mail, ExportFormat::Markdown, ExportFormat::GoBench];

/// The comparison as it is mailed, with a button to copy it.
#[component(MailPanel)]
pub(super) fn mail_panel(props: &ExportProps) -> Html {
    let format = use_state(|| ExportFormat::Mail);
    let text = use_load((props.what, *format), |(what, format)| async move {
        bench::bench_export(what, format).await
    });
    let choose = |to: ExportFormat| {
        let format = format.clone();
        move |_: MouseEvent| format.set(to)
    };
    let short = |format: ExportFormat| match format {
        ExportFormat::Mail => t!(bench.mail),
        ExportFormat::GoBench => "benchstat",
        other => name(other),
    };
    html! {
        <section class="panel" aria-labelledby="mail-h" data-testid="mail-panel">
            <div class="panel-head">
                <h2 id="mail-h">{ t!(bench.as_mail) }<small>{ t!(bench.mail_note) }</small></h2>
                <div class="seg" role="group" aria-label={t!(bench.format)}>
                    { for SHOWN.into_iter().map(|f| html! { <button type="button" aria-pressed={(*format == f).to_string()} onclick={choose(f)}>{ short(f) }</button> }) }
                </div>
                if let Some(text) = text.result.value() {
                    <CopyButton text={(**text).clone()} />
                }
            </div>
            <div class="panel-body">
                if let Some(problem) = text.result.error.clone() {
                    { yew::props!(ProblemAlert { title: t!(bench.not_exported), problem, on_retry: text.reload.clone() }).view() }
                }
                { match text.result.value() {
                    Some(text) => html! { <pre class="well mail" tabindex="0" role="region" aria-label={t!(bench.as_mail)} data-testid="mail-text">{ (**text).clone() }</pre> },
                    None if text.result.error.is_some() => html! {},
                    None => html! { <p class="note" role="status">{ small_glyph("run") }{ t!(loading) }</p> },
                } }
            </div>
        </section>
    }
}
