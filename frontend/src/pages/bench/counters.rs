//! What was counted beside the judged metrics, for the chosen cell.

use std::rc::Rc;

use fleethold_api_types::bench::{Comparison, JudgedCell, Metric};
use yew::prelude::*;

use super::words::VerdictWord;
use crate::{
    model::{
        bench::{
            matrix::Selection,
            samples::{far_apart, shown},
            verdict,
        },
        format,
        unit::{change, value},
    },
    t,
};

/// What is shown; drawn by [`Counters::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct Counters {
    /// Comparison.
    pub comparison: Rc<Comparison>,
    /// Which row of it.
    pub selection: Selection,
}

impl Counters {
    /// The panel.
    pub(super) fn view(&self) -> Html {
        let c = &self.comparison;
        let Some(row) = self.selection.row(c) else {
            return html! {};
        };
        let cells: Vec<(&Metric, &JudgedCell)> = c
            .metrics
            .iter()
            .filter_map(|m| Some((m, row.cells.iter().find(|cell| cell.metric == m.name)?)))
            .collect();
        let runs = cells
            .iter()
            .filter_map(|(_, c)| c.after.or(c.before))
            .map(|s| s.runs)
            .max()
            .unwrap_or(0);
        html! {
            <section class="panel" aria-labelledby="rc-h" data-testid="counters">
                <div class="panel-head"><h2 id="rc-h">{ t!(bench.counters) }<small>{ t!(bench.medians_of, place = verdict::place(row), n = format::integer(runs)) }</small></h2></div>
                <div class="panel-body scroll-x" tabindex="0" role="region" aria-label={t!(bench.counters)}>
                    <table class="table">
                        <thead><tr><th scope="col">{ t!(bench.metric) }</th><th scope="col" class="num">{ t!(bench.before) }</th><th scope="col" class="num">{ t!(bench.after) }</th><th scope="col" class="num">{ t!(bench.change) }</th></tr></thead>
                        <tbody>
                            { for cells.into_iter().map(|(metric, cell)| {
                                let one = (!far_apart(cell)).then(|| shown(cell, metric));
                                let median = |s: Option<fleethold_api_types::bench::Summary>| {
                                    s.map_or_else(|| "–".to_owned(), |s| one.map_or_else(|| value(&metric.unit, s.median), |one| one.text(s.median)))
                                };
                                html! {
                                    <tr>
                                        <th scope="row">{ &metric.name }</th>
                                        <td class="num">{ median(cell.before) }</td>
                                        <td class="num">{ median(cell.after) }</td>
                                        <td class="num">{ moved(cell) }</td>
                                    </tr>
                                }
                            }) }
                        </tbody>
                    </table>
                </div>
            </section>
        }
    }
}

/// The change, with its verdict where there is one: without a test there is no word.
fn moved(cell: &JudgedCell) -> Html {
    let text = cell.ratio.map(|r| change(r.estimate));
    match (cell.verdict, text) {
        (Some(verdict), change) => yew::props!(VerdictWord { verdict, change }).view(),
        (None, Some(text)) => html! { <span class="soft">{ text }</span> },
        (None, None) => html! { "–" },
    }
}
