//! One cell: every sample in measured order and the boxes, histogram, distribution, the sides against each other.

use std::rc::Rc;

use fleethold_api_types::bench::{Comparison, JudgedCell, MatrixRow, Metric, Side};
use yew::prelude::*;

use super::words::VerdictWord;
use crate::{
    chart::FigurePanel,
    model::{
        bench::{
            distribution::{ecdf, histogram, write_sizes},
            matrix::Selection,
            samples::{against, far_apart, in_order, shown, side_word},
            verdict,
        },
        figure::Figure,
        format,
        unit::{bound, change, figure, probability},
    },
    t,
    ui::glyph,
};

/// How the samples are shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shape {
    Order,
    Histogram,
    Distribution,
    Against,
}

const SHAPES: [(Shape, &str); 4] = [
    (Shape::Order, "order"),
    (Shape::Histogram, "histogram"),
    (Shape::Distribution, "ecdf"),
    (Shape::Against, "ab"),
];

impl Shape {
    /// As in the address.
    pub(super) fn of(key: &str) -> Self {
        SHAPES
            .iter()
            .find(|(_, k)| *k == key)
            .map_or(Self::Order, |(s, _)| *s)
    }

    fn key(self) -> &'static str {
        SHAPES
            .iter()
            .find(|(s, _)| *s == self)
            .map_or("order", |(_, k)| *k)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Order => t!(bench.in_order),
            Self::Histogram => t!(bench.histogram),
            Self::Distribution => t!(bench.ecdf),
            Self::Against => t!(bench.ab),
        }
    }
}

/// Props of [`CellFigure`].
#[derive(Properties, PartialEq)]
pub(super) struct CellFigureProps {
    /// Samples.
    pub cell: JudgedCell,
    /// Their metric.
    pub metric: Metric,
    /// What they are of.
    pub place: String,
    /// How they are shown.
    pub shape: Shape,
    /// Shows them otherwise.
    pub on_shape: Callback<&'static str>,
}

/// The chart of a cell with its choice of shapes.
#[component(CellFigure)]
pub(super) fn cell_figure(props: &CellFigureProps) -> Html {
    let asked = use_state(|| None::<bool>);
    // sides that are far apart share no linear axis on which both can be read
    let log = asked.unwrap_or_else(|| far_apart(&props.cell));
    let figure = use_memo(
        (
            props.cell.clone(),
            props.metric.clone(),
            props.shape,
            log,
            props.place.clone(),
        ),
        |(cell, metric, shape, log, place)| {
            let label = format!("{place}, {}: {}", metric.name, shape.word());
            let build: fn(&JudgedCell, &Metric, bool, String) -> Figure = match shape {
                Shape::Order => in_order,
                Shape::Histogram => histogram,
                Shape::Distribution => ecdf,
                Shape::Against => against,
            };
            build(cell, metric, *log, label)
        },
    );
    let controls = html! {
        <div class="seg" role="group" aria-label={t!(bench.shape)}>
            { for SHAPES.into_iter().map(|(shape, key)| {
                let onclick = props.on_shape.reform(move |_: MouseEvent| key);
                html! { <button type="button" aria-pressed={(shape == props.shape).to_string()} {onclick} data-testid={format!("shape-{key}")}>{ shape.word() }</button> }
            }) }
        </div>
    };
    let on_log = {
        let asked = asked.clone();
        Callback::from(move |on: bool| asked.set(Some(on)))
    };
    html! { <FigurePanel {figure} {controls} log={Some((log, on_log))} testid="samples-chart" /> }
}

/// What is shown; drawn by [`CellDetail::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct CellDetail {
    /// Comparison.
    pub comparison: Rc<Comparison>,
    /// Which cell of it.
    pub selection: Selection,
    /// How its samples are shown.
    pub shape: Shape,
    /// Shows them otherwise.
    pub on_shape: Callback<&'static str>,
}

