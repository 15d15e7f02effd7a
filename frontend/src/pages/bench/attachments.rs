//! Files kept with a run: flame graphs to open, others to download, and a way to add one.

use std::rc::Rc;

use fleethold_api_types::bench::{Attachment, AttachmentKind, BenchRunDetail};
use gloo::file::futures::read_as_bytes;
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api::bench,
    model::{format, query::QueryMap},
    route::Route,
    t,
    ui::{glyph, small_glyph, toast::use_toast},
};

/// What is shown; drawn by [`Attachments::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct Attachments {
    /// Run.
    pub detail: Rc<BenchRunDetail>,
    /// There is one more.
    pub on_change: Callback<()>,
}

fn kind_word(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::FlameGraph => t!(bench.flame_graph),
        AttachmentKind::PerfStat => "perf stat",
        AttachmentKind::Log => t!(log),
        AttachmentKind::Original => t!(bench.original),
    }
}

fn side_word(side: &str) -> &str {
    match side {
        "before" => t!(bench.before),
        "after" => t!(bench.after),
        other => other,
    }
}

/// The address of a flame graph, or of the difference of two.
fn flame_query(of: &Attachment, before: Option<&Attachment>) -> QueryMap {
    let query = QueryMap::default().with("of", &of.id.to_string());
    match before {
        Some(before) => query.with("before", &before.id.to_string()),
        None => query,
    }
}

impl Attachments {
    /// The panel.
    pub(super) fn view(&self) -> Html {
        let (d, run) = (&self.detail, self.detail.run.id);
        let graphs = |side: &'static str| {
            d.attachments
                .iter()
                .find(move |a| a.kind == AttachmentKind::FlameGraph && a.side == side)
        };
        let pair = graphs("after").zip(graphs("before"));
        html! {
            <section class="panel" aria-labelledby="att-h" data-testid="attachments">
                <div class="panel-head">
                    <h2 id="att-h">{ t!(bench.attachments) }</h2>
                    if let Some((after, before)) = pair {
                        <Link<Route, QueryMap> to={Route::BenchFlame} query={Some(flame_query(after, Some(before)))} classes="btn">{ small_glyph("bench") }{ t!(bench.flame_difference) }</Link<Route, QueryMap>>
                    }
                </div>
                <div class="panel-body stack">
                    if d.attachments.is_empty() {
                        <p class="note">{ t!(bench.no_attachments) }</p>
                    } else {
                        <ul class="files-list">
                            { for d.attachments.iter().map(|a| html! {
                                <li key={a.id.to_string()} data-testid="attachment">
                                    { glyph(if a.kind == AttachmentKind::FlameGraph { "bench" } else { "file" }) }
                                    <span class="t" title={a.sha256.clone()}>{ &a.name }<small>{ [kind_word(a.kind), side_word(&a.side), &format::bytes(a.size)].into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(", ") }</small></span>
                                    if a.kind == AttachmentKind::FlameGraph {
                                        <Link<Route, QueryMap> to={Route::BenchFlame} query={Some(flame_query(a, None))} classes="btn">{ t!(keys_open) }<span class="vh">{ " " }{ &a.name }</span></Link<Route, QueryMap>>
                                    }
                                    <a class="btn btn-quiet btn-icon" href={bench::attachment_href(run, a.id)} download={a.name.clone()} aria-label={t!(download_named, name = a.name)}>{ glyph("save") }</a>
                                </li>
                            }) }
                        </ul>
                    }
                    <Attach {run} on_change={self.on_change.clone()} />
                </div>
            </section>
        }
    }
}

#[derive(Properties, PartialEq)]
struct AttachProps {
    run: uuid::Uuid,
    on_change: Callback<()>,
}

const KINDS: [AttachmentKind; 3] = [
    AttachmentKind::FlameGraph,
    AttachmentKind::PerfStat,
    AttachmentKind::Log,
];

/// Adds a file: folded stacks of a profiler, counters, a log.
#[component(Attach)]
fn attach(props: &AttachProps) -> Html {
    let toast = use_toast();
    let kind = use_state(|| AttachmentKind::FlameGraph);
    let side = use_state(|| "after".to_owned());
    let on_kind = {
        let kind = kind.clone();
        move |event: Event| {
            let value = event.target_unchecked_into::<HtmlSelectElement>().value();
            if let Some(chosen) = KINDS.into_iter().find(|k| bench::word(k) == value) {
                kind.set(chosen);
            }
        }
    };
    let on_side = {
        let side = side.clone();
        move |event: Event| side.set(event.target_unchecked_into::<HtmlSelectElement>().value())
    };
    let on_file = {
        let (kind, side, run, on_change) = (*kind, (*side).clone(), props.run, props.on_change.clone());
        move |event: Event| {
            let input = event.target_unchecked_into::<HtmlInputElement>();
            let Some(file) = input.files().and_then(|f| f.get(0)).map(gloo::file::File::from) else {
                return;
            };
            let (side, on_change, toast) = (side.clone(), on_change.clone(), toast.clone());
            spawn_local(async move {
                let sent = match read_as_bytes(&file).await {
                    Ok(bytes) => bench::attach(run, kind, &side, &file.name(), &bytes)
                        .await
                        .map_err(|p| p.detail),
                    Err(error) => Err(error.to_string()),
                };
                match sent {
                    Ok(kept) => {
                        toast.ok(t!(bench.attached, name = kept.name));
                        on_change.emit(());
                    }
                    Err(why) => toast.error(why),
                }
                input.set_value("");
            });
        }
    };
    html! {
        <details class="more">
            <summary>{ t!(bench.attach) }</summary>
            <div class="attach">
                <div class="field"><label for="att-kind">{ t!(bench.kind) }</label>
                    <select id="att-kind" class="select" onchange={on_kind}>{ for KINDS.into_iter().map(|k| html! { <option value={bench::word(&k)} selected={k == *kind}>{ kind_word(k) }</option> }) }</select>
                </div>
                <div class="field"><label for="att-side">{ t!(bench.side) }</label>
                    <select id="att-side" class="select" onchange={on_side}>{ for ["before", "after", ""].into_iter().map(|s| html! { <option value={s} selected={*side == s}>{ if s.is_empty() { t!(bench.both_sides) } else { side_word(s) } }</option> }) }</select>
                </div>
                <div class="field"><label for="att-file">{ t!(file) }</label><input id="att-file" type="file" class="input file" onchange={on_file} data-testid="attach-file" /></div>
            </div>
        </details>
    }
}
