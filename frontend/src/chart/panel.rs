//! A chart with everything around it: canvas, crosshair, legend, ranges, table.

use std::rc::Rc;

use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;

use super::{
    draw::{self, View},
    redraw::use_redraw,
    table::{Legend, SampleTable, dash, figure},
};
use crate::{
    model::{series::Series, ticks, track::GAP_S},
    t,
    ui::glyph,
};

/// One series of a chart; values in MiB/s.
#[derive(Clone, PartialEq)]
pub struct Line {
    /// Name.
    pub name: AttrValue,
    /// Samples.
    pub series: Rc<Series>,
    /// Place in the table of colours and dashes.
    pub style: usize,
    /// The area below it is tinted.
    pub filled: bool,
    /// Drawn.
    pub visible: bool,
    /// Longest silence, in seconds, that does not break the line.
    pub gap_s: f64,
}

impl Line {
    /// A visible line.
    pub fn new(name: impl Into<AttrValue>, series: Rc<Series>, style: usize) -> Self {
        Self {
            name: name.into(),
            series,
            style,
            filled: false,
            visible: true,
            gap_s: GAP_S,
        }
    }
}

/// Props of [`Chart`].
#[derive(Properties, PartialEq)]
pub struct ChartProps {
    /// Series; the first is the most important.
    pub lines: Vec<Line>,
    /// What is shown, for screen readers and above the table.
    pub label: AttrValue,
    /// Heading and size: `tall`, `mid` or `low` of the sheet.
    #[prop_or("tall")]
    pub size: &'static str,
    /// With heading, ranges, table and legend.
    #[prop_or(true)]
    pub full: bool,
    /// Heading.
    #[prop_or_default]
    pub title: Option<AttrValue>,
    /// Level of the heading.
    #[prop_or("h3")]
    pub heading: &'static str,
    /// For tests.
    #[prop_or_default]
    pub testid: Option<&'static str>,
}

/// Ranges to choose from, in seconds; `None` is all.
const RANGES: [Option<f64>; 3] = [Some(60.0), Some(600.0), None];

/// The chart.
#[component(Chart)]
pub fn chart(props: &ChartProps) -> Html {
    let canvas = use_node_ref();
    let range = use_state(|| None::<f64>);
    let hidden = use_state(Vec::<usize>::new);
    let as_table = use_state(|| false);
    let cross = use_state(|| None::<f64>);
    // while someone points at the chart it stands still, so that what is read stays where it is
    let frozen = use_mut_ref(|| None::<Vec<Line>>);
    let resized = use_state(|| 0u32);
    let steps = if props.size == "low" { 2 } else { 6 };
    let mut lines = match (&*cross, frozen.borrow().as_ref()) {
        (Some(_), Some(kept)) => kept.clone(),
        _ => props.lines.clone(),
    };
    for (i, line) in lines.iter_mut().enumerate() {
        line.visible = !hidden.contains(&i);
    }
    *frozen.borrow_mut() = cross.is_some().then(|| lines.clone());
    let view = View::of(&lines, *range, steps);
    use_redraw(&canvas, resized.setter());
    {
        let canvas = canvas.clone();
        use_effect_with(
            (lines.clone(), view, *resized, *as_table),
            move |(lines, view, ..)| {
                if let Some(canvas) = canvas.cast::<HtmlCanvasElement>() {
                    draw::draw(&canvas, lines, *view, steps);
                }
            },
        );
    }
    let ranges = {
        let choose = |to: Option<f64>| {
            let range = range.clone();
            move |_: MouseEvent| range.set(to)
        };
        html! {
            <div class="seg" role="group" aria-label={t!(range)}>
                { for RANGES.into_iter().map(|r| html! {
                    <button type="button" aria-pressed={(*range == r).to_string()} onclick={choose(r)}>
                        { match r { Some(s) if s < 100.0 => t!(range_1), Some(_) => t!(range_10), None => t!(range_all) } }
                    </button>
                }) }
            </div>
        }
    };
    let toggle_table = {
        let as_table = as_table.clone();
        move |_: MouseEvent| as_table.set(!*as_table)
    };
    let on_toggle = {
        let hidden = hidden.clone();
        Callback::from(move |i: usize| {
            let mut next = (*hidden).clone();
            if let Some(at) = next.iter().position(|h| *h == i) {
                next.remove(at);
            } else {
                next.push(i);
            }
            hidden.set(next);
        })
    };
    html! {
        <div class="chart-panel" data-testid={props.testid}>
            if props.full {
                <div class="split">
                    <@{props.heading}>{ props.title.clone().unwrap_or(AttrValue::Static(t!(throughput))) }</@>
                    <div class="cluster">
                        if cross.is_some() {
                            <span class="note only-wide">{ t!(paused_while_pointing) }</span>
                        }
                        { ranges }
                        <button type="button" class="btn btn-icon" aria-label={t!(show_as_table)} title={t!(show_as_table)} aria-pressed={as_table.to_string()} onclick={toggle_table}>{ glyph("table") }</button>
                    </div>
                </div>
            }
            if *as_table {
                <SampleTable lines={lines.clone()} {view} caption={props.label.clone()} />
            } else {
                <div class="chart-box">
                    <Plot canvas={canvas.clone()} lines={lines.clone()} {view} cross={cross.clone()} size={props.size} label={props.label.clone()} />
                </div>
            }
            if props.full {
                <Legend {lines} {view} caption={props.label.clone()} {on_toggle} />
            }
        </div>
    }
}

