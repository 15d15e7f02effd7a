//! A figure with everything around it: canvas, crosshair, legend with toggles, scale, table and files.

use std::rc::Rc;

use plotters::prelude::*;
use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;

use super::{backend::CanvasBackend, colours::Colours, paint::Pen, redraw::use_redraw, save};
use crate::{
    model::figure::{Cell, Figure, Ink},
    t,
    ui::{Menu, glyph, toast::use_toast},
};

/// Props of [`FigurePanel`].
#[derive(Properties, PartialEq)]
pub struct FigureProps {
    /// What is drawn.
    pub figure: Rc<Figure>,
    /// Size of the sheet: `tall`, `mid` or `low`.
    #[prop_or("tall")]
    pub size: &'static str,
    /// The value axis is logarithmic, and what changes that; absent: there is no choice.
    #[prop_or_default]
    pub log: Option<(bool, Callback<bool>)>,
    /// More controls beside the chart's own.
    #[prop_or_default]
    pub controls: Html,
    /// Named by the figure's layers: shows the legend.
    #[prop_or(true)]
    pub legend: bool,
    /// The crosshair stands at a stop, or nowhere.
    #[prop_or_default]
    pub on_stop: Option<Callback<Option<usize>>>,
    /// For tests.
    #[prop_or_default]
    pub testid: Option<&'static str>,
}

/// The chart.
#[component(FigurePanel)]
pub fn figure_panel(props: &FigureProps) -> Html {
    let canvas = use_node_ref();
    let hidden = use_state(Vec::<usize>::new);
    let as_table = use_state(|| false);
    let cross = use_state(|| None::<usize>);
    let resized = use_state(|| 0u32);
    let toast = use_toast();
    let figure = props.figure.clone();
    use_redraw(&canvas, resized.setter());
    {
        let canvas = canvas.clone();
        use_effect_with(
            (figure.clone(), (*hidden).clone(), *resized, *as_table),
            move |(figure, hidden, ..)| {
                if let Some(canvas) = canvas.cast::<HtmlCanvasElement>() {
                    draw(&canvas, figure, hidden);
                }
            },
        );
    }
    let set_cross = {
        let (cross, on_stop) = (cross.clone(), props.on_stop.clone());
        Callback::from(move |stop: Option<usize>| {
            if *cross != stop {
                cross.set(stop);
                if let Some(told) = &on_stop {
                    told.emit(stop);
                }
            }
        })
    };
    let toggle_table = {
        let as_table = as_table.clone();
        move |_: MouseEvent| as_table.set(!*as_table)
    };
    let files = {
        let name = figure.label.clone();
        let of = |what: fn(&str, &Figure, &[usize], &NodeRef, &crate::ui::toast::ToastHandle)| {
            let (name, figure, hidden, canvas, toast) = (
                name.clone(),
                figure.clone(),
                (*hidden).clone(),
                canvas.clone(),
                toast.clone(),
            );
            move |_: MouseEvent| what(&name, &figure, &hidden, &canvas, &toast)
        };
        let png = of(|name, _, _, canvas, toast| save::png(name, canvas, toast));
        let svg = of(save::svg);
        let csv = of(|name, figure, _, _, toast| save::csv(name, figure, toast));
        html! {
            <Menu icon="save" label={t!(bench.save_chart)} short=true>
                <button type="button" onclick={png} disabled={*as_table}>{ "PNG" }</button>
                <button type="button" onclick={svg} disabled={*as_table}>{ "SVG" }</button>
                <button type="button" onclick={csv}>{ "CSV" }</button>
            </Menu>
        }
    };
    let log = props.log.as_ref().map(|(on, change)| {
        let (on, change) = (*on, change.clone());
        html! {
            <button type="button" class="btn btn-quiet" aria-pressed={on.to_string()} onclick={move |_: MouseEvent| change.emit(!on)} data-testid="log-scale">{ t!(bench.log_scale) }</button>
        }
    });
    let on_toggle = {
        let hidden = hidden.clone();
        Callback::from(move |layer: usize| {
            let mut next = (*hidden).clone();
            match next.iter().position(|h| *h == layer) {
                Some(at) => drop(next.remove(at)),
                None => next.push(layer),
            }
            hidden.set(next);
        })
    };
    html! {
        <div class="figure" data-testid={props.testid}>
            <div class="figure-tools">
                { props.controls.clone() }
                <span class="grow" />
                { log.unwrap_or_default() }
                <button type="button" class="btn btn-quiet btn-icon" aria-label={t!(show_as_table)} title={t!(show_as_table)} aria-pressed={as_table.to_string()} onclick={toggle_table}>{ glyph("table") }</button>
                { files }
            </div>
            if *as_table {
                <FigureTable figure={figure.clone()} />
            } else {
                <Plot canvas={canvas.clone()} figure={figure.clone()} hidden={(*hidden).clone()} cross={*cross} on_cross={set_cross} size={props.size} />
            }
            if props.legend {
                <Legend figure={figure.clone()} hidden={(*hidden).clone()} {on_toggle} />
            }
        </div>
    }
}

