//! Starts a run: how much, how cold, and why.

use std::rc::Rc;

use fleethold_api_types::bench::{CreateBenchRun, Workload};
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api::bench,
    app::use_app,
    model::{command::shell_quote, load::Problem},
    route::Route,
    t,
    ui::{CopyButton, Dialog, ProblemAlert, small_glyph},
};

/// Props of [`RunDialog`].
#[derive(Properties, PartialEq)]
pub(super) struct RunDialogProps {
    /// What is measured.
    pub workload: Rc<Workload>,
    /// Closes it.
    pub on_close: Callback<()>,
    /// What a run before this one was asked for with.
    #[prop_or_default]
    pub like: Option<CreateBenchRun>,
}

/// Samples a side that a run may have.
const SAMPLES: std::ops::RangeInclusive<u16> = 1..=1000;

/// The same as a command line.
fn command(request: &CreateBenchRun) -> String {
    let mut text = format!("fleethold bench run {}", shell_quote(&request.workload));
    if request.quick {
        text.push_str(" --quick");
    }
    if let Some(n) = request.samples {
        text.push_str(&format!(" --samples {n}"));
    }
    if let Some(seed) = request.seed {
        text.push_str(&format!(" --seed {seed}"));
    }
    if request.cold {
        text.push_str(" --cold");
    }
    if request.flamegraph {
        text.push_str(" --flamegraph");
    }
    if !request.reason.is_empty() {
        text.push_str(&format!(" --reason {}", shell_quote(&request.reason)));
    }
    text
}

/// A number of samples as typed; nothing typed is a good answer, too.
fn samples(text: &str) -> Result<Option<u16>, ()> {
    match text.trim() {
        "" => Ok(None),
        text => text
            .parse()
            .ok()
            .filter(|n| SAMPLES.contains(n))
            .map(Some)
            .ok_or(()),
    }
}

/// The dialog.
#[component(RunDialog)]
pub(super) fn run_dialog(props: &RunDialogProps) -> Html {
    let app = use_app();
    let navigator = use_navigator();
    let request = use_state(|| {
        props.like.clone().unwrap_or_else(|| CreateBenchRun {
            workload: props.workload.name.clone(),
            quick: true,
            ..CreateBenchRun::default()
        })
    });
    let typed = use_state(|| request.samples.map(|n| n.to_string()).unwrap_or_default());
    let busy = use_state(|| false);
    let failed = use_state(|| None::<Rc<Problem>>);
    let asked = samples(&typed);
    let body = CreateBenchRun {
        samples: asked.ok().flatten(),
        ..(*request).clone()
    };
    let set = |change: fn(&mut CreateBenchRun, &HtmlInputElement)| {
        let request = request.clone();
        move |event: Event| {
            let mut next = (*request).clone();
            change(&mut next, &event.target_unchecked_into::<HtmlInputElement>());
            request.set(next);
        }
    };
    let on_reason = {
        let request = request.clone();
        move |event: InputEvent| {
            request.set(CreateBenchRun {
                reason: event.target_unchecked_into::<HtmlInputElement>().value(),
                ..(*request).clone()
            });
        }
    };
    let on_samples = {
        let typed = typed.clone();
        move |event: InputEvent| typed.set(event.target_unchecked_into::<HtmlInputElement>().value())
    };
    let start = {
        let (busy, failed, body, close) =
            (busy.clone(), failed.clone(), body.clone(), props.on_close.clone());
        move |_: MouseEvent| {
            let (busy, failed, body, close) = (busy.clone(), failed.clone(), body.clone(), close.clone());
            let (live, navigator) = (app.live.clone(), navigator.clone());
            busy.set(true);
            spawn_local(async move {
                match bench::start_bench(&body).await {
                    Ok(run) => {
                        let id = run.id;
                        live.put_bench(run);
                        close.emit(());
                        if let Some(navigator) = navigator {
                            navigator.push(&Route::BenchRun { id });
                        }
                    }
                    Err(problem) => {
                        failed.set(Some(Rc::new(problem)));
                        busy.set(false);
                    }
                }
            });
        }
    };
    let check = |id: &'static str,
                 on: bool,
                 word: &'static str,
                 note: &'static str,
                 onchange: Callback<Event>| {
        html! {
            <label class="check"><input type="checkbox" {id} checked={on} {onchange} data-testid={id} /><span>{ word }<small>{ note }</small></span></label>
        }
    };
    let text = command(&body);
    let w = &props.workload;
    let footer = html! {
        <>
            <span class="grow note">{ t!(bench.one_at_a_time) }</span>
            <button type="button" class="btn" onclick={props.on_close.reform(|_: MouseEvent| ())}>{ t!(cancel) }</button>
            <button type="button" class="btn btn-primary" disabled={*busy || asked.is_err()} onclick={start} data-testid="bench-start">{ small_glyph("play") }{ t!(bench.run) }</button>
        </>
    };
    html! {
        <Dialog title={t!(bench.run_named, name = w.name)} subtitle={w.title.clone()} on_close={props.on_close.clone()} {footer} class="narrow" testid="bench-dialog">
            <div class="dialog-pad">
                if let Some(problem) = (*failed).clone() {
                    { yew::props!(ProblemAlert { title: t!(bench.not_started), problem }).view() }
                }
                { check("bench-quick", body.quick, t!(bench.quick), t!(bench.quick_note), set(|r, i| r.quick = i.checked()).into()) }
                { check("bench-cold", body.cold, t!(bench.cold_run), t!(bench.cold_note), set(|r, i| r.cold = i.checked()).into()) }
                { check("bench-flame", body.flamegraph, t!(bench.flame_graph), t!(bench.flame_note), set(|r, i| r.flamegraph = i.checked()).into()) }
                <div class="field" data-invalid={asked.is_err().then_some("")}>
                    <label for="bench-samples">{ t!(bench.samples_a_side) }</label>
                    <input id="bench-samples" class="input" inputmode="numeric" autocomplete="off" placeholder={t!(bench.samples_default)} value={(*typed).clone()} oninput={on_samples} aria-describedby="bench-samples-n" data-testid="bench-samples" />
                    <small id="bench-samples-n">{ if asked.is_err() { t!(bench.samples_bad) } else { t!(bench.samples_note) } }</small>
                </div>
                <div class="field">
                    <label for="bench-reason">{ t!(bench.reason) }</label>
                    <input id="bench-reason" class="input" maxlength="400" autocomplete="off" placeholder={t!(bench.reason_hint)} value={body.reason.clone()} oninput={on_reason} data-testid="bench-reason" />
                </div>
                <div class="field">
                    <span class="label">{ t!(equivalent) }</span>
                    <pre class="well wrap" tabindex="0">{ text.clone() }</pre>
                    <div class="cluster"><CopyButton {text} /></div>
                </div>
            </div>
        </Dialog>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_says_what_was_chosen() {
        let request = CreateBenchRun {
            workload: "restore".into(),
            quick: true,
            samples: Some(8),
            seed: Some(7),
            cold: true,
            flamegraph: true,
            reason: "it's slow".into(),
        };
        assert_eq!(
            command(&request),
            "fleethold bench run restore --quick --samples 8 --seed 7 --cold --flamegraph --reason 'it'\\''s slow'"
        );
    }

    #[test]
    fn samples_are_within_bounds_or_left_to_the_server() {
        assert_eq!(samples(" "), Ok(None));
        assert_eq!(samples("1000"), Ok(Some(1000)));
        assert!(samples("0").is_err() && samples("1001").is_err() && samples("x").is_err());
    }
}
