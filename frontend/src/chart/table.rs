//! What a chart says in words and figures: the legend with toggles, and every sample as a table.

use yew::prelude::*;

use super::{draw::View, panel::Line};
use crate::{
    model::{
        format::{MIB, integer},
        ticks,
    },
    t,
};

/// A rate in MiB/s as the legend writes it.
pub(super) fn figure(mib_per_s: f64) -> String {
    crate::model::format::mib_figure(mib_per_s * MIB)
}

/// The dash of a series beside its name.
pub(super) fn dash(style: usize) -> Html {
    let class = match style % 4 {
        0 => "s3",
        1 => "s1",
        2 => "s2",
        _ => "s4",
    };
    html! { <svg class="dash" aria-hidden="true"><line {class} x1="0" x2="18" y1="4" y2="4" /></svg> }
}

/// Props of [`Legend`].
#[derive(Properties, PartialEq)]
pub(super) struct LegendProps {
    /// Series.
    pub lines: Vec<Line>,
    /// What part is shown.
    pub view: View,
    /// Caption for screen readers.
    pub caption: AttrValue,
    /// Shows or hides a series.
    pub on_toggle: Callback<usize>,
}

/// Now, min, median and max of what is shown.
#[component(Legend)]
pub(super) fn legend(props: &LegendProps) -> Html {
    html! {
        <table class="legend">
            <caption class="vh">{ props.caption.clone() }</caption>
            <thead><tr>
                <th scope="col">{ "MiB/s" }</th>
                <th scope="col">{ t!(now) }</th><th scope="col">{ t!(min) }</th><th scope="col">{ t!(median) }</th><th scope="col">{ t!(max) }</th>
            </tr></thead>
            <tbody>
                { for props.lines.iter().enumerate().map(|(i, line)| {
                    let summary = line.series.summary(props.view.from_s);
                    let cell = |pick: fn(crate::model::series::Summary) -> f64| {
                        html! { <td>{ summary.map_or_else(|| "–".to_owned(), |s| figure(pick(s))) }</td> }
                    };
                    let toggle = props.on_toggle.reform(move |_: MouseEvent| i);
                    html! {
                        <tr key={i}>
                            <th scope="row"><button type="button" aria-pressed={line.visible.to_string()} onclick={toggle}>{ dash(line.style) }{ line.name.clone() }</button></th>
                            { cell(|s| s.now) }{ cell(|s| s.min) }{ cell(|s| s.median) }{ cell(|s| s.max) }
                        </tr>
                    }
                }) }
            </tbody>
        </table>
    }
}

/// Props of [`SampleTable`].
#[derive(Properties, PartialEq)]
pub(super) struct SampleTableProps {
    /// Series.
    pub lines: Vec<Line>,
    /// What part is shown.
    pub view: View,
    /// Caption.
    pub caption: AttrValue,
}

/// Rows of the table at most; more are thinned evenly and the caption says so.
const ROWS: usize = 200;

/// Every sample that is shown, newest first.
#[component(SampleTable)]
pub(super) fn sample_table(props: &SampleTableProps) -> Html {
    let Some(first) = props.lines.first() else {
        return html! {};
    };
    let shown: Vec<_> = first.series.iter().filter(|s| s.t >= props.view.from_s).collect();
    let step = shown.len().div_ceil(ROWS).max(1);
    html! {
        <div class="chart-table" tabindex="0" role="region" aria-label={props.caption.clone()}>
            <table class="table">
                <caption class="note">{ t!(table_caption, shown = integer(shown.len().div_ceil(step) as u64), all = integer(shown.len() as u64)) }</caption>
                <thead><tr>
                    <th scope="col">{ t!(time) }</th>
                    { for props.lines.iter().map(|l| html! { <th scope="col" class="num">{ l.name.clone() }</th> }) }
                </tr></thead>
                <tbody>
                    { for shown.iter().rev().step_by(step).map(|sample| html! {
                        <tr>
                            <th scope="row">{ ticks::elapsed(sample.t) }</th>
                            { for props.lines.iter().map(|l| html! {
                                <td class="num">{ l.series.nearest(sample.t).map_or_else(|| "–".to_owned(), |s| figure(s.v)) }</td>
                            }) }
                        </tr>
                    }) }
                </tbody>
            </table>
        </div>
    }
}