fn draw(canvas: &HtmlCanvasElement, figure: &Figure, hidden: &[usize]) {
    let Some(backend) = CanvasBackend::new(canvas, Rc::default()) else {
        return;
    };
    let scale = backend.scale();
    let colours = Colours::of(canvas);
    let pen = Pen {
        scale,
        text: 1.0,
        colour: &|name| colours.rgba(name),
    };
    if let Err(error) = pen.figure(&backend.into_drawing_area(), figure, hidden) {
        gloo::console::error!(format!("figure not drawn: {error}"));
    }
}

#[derive(Properties, PartialEq)]
struct PlotProps {
    canvas: NodeRef,
    figure: Rc<Figure>,
    hidden: Vec<usize>,
    cross: Option<usize>,
    on_cross: Callback<Option<usize>>,
    size: &'static str,
}

/// Canvas and crosshair; the readout is one line above the data, also for screen readers.
#[component(Plot)]
fn plot(props: &PlotProps) -> Html {
    let figure = &props.figure;
    let onpointermove = {
        let (figure, on_cross) = (figure.clone(), props.on_cross.clone());
        move |event: PointerEvent| {
            let rect = event
                .target_unchecked_into::<Element>()
                .get_bounding_client_rect();
            if rect.width() > 0.0 {
                let share = (f64::from(event.client_x()) - rect.left()) / rect.width();
                on_cross.emit(figure.nearest(share.clamp(0.0, 1.0)));
            }
        }
    };
    let leave = {
        let on_cross = props.on_cross.clone();
        move |_: PointerEvent| on_cross.emit(None)
    };
    let onkeydown = {
        let (figure, on_cross, cross) = (figure.clone(), props.on_cross.clone(), props.cross);
        move |event: KeyboardEvent| {
            let next = match event.key().as_str() {
                "Escape" => None,
                key => match figure.moved(cross, key) {
                    Some(stop) => Some(stop),
                    None => return,
                },
            };
            event.prevent_default();
            on_cross.emit(next);
        }
    };
    let stop = props.cross.and_then(|i| figure.stops.get(i));
    let percent = |share: f64| format!("{:.3}%", share.clamp(0.0, 1.0) * 100.0);
    let x = stop.map(|s| percent(figure.x.scale.share(s.x)));
    let readings = || {
        stop.into_iter()
            .flat_map(|s| &s.readings)
            .filter(|r| !props.hidden.contains(&r.layer))
    };
    html! {
        <div class={classes!("chart", "chart-canvas", "figure-canvas", props.size)} role="group" tabindex="0" aria-label={figure.label.clone()} {onkeydown}>
            <canvas ref={props.canvas.clone()} role="img" aria-label={figure.label.clone()} />
            <svg class="overlay" aria-hidden="true" {onpointermove} onpointerleave={leave}>
                <rect width="100%" height="100%" fill="transparent" pointer-events="all" />
                if let Some(x) = &x {
                    <line class="cross" x1={x.clone()} x2={x.clone()} y1="0" y2="100%" />
                    { for readings().map(|r| html! {
                        <circle class="cross-at" cx={x.clone()} cy={percent(1.0 - figure.y.scale.share(r.y))} r="7" />
                    }) }
                }
            </svg>
            <div class="readout" role="status">
                if let Some(stop) = stop {
                    <span class="soft">{ stop.title.clone() }</span>
                    { for readings().map(|r| html! {
                        <span>{ figure.layers.get(r.layer).map(|l| sign(l.ink)).unwrap_or_default() }{ r.name.clone() }{ " " }<b>{ r.text.clone() }</b></span>
                    }) }
                }
            </div>
        </div>
    }
}

