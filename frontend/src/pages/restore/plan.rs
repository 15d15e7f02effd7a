//! The plan: read from the index, nothing fetched; asked again when what it depends on changes.

use fleethold_api_types::{CreateRestore, PlanRequest, RestorePlan, RestoreSource, TargetKind};
use gloo::timers::future::TimeoutFuture;
use yew::prelude::*;

use crate::{
    api,
    model::{format, load::LoadResult},
    t, tn,
    ui::{
        ProblemAlert, glyph,
        hooks::{Loaded, use_load},
    },
};

/// What a plan depends on.
#[derive(Clone, PartialEq)]
pub(super) struct PlanInput {
    source: RestoreSource,
    key: Option<String>,
    key_password: Option<String>,
}

impl PlanInput {
    /// The part of a request that changes its plan.
    pub(super) fn of(request: &CreateRestore) -> Self {
        Self {
            source: request.source.clone(),
            key: request.key.clone(),
            key_password: request.key_password.clone(),
        }
    }
}

/// Typing a password asks once it pauses.
const SETTLE_MS: u32 = 250;

/// The plan for an input; `None` while it waits for the key.
#[hook]
pub(super) fn use_plan(input: PlanInput, waits_for_key: bool) -> Loaded<Option<RestorePlan>> {
    use_load((input, waits_for_key), |(input, waits)| async move {
        if waits {
            return Ok(None);
        }
        TimeoutFuture::new(SETTLE_MS).await;
        let request = PlanRequest {
            source: input.source,
            key: input.key,
            key_password: input.key_password,
        };
        api::plan(&request).await.map(Some)
    })
}

/// Props of [`Plan`].
#[derive(Properties, PartialEq)]
pub(super) struct PlanProps {
    /// What is known of it.
    pub plan: LoadResult<Option<RestorePlan>>,
    /// Asks again.
    pub on_retry: Callback<()>,
    /// Encrypted and no key yet.
    pub waits_for_key: bool,
    /// Where it goes: nothing is written to nowhere.
    pub kind: TargetKind,
}

/// The panel.
#[component(Plan)]
pub(super) fn plan(props: &PlanProps) -> Html {
    let plan = &props.plan;
    let known = plan
        .value()
        .and_then(|p| p.as_ref().as_ref())
        .filter(|_| !props.waits_for_key);
    html! {
        <section class="plan" aria-labelledby="plan-h" aria-live="polite" aria-busy={plan.loading.to_string()} data-testid="restore-plan">
            <h3 id="plan-h">
                { t!(plan) }
                <small>
                    { match known {
                        Some(plan) => t!(plan_took, time = format::duration_ns(plan.plan_ns)),
                        None if props.waits_for_key => t!(plan_waits_for_key).to_owned(),
                        None if plan.loading => t!(plan_reading).to_owned(),
                        None => String::new(),
                    } }
                </small>
            </h3>
            if let Some(problem) = plan.error.clone().filter(|_| !props.waits_for_key) {
                <div class="pad">{ yew::props!(ProblemAlert { title: t!(plan_failed), problem, on_retry: props.on_retry.clone() }).view() }</div>
            } else if let Some(plan) = known {
                { figures(plan, props.kind) }
            }
        </section>
    }
}

fn figures(plan: &RestorePlan, kind: TargetKind) -> Html {
    let zeros = format::integer(plan.chunks_zero);
    let (write_word, zeros) = match kind {
        TargetKind::Null => (t!(plan_check), t!(key_zero_check, n = zeros)),
        TargetKind::File | TargetKind::Device => (t!(plan_write), t!(key_zero, n = zeros)),
    };
    let write = plan.bytes_total.saturating_sub(plan.zero_bytes);
    let figure =
        |word: &'static str, n: u64| html! { <div><dt>{ word }</dt><dd>{ format::bytes(n) }</dd></div> };
    html! {
        <>
            <dl class="plan-figs">
                { figure(t!(plan_image), plan.bytes_total) }
                { figure(t!(plan_fetch), plan.fetch_bytes) }
                { figure(write_word, write) }
                { figure(t!(plan_zero), plan.zero_bytes) }
            </dl>
            <div class="pad">
                { strip(plan) }
                <div class="key">
                    <span><svg class="swatch" aria-hidden="true"><rect width="10" height="10" fill="var(--c1)" /></svg>{ tn!(plan.chunks_distinct, key_fetch_one, key_fetch) }</span>
                    <span><svg class="swatch" aria-hidden="true"><rect width="10" height="10" fill="var(--h3)" /></svg>{ t!(key_reuse, n = format::integer(plan.chunks_duplicate)) }</span>
                    <span><svg class="swatch" aria-hidden="true"><rect width="10" height="10" fill="var(--rule)" /></svg>{ zeros }</span>
                </div>
                if kind != TargetKind::Null {
                    <p class="note">{ t!(plan_note) }</p>
                }
                if plan.key_fits == Some(true) {
                    <span class="state" data-state="ok">{ glyph("ok") }{ t!(key_fits) }</span>
                }
                if plan.key_fits == Some(false) {
                    <span class="state" data-state="error">{ glyph("error") }{ t!(key_does_not_fit) }</span>
                }
            </div>
        </>
    }
}

/// The image from start to end: each part divided in what is fetched, reused and zero.
fn strip(plan: &RestorePlan) -> Html {
    let width = 100.0 / plan.strip.len().max(1) as f64;
    let parts = plan.strip.iter().enumerate().flat_map(|(i, part)| {
        let mut x = i as f64 * width;
        [("fetch", part.fetch), ("dup", part.reuse), ("zero", part.zero)].into_iter().filter_map(move |(class, share)| {
            let w = width * f64::from(share) / 1000.0;
            let from = x;
            x += w;
            (w > 0.0).then(|| html! { <rect {class} x={format!("{from:.3}%")} width={format!("{w:.3}%")} height="100%" /> })
        })
    });
    html! {
        <svg class="plan-strip" role="img" aria-label={t!(strip_label)}>{ for parts }</svg>
    }
}