impl CellDetail {
    /// The panel of the chosen cell.
    pub(super) fn view(&self) -> Html {
        let (c, selection) = (&self.comparison, &self.selection);
        let found = selection
            .row(c)
            .zip(selection.cell(c))
            .zip(crate::model::bench::matrix::metric(c, &selection.metric));
        let Some(((row, cell), metric)) = found else {
            return html! {
                <section class="panel"><div class="panel-body pad-top"><p class="note">{ t!(bench.not_measured) }</p></div></section>
            };
        };
        let place = verdict::place(row);
        html! {
            <section class="panel" aria-labelledby="sm-h" data-testid="cell-detail" data-shape={self.shape.key()}>
                <div class="panel-head">
                    <h2 id="sm-h">{ place.clone() }<small>{ &metric.name }{ ", " }{ t!(bench.every_run) }</small></h2>
                    if let Some(verdict) = cell.verdict {
                        { yew::props!(VerdictWord { verdict, change: cell.ratio.map(|r| change(r.estimate)) }).view() }
                    }
                </div>
                <div class="panel-body stack">
                    <CellFigure cell={cell.clone()} metric={metric.clone()} {place} shape={self.shape} on_shape={self.on_shape.clone()} />
                    { peaks(cell, metric) }
                    <p class="note">{ statistics(c, cell) }</p>
                    if cell.samples_total > cell.samples.len() as u64 {
                        <p class="note">{ t!(bench.thinned, shown = format::integer(cell.samples.len() as u64), all = format::integer(cell.samples_total)) }</p>
                    }
                </div>
            </section>
        }
    }
}

/// Two heaps are said, never averaged.
fn peaks(cell: &JudgedCell, metric: &Metric) -> Html {
    let shown = shown(cell, metric);
    let sides = [(Side::Before, cell.before), (Side::After, cell.after)];
    sides
        .into_iter()
        .filter_map(|(side, summary)| Some((side, summary?.two_peaks?)))
        .map(|(side, peaks)| {
            html! {
                <div class="alert" data-state="warning">{ glyph("warn") }
                    <p class="alert-h">{ t!(bench.two_peaks_side, side = side_word(side)) }</p>
                    <p>{ t!(bench.two_peaks_text, lower = shown.figure(peaks.lower), share = format::percent(peaks.lower_share), upper = shown.text(peaks.upper)) }</p>
                </div>
            }
        })
        .collect()
}

/// Ratio, interval, test: the figures behind the word.
fn statistics(comparison: &Comparison, cell: &JudgedCell) -> String {
    let Some(ratio) = cell.ratio else {
        return t!(bench.one_side).to_owned();
    };
    let end = |e: Option<f64>, open: &'static str| e.map_or_else(|| open.to_owned(), figure);
    let mut parts = vec![t!(
        bench.ratio_text,
        ratio = figure(ratio.estimate),
        confidence = bound(ratio.confidence),
        low = end(ratio.low, "0"),
        high = end(ratio.high, "∞")
    )];
    if let Some(p) = cell.p {
        parts.push(t!(bench.p_text, p = probability(p)));
    }
    if let Some(p) = cell.adjusted_p {
        parts.push(t!(
            bench.holm_text,
            p = probability(p),
            cells = comparison.judged_cells
        ));
    }
    parts.join(" ")
}

/// Props of [`WriteSizesPanel`].
#[derive(Properties, PartialEq)]
pub(super) struct WriteSizesProps {
    /// Row with sizes.
    pub row: MatrixRow,
}

/// Sizes of writes, where they were counted.
#[component(WriteSizesPanel)]
pub(super) fn write_sizes_panel(props: &WriteSizesProps) -> Html {
    let figure = use_memo(props.row.clone(), |row| {
        row.write_sizes.as_ref().map(|s| {
            Rc::new(write_sizes(
                &s.before,
                &s.after,
                t!(bench.write_sizes_of, place = verdict::place(row)),
            ))
        })
    });
    html! {
        if let Some(figure) = (*figure).clone() {
            <section class="panel" aria-labelledby="ws-h">
                <div class="panel-head"><h2 id="ws-h">{ t!(bench.write_sizes) }<small>{ verdict::place(&props.row) }</small></h2></div>
                <div class="panel-body"><FigurePanel {figure} size="mid" /></div>
            </section>
        }
    }
}
