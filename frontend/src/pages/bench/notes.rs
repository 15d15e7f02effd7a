//! What people say of a series: outliers, level shifts, notes; said with a reason, taken back by withdrawing.

use std::rc::Rc;

use fleethold_api_types::bench::{Annotation, AnnotationKind, CreateAnnotation, Point, SeriesHistory};
use uuid::Uuid;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api::bench,
    clock,
    model::bench::history::{short, shown},
    route::Route,
    t,
    ui::{Dialog, small_glyph, toast::use_toast},
};

fn kind_word(kind: AnnotationKind) -> &'static str {
    match kind {
        AnnotationKind::Outlier => t!(bench.outlier),
        AnnotationKind::LevelShift => t!(bench.level_shift),
        AnnotationKind::Note => t!(bench.note),
    }
}

/// Props of [`PointActions`].
#[derive(Properties, PartialEq)]
pub(super) struct PointProps {
    /// Series.
    pub history: Rc<SeriesHistory>,
    /// Point that is read.
    pub point: Point,
    /// Something was said.
    pub on_change: Callback<()>,
}

/// The point that was read last: its figures, its run, what can be said of it.
#[component(PointActions)]
pub(super) fn point_actions(props: &PointProps) -> Html {
    let saying = use_state(|| None::<AnnotationKind>);
    let (p, shown) = (&props.point, shown(&props.history));
    let say = |kind: AnnotationKind| {
        let saying = saying.clone();
        move |_: MouseEvent| saying.set(Some(kind))
    };
    let close = {
        let saying = saying.clone();
        Callback::from(move |()| saying.set(None))
    };
    html! {
        <div class="point" data-testid="series-point" data-run={p.run.to_string()}>
            <span><b>{ shown.text(p.median) }</b>{ " " }<span class="soft">{ t!(bench.middle_half, low = shown.figure(p.lower_quartile), high = shown.text(p.upper_quartile)) }{ format!(", n {}", p.n) }</span></span>
            <span class="soft">{ clock::date_time(p.at) }if !p.revision.is_empty() { { " " }<code>{ short(&p.revision) }</code> }</span>
            <span class="cluster">
                <Link<Route> to={Route::BenchRun { id: p.run }} classes="btn">{ t!(bench.open_run) }</Link<Route>>
                if !p.outlier {
                    <button type="button" class="btn" onclick={say(AnnotationKind::Outlier)} data-testid="mark-outlier">{ t!(bench.mark_outlier) }</button>
                }
                <button type="button" class="btn" onclick={say(AnnotationKind::LevelShift)}>{ t!(bench.mark_shift) }</button>
                <button type="button" class="btn" onclick={say(AnnotationKind::Note)}>{ t!(bench.add_note) }</button>
            </span>
            if let Some(kind) = *saying {
                <Say series={props.history.series.id} run={p.run} {kind} on_close={close} on_said={props.on_change.clone()} />
            }
        </div>
    }
}

#[derive(Properties, PartialEq)]
struct SayProps {
    series: i64,
    run: Uuid,
    kind: AnnotationKind,
    on_close: Callback<()>,
    on_said: Callback<()>,
}

/// Asks for the reason.
#[component(Say)]
fn say(props: &SayProps) -> Html {
    let reason = use_state(String::new);
    let busy = use_state(|| false);
    let toast = use_toast();
    let oninput = {
        let reason = reason.clone();
        move |event: InputEvent| reason.set(event.target_unchecked_into::<HtmlInputElement>().value())
    };
    let send = {
        let (busy, reason) = (busy.clone(), reason.clone());
        let (series, run, kind) = (props.series, props.run, props.kind);
        let (close, said) = (props.on_close.clone(), props.on_said.clone());
        move |_: MouseEvent| {
            let body = CreateAnnotation {
                series,
                run: Some(run),
                kind,
                reason: reason.trim().to_owned(),
            };
            let (busy, toast, close, said) = (busy.clone(), toast.clone(), close.clone(), said.clone());
            busy.set(true);
            spawn_local(async move {
                match bench::annotate(&body).await {
                    Ok(_) => {
                        said.emit(());
                        close.emit(());
                    }
                    Err(problem) => {
                        toast.error(problem.detail);
                        busy.set(false);
                    }
                }
            });
        }
    };
    let what = match props.kind {
        AnnotationKind::Outlier => t!(bench.outlier_text),
        AnnotationKind::LevelShift => t!(bench.shift_text),
        AnnotationKind::Note => t!(bench.note_text),
    };
    let footer = html! {
        <>
            <span class="grow" />
            <button type="button" class="btn" onclick={props.on_close.reform(|_: MouseEvent| ())}>{ t!(cancel) }</button>
            <button type="button" class="btn btn-primary" disabled={*busy || reason.trim().is_empty()} onclick={send} data-testid="say-it">{ t!(bench.say_it) }</button>
        </>
    };
    html! {
        <Dialog title={kind_word(props.kind)} subtitle={what} on_close={props.on_close.clone()} {footer} class="narrow">
            <div class="dialog-pad"><div class="field">
                <label for="why">{ t!(bench.reason) }</label>
                <input id="why" class="input" maxlength="400" autocomplete="off" value={(*reason).clone()} {oninput} data-testid="say-reason" />
            </div></div>
        </Dialog>
    }
}

/// Props of [`Notes`].
#[derive(Properties, PartialEq)]
pub(super) struct NotesProps {
    /// Series.
    pub history: Rc<SeriesHistory>,
    /// Something was taken back.
    pub on_change: Callback<()>,
}

/// All that was said; what was withdrawn stays, marked.
#[component(Notes)]
pub(super) fn notes(props: &NotesProps) -> Html {
    let toast = use_toast();
    if props.history.annotations.is_empty() {
        return html! {};
    }
    let withdraw = |id: i64| {
        let (toast, on_change) = (toast.clone(), props.on_change.clone());
        move |_: MouseEvent| {
            let (toast, on_change) = (toast.clone(), on_change.clone());
            spawn_local(async move {
                match bench::withdraw(id).await {
                    Ok(_) => on_change.emit(()),
                    Err(problem) => toast.error(problem.detail),
                }
            });
        }
    };
    let row = |a: &Annotation| {
        let withdrawn = a.withdrawn_at.zip(a.withdrawn_by.clone());
        html! {
            <li key={a.id} class={withdrawn.is_some().then_some("gone")} data-testid="annotation">
                <span class="badge">{ kind_word(a.kind) }</span>
                <span class="t">{ &a.reason }<small>{ t!(bench.said_by, user = a.author, at = clock::date_time(a.created_at)) }
                    if let Some((at, by)) = &withdrawn { { ". " }{ t!(bench.withdrawn_by, user = by, at = clock::date_time(*at)) } }
                </small></span>
                if withdrawn.is_none() {
                    <button type="button" class="btn btn-quiet" onclick={withdraw(a.id)} data-testid="withdraw">{ small_glyph("x") }{ t!(bench.withdraw) }</button>
                }
            </li>
        }
    };
    html! {
        <>
            <h3>{ t!(bench.annotations) }</h3>
            <ul class="notes">{ for props.history.annotations.iter().rev().map(row) }</ul>
        </>
    }
}