#[derive(Properties, PartialEq)]
struct PlotProps {
    canvas: NodeRef,
    lines: Vec<Line>,
    view: View,
    cross: UseStateHandle<Option<f64>>,
    size: &'static str,
    label: AttrValue,
}

/// Canvas and crosshair. The crosshair is an overlay: moving it draws no series.
#[component(Plot)]
fn plot(props: &PlotProps) -> Html {
    let view = props.view;
    let span = (view.to_s - view.from_s).max(1e-9);
    let onpointermove = {
        let cross = props.cross.clone();
        move |event: PointerEvent| {
            let rect = event
                .target_unchecked_into::<Element>()
                .get_bounding_client_rect();
            if rect.width() > 0.0 {
                let share = (f64::from(event.client_x()) - rect.left()) / rect.width();
                cross.set(Some(view.from_s + share.clamp(0.0, 1.0) * span));
            }
        }
    };
    let onpointerleave = {
        let cross = props.cross.clone();
        move |_: PointerEvent| cross.set(None)
    };
    let onkeydown = {
        let (cross, lines) = (props.cross.clone(), props.lines.clone());
        move |event: KeyboardEvent| {
            let Some(series) = lines.first().map(|l| &l.series) else {
                return;
            };
            let here = cross.unwrap_or(view.to_s);
            let step = span / 60.0;
            match event.key().as_str() {
                "ArrowLeft" => cross.set(series.nearest((here - step).max(view.from_s)).map(|s| s.t)),
                "ArrowRight" => cross.set(series.nearest((here + step).min(view.to_s)).map(|s| s.t)),
                "Escape" => cross.set(None),
                _ => return,
            }
            event.prevent_default();
        }
    };
    let marks: Vec<_> = props
        .cross
        .map(|t| {
            props
                .lines
                .iter()
                .filter(|l| l.visible)
                .filter_map(|l| Some((l, l.series.nearest(t)?)))
                .collect()
        })
        .unwrap_or_default();
    let at = marks.first().map(|(_, s)| s.t);
    let x = at.map(|t| format!("{:.2}%", ((t - view.from_s) / span * 100.0).clamp(0.0, 100.0)));
    html! {
        <div class={classes!("chart", "chart-canvas", props.size)} role="group" tabindex="0" aria-label={props.label.clone()} {onkeydown}>
            <canvas ref={props.canvas.clone()} role="img" aria-label={props.label.clone()} />
            <svg class="overlay" aria-hidden="true" {onpointermove} {onpointerleave}>
                <rect width="100%" height="100%" fill="transparent" pointer-events="all" />
                if let Some(x) = &x {
                    <line class="cross" x1={x.clone()} x2={x.clone()} y1="0" y2="100%" />
                    { for marks.iter().map(|(line, s)| {
                        let y = format!("{:.2}%", 100.0 - (s.v / view.top * 100.0).clamp(0.0, 100.0));
                        let class = match line.style % 4 { 0 => "mk mk3", 1 => "mk mk1", 2 => "mk mk2", _ => "mk mk4" };
                        html! { <circle {class} cx={x.clone()} cy={y} r="4" /> }
                    }) }
                }
            </svg>
            if let Some(t) = at {
                <div class="tip tip-a" role="status">
                    <time>{ ticks::elapsed(t) }</time>
                    <dl>
                        { for marks.iter().map(|(line, s)| html! {
                            <div><dt>{ line.name.clone() }</dt>{ dash(line.style) }<dd>{ figure(s.v) }</dd></div>
                        }) }
                    </dl>
                </div>
            }
        </div>
    }
}