/// The sign of an ink, as the marks have it.
pub fn sign(ink: Ink) -> Html {
    let mark = match ink {
        Ink::Before => html! { <circle class="dot-b" cx="8" cy="8" r="6" /> },
        Ink::After => html! { <circle class="dot-a" cx="8" cy="8" r="7" /> },
        Ink::Past => html! { <circle class="hist" cx="8" cy="8" r="5" /> },
        Ink::Level => html! { <line class="seg-line" x1="0" x2="16" y1="8" y2="8" /> },
        Ink::Accent => html! { <line class="cp" x1="8" x2="8" y1="0" y2="16" /> },
        Ink::Busy => html! { <path class="busy" d="M8 2l6 11H2z" /> },
        Ink::Outlier | Ink::Rule => html! { <path class="out" d="M3 3l10 10M13 3L3 13" /> },
    };
    html! { <svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">{ mark }</svg> }
}

#[derive(Properties, PartialEq)]
struct LegendProps {
    figure: Rc<Figure>,
    hidden: Vec<usize>,
    on_toggle: Callback<usize>,
}

#[component(Legend)]
fn legend(props: &LegendProps) -> Html {
    let unit = match &props.figure.y.labels {
        crate::model::figure::Labels::Unit(shown) => shown.name,
        crate::model::figure::Labels::Given(_) => "",
    };
    let named = props
        .figure
        .layers
        .iter()
        .enumerate()
        .filter(|(_, l)| !l.name.is_empty());
    html! {
        <div class="scroll-x" tabindex="0" role="region" aria-label={t!(bench.legend_of, what = props.figure.label)}>
            <table class="legend">
                <caption class="vh">{ props.figure.label.clone() }</caption>
                <thead><tr>
                    <th scope="col">{ if unit.is_empty() { t!(bench.legend) } else { unit } }</th>
                    { for props.figure.legend.iter().map(|head| html! { <th scope="col">{ head }</th> }) }
                </tr></thead>
                <tbody>
                    { for named.map(|(i, layer)| {
                        let shown = !props.hidden.contains(&i);
                        let onclick = props.on_toggle.reform(move |_: MouseEvent| i);
                        html! {
                            <tr key={i}>
                                <th scope="row"><button type="button" aria-pressed={shown.to_string()} {onclick}>{ sign(layer.ink) }{ &layer.name }</button></th>
                                { for props.figure.legend.iter().enumerate().map(|(c, _)| html! { <td>{ layer.cells.get(c).cloned().unwrap_or_else(|| "–".to_owned()) }</td> }) }
                            </tr>
                        }
                    }) }
                </tbody>
            </table>
        </div>
    }
}

/// Rows of a table at most; the CSV has all.
const ROWS: usize = 500;

#[derive(Properties, PartialEq)]
struct TableProps {
    figure: Rc<Figure>,
}

#[component(FigureTable)]
fn figure_table(props: &TableProps) -> Html {
    let table = &props.figure.table;
    let number = |column: usize| {
        table
            .rows
            .first()
            .and_then(|r| r.get(column))
            .is_some_and(|c| matches!(c, Cell::Number(..)))
    };
    html! {
        <div class="chart-table" tabindex="0" role="region" aria-label={props.figure.label.clone()}>
            <table class="table">
                <caption class="note">{ t!(table_caption, shown = table.rows.len().min(ROWS), all = table.rows.len()) }</caption>
                <thead><tr>{ for table.head.iter().enumerate().map(|(i, h)| html! { <th scope="col" class={number(i).then_some("num")}>{ h }</th> }) }</tr></thead>
                <tbody>
                    { for table.rows.iter().take(ROWS).map(|row| html! {
                        <tr>{ for row.iter().map(|cell| match cell {
                            Cell::Text(text) => html! { <td>{ text }</td> },
                            Cell::Number(_, text) => html! { <td class="num">{ text }</td> },
                        }) }</tr>
                    }) }
                </tbody>
            </table>
        </div>
    }
}
