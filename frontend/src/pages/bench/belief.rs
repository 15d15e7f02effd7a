//! The verdict in a sentence, and why it can be believed.

use std::rc::Rc;

use fleethold_api_types::bench::{BenchRunDetail, Comparison, FloorState, Side, Tally};
use yew::prelude::*;

use crate::{
    chart::sign,
    model::{
        bench::{matrix, samples::side_word, verdict},
        figure::Ink,
        format,
        unit::bound,
    },
    t, tn,
    ui::glyph,
};

/// What is shown; drawn by [`VerdictPanel::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct VerdictPanel {
    /// Comparison.
    pub comparison: Rc<Comparison>,
    /// The run, when both sides are of one.
    pub run: Option<Rc<BenchRunDetail>>,
    /// Metric that is looked at.
    pub metric: String,
}

impl VerdictPanel {
    /// The panel on top.
    pub(super) fn view(&self) -> Html {
        let c = &self.comparison;
        let others = c.metrics.iter().filter(|m| m.judged && m.name != self.metric);
        let side = |side: Side, label: &str| {
            let ink = if side == Side::Before {
                Ink::Before
            } else {
                Ink::After
            };
            // a commit is set as code, a description as text
            let label = if label.contains(' ') || label.is_empty() {
                html! { { label } }
            } else {
                html! { <code>{ label }</code> }
            };
            html! { <>{ sign(ink) }<span><b>{ side_word(side) }</b>{ " " }{ label }</span></> }
        };
        html! {
            <section class="panel verdict-line" aria-label={t!(bench.verdict)} data-testid="verdict">
                <div>
                    <p class="big" data-testid="verdict-sentence">{ said(c, &self.metric) }</p>
                    { for others.map(|m| html! { <p class="soft also"><b>{ &m.name }</b>{ ": " }{ said(c, &m.name) }</p> }) }
                    <div class="ab">
                        { side(Side::Before, &c.before.label) }
                        { side(Side::After, &c.after.label) }
                    </div>
                    if c.quick {
                        <p class="badges"><span class="badge" data-state="warning">{ glyph("bolt") }{ t!(bench.quick_verdict) }</span></p>
                    }
                </div>
                <div>
                    <h2 class="belief">{ t!(bench.belief) }</h2>
                    <dl class="facts left">{ for facts_of(self).into_iter().map(|(word, text)| html! { <><dt>{ word }</dt><dd>{ text }</dd></> }) }</dl>
                </div>
            </section>
        }
    }
}

/// The server's sentence, in the language of every export; or why there is none.
fn said(c: &Comparison, metric: &str) -> Html {
    match verdict::findings(c, metric) {
        Some(found) => html! { <span lang="en">{ &found.sentence }</span> },
        None => html! { { verdict::unjudged(c) } },
    }
}

/// Runs, threshold, control, machine, data.
fn facts_of(props: &VerdictPanel) -> Vec<(&'static str, Html)> {
    let c = &props.comparison;
    let mut facts = Vec::new();
    facts.push((t!(bench.runs), html! { { runs_text(props) } }));
    let thresholds: Vec<f64> = c
        .rows
        .iter()
        .filter_map(|r| matrix::cell(r, &props.metric))
        .map(|cell| cell.threshold_ratio)
        .collect();
    let (low, high) = thresholds
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(l, h), t| (l.min(*t), h.max(*t)));
    if high > 0.0 {
        let text = if high - low < 0.0005 {
            t!(bench.threshold_one, x = bound(high))
        } else {
            t!(bench.threshold_range, low = bound(low), high = bound(high))
        };
        facts.push((t!(bench.threshold), html! { { text } }));
    }
    facts.push((
        t!(bench.significance),
        html! { { tn!(u64::from(c.judged_cells), bench.holm_one, bench.holm, alpha = bound(c.alpha)) } },
    ));
    let control = verdict::findings(c, &props.metric).map_or_else(Tally::default, |f| f.control);
    let text = match control.faster + control.slower + control.equal + control.inconclusive {
        0 => t!(bench.no_control).to_owned(),
        all => t!(
            bench.control_says,
            faster = control.faster,
            slower = control.slower,
            all = all
        ),
    };
    facts.push((t!(bench.control), html! { { text } }));
    facts.push((t!(machine), html! { { machine_text(props) } }));
    if let Some(run) = &props.run
        && !run.floors.is_empty()
    {
        let count = |state: FloorState| run.floors.iter().filter(|f| f.state == state).count();
        facts.push((
            t!(bench.floors),
            html! { <a href="#floors-h">{ t!(bench.floors_say, met = count(FloorState::Met), missed = count(FloorState::Missed), rest = count(FloorState::Skipped) + count(FloorState::NotMeasured)) }</a> },
        ));
    }
    let cache = props.run.as_ref().map(|r| {
        if r.run.cold {
            t!(bench.cold_cache)
        } else {
            t!(bench.warm_cache)
        }
    });
    let data = html! {
        <>
            if c.data_sha256.is_empty() { { t!(bench.data_unknown) } } else { <code title={c.data_sha256.clone()}>{ c.data_sha256.get(..12).unwrap_or(&c.data_sha256).to_owned() }</code> }
            if let Some(cache) = cache { { ", " }{ cache } }
        </>
    };
    facts.push((t!(bench.data), data));
    facts
}

fn runs_text(props: &VerdictPanel) -> String {
    let sides = props
        .comparison
        .rows
        .iter()
        .filter_map(|r| matrix::cell(r, &props.metric))
        .map(|c| (c.before.map_or(0, |s| s.runs), c.after.map_or(0, |s| s.runs)));
    let least = sides.clone().min().unwrap_or((0, 0));
    let most = sides.max().unwrap_or((0, 0));
    let count = |(b, a): (u64, u64)| format!("{} + {}", format::integer(b), format::integer(a));
    let sizes = if least == most {
        count(most)
    } else {
        format!("{} … {}", count(least), count(most))
    };
    match &props.run {
        Some(run) if run.run.source == "run" => t!(bench.interleaved, sizes = sizes, seed = run.run.seed),
        _ => t!(bench.a_cell, sizes = sizes),
    }
}

fn machine_text(props: &VerdictPanel) -> String {
    let c = &props.comparison;
    let class = match (c.across_machines, c.after.machine_class.is_empty()) {
        (true, _) => t!(
            bench.across,
            before = c.before.machine_class,
            after = c.after.machine_class
        ),
        (false, true) => t!(bench.machine_unknown).to_owned(),
        (false, false) => t!(bench.same_class, class = c.after.machine_class),
    };
    let Some(load) = props.run.as_ref().and_then(|r| r.load) else {
        return class;
    };
    let others = load.others.map(|l| t!(bench.load, share = format::percent(l)));
    let guard = if load.quiet {
        t!(bench.guard_passed)
    } else {
        t!(bench.guard_objected)
    };
    [Some(class), others, Some(guard.to_owned())]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}
