//! The matrix: a row for each value of the knob, a column for each scenario, the verdict of one metric in each cell.

use std::rc::Rc;

use fleethold_api_types::bench::{Comparison, JudgedCell, Metric, Verdict};
use yew::prelude::*;

use crate::{
    model::{
        bench::{
            forest::Forest,
            matrix::{RowHead, Selection, cell, metric, row, rows},
            samples::shown,
            verdict,
        },
        unit::{bound, change, value},
    },
    t, tn,
    ui::glyph,
};

/// What is shown; drawn by [`Sweep::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct Sweep {
    /// Comparison.
    pub comparison: Rc<Comparison>,
    /// What is looked at.
    pub selection: Selection,
    /// Looks at something else.
    pub on_select: Callback<Selection>,
}

impl Sweep {
    /// The panel.
    pub(super) fn view(&self) -> Html {
        let (c, selection) = (&self.comparison, &self.selection);
        let Some(metric) = metric(c, &selection.metric) else {
            return html! {};
        };
        let forest = Forest::of(c, &metric.name);
        let scenarios: Vec<_> = c
            .scenarios
            .iter()
            .filter(|s| c.rows.iter().any(|r| r.scenario == s.name))
            .collect();
        let choose = |name: &str| {
            let next = Selection {
                metric: name.to_owned(),
                ..selection.clone()
            };
            self.on_select.reform(move |_: MouseEvent| next.clone())
        };
        let threshold = selection.cell(c).map(|cell| cell.threshold_ratio);
        let confidence = selection
            .cell(c)
            .and_then(|cell| cell.ratio)
            .map_or(0.95, |r| r.confidence);
        html! {
            <section class="panel" aria-labelledby="mx-h" data-testid="sweep">
                <div class="panel-head">
                    <h2 id="mx-h">{ t!(bench.sweep) }<small>{ t!(bench.sweep_note, metric = metric.name, confidence = bound(confidence)) }</small></h2>
                    if let Some(x) = threshold {
                        <div class="key"><span><svg class="swatch" aria-hidden="true"><rect class="thr-key" width="10" height="10" /></svg>{ t!(bench.threshold) }{ " ±" }{ bound(x) }</span></div>
                    }
                    <div class="seg metrics" role="group" aria-label={t!(bench.metric)}>
                        { for c.metrics.iter().map(|m| html! {
                            <button type="button" aria-pressed={(m.name == metric.name).to_string()} onclick={choose(&m.name)} data-testid={format!("metric-{}", m.name)}>{ &m.name }</button>
                        }) }
                    </div>
                </div>
                <div class="scroll-x" tabindex="0" role="region" aria-label={t!(bench.sweep)}>
                    <table class={classes!("matrix", (scenarios.len() < 3).then_some("few"))}>
                        <caption class="vh">{ t!(bench.sweep_caption, knob = c.knob) }</caption>
                        <thead><tr>
                            <th scope="col" class="knob">{ &c.knob }</th>
                            { for scenarios.iter().map(|s| html! { <th scope="col">{ &s.name }<small>{ &s.legend }</small></th> }) }
                        </tr></thead>
                        <tbody>
                            { for rows(c).into_iter().map(|head| html! {
                                <tr class={head.control.then_some("ctrl")} key={format!("{}{}", head.control, head.value)}>
                                    { row_head(&head) }
                                    { for scenarios.iter().map(|s| {
                                        let found = row(c, &head, &s.name).and_then(|r| cell(r, &metric.name));
                                        let next = Selection { metric: metric.name.clone(), head: head.clone(), scenario: s.name.clone() };
                                        let pressed = next.scenario == selection.scenario && next.head.control == selection.head.control
                                            && (next.head.control || next.head.value == selection.head.value);
                                        match found {
                                            Some(found) => html! { <td>{ cell_button(found, metric, forest, pressed, &s.name, &head, self.on_select.reform(move |_: MouseEvent| next.clone())) }</td> },
                                            None => html! { <td class="none"><span class="faint">{ t!(bench.not_measured) }</span></td> },
                                        }
                                    }) }
                                </tr>
                            }) }
                        </tbody>
                    </table>
                </div>
            </section>
        }
    }
}

fn row_head(head: &RowHead) -> Html {
    if head.control {
        html! { <th scope="row">{ t!(bench.control) }<small>{ t!(bench.control_note, value = head.value) }</small></th> }
    } else {
        html! { <th scope="row">{ &head.value }</th> }
    }
}

/// What stands below the interval: both medians, and what has to be known of them.
fn medians(cell: &JudgedCell, metric: &Metric) -> String {
    let text = match (cell.before, cell.after) {
        (Some(b), Some(a))
            if b.median > 0.0 && (a.median / b.median > 100.0 || a.median / b.median < 0.01) =>
        {
            t!(
                bench.from_to,
                from = value(&metric.unit, b.median),
                to = value(&metric.unit, a.median)
            )
        }
        (Some(b), Some(a)) => {
            let (from, to) = shown(cell, metric).pair(b.median, a.median);
            t!(bench.from_to, from = from, to = to)
        }
        (Some(one), None) => t!(bench.before_only, value = value(&metric.unit, one.median)),
        (None, Some(one)) => t!(bench.after_only, value = value(&metric.unit, one.median)),
        (None, None) => return t!(bench.not_measured).to_owned(),
    };
    let peaks = [cell.before, cell.after]
        .into_iter()
        .flatten()
        .any(|s| s.two_peaks.is_some());
    let more = match cell.verdict {
        Some(Verdict::Inconclusive { more_runs }) if more_runs > 0 => {
            Some(tn!(u64::from(more_runs), bench.more_runs_one, bench.more_runs))
        }
        _ => None,
    };
    [Some(text), more, peaks.then(|| t!(bench.two_peaks).to_owned())]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

fn cell_button(
    cell: &JudgedCell,
    metric: &Metric,
    forest: Forest,
    pressed: bool,
    scenario: &str,
    head: &RowHead,
    onclick: Callback<MouseEvent>,
) -> Html {
    let look = cell.verdict.map(verdict::look);
    let key = look.as_ref().map_or("none", |(key, _)| *key);
    let percent = |at: f64| format!("{at:.2}%");
    let forest = forest.place(cell).map(|p| {
        html! {
            <svg class="forest" aria-hidden="true">
                <rect class="thr" x={percent(p.band.0)} width={percent(p.band.1)} height="12" />
                <line class="zero" x1={percent(p.zero)} x2={percent(p.zero)} y1="0" y2="12" />
                <line class="ci" x1={percent(p.interval.0)} x2={percent(p.interval.1)} y1="6" y2="6" />
                <circle class="pt" cx={percent(p.point)} cy="6" r="3.5" />
            </svg>
        }
    });
    let testid = format!(
        "cell-{scenario}-{}",
        if head.control { "control" } else { &head.value }
    );
    html! {
        <button type="button" class="mx" data-v={key} aria-pressed={pressed.to_string()} {onclick} data-testid={testid}>
            { match look {
                Some((key, word)) => html! { <span class="verdict" data-v={key}>{ glyph(key) }{ word }</span> },
                None => html! { <span class="verdict">{ t!(bench.not_judged) }</span> },
            } }
            <span class="chg">{ cell.ratio.map_or_else(|| "–".to_owned(), |r| change(r.estimate)) }</span>
            { forest.unwrap_or_default() }
            <span class="ms">{ medians(cell, metric) }</span>
        </button>
    }
}
