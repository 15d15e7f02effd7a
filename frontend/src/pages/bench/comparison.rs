//! A comparison from the verdict down to the mail: the same for one run with both sides and for two runs.

use std::rc::Rc;

use fleethold_api_types::bench::{BenchRunDetail, Comparison};
use yew::prelude::*;

use super::{
    belief::VerdictPanel,
    counters::Counters,
    detail::{CellDetail, Shape, WriteSizesPanel},
    environment::Environment,
    export::MailPanel,
    series_chart::CellHistory,
    sweep::Sweep,
};
use crate::{
    api::bench::Exported,
    model::bench::matrix::Selection,
    t,
    ui::{Empty, glyph, hooks::use_query},
};

/// Props of [`ComparisonView`].
#[derive(Properties, PartialEq)]
pub(super) struct ViewProps {
    /// What is shown.
    pub comparison: Rc<Comparison>,
    /// What is exported.
    pub what: Exported,
    /// The run, when both sides are of one.
    #[prop_or_default]
    pub run: Option<Rc<BenchRunDetail>>,
    /// Below the raw counters.
    #[prop_or_default]
    pub children: Html,
    /// Below the mail.
    #[prop_or_default]
    pub aside: Html,
}

/// The view. What is looked at stands in the address.
#[component(ComparisonView)]
pub(super) fn comparison_view(props: &ViewProps) -> Html {
    let (query, set_query) = use_query();
    let c = &props.comparison;
    let Some(selection) = Selection::of(c, &query) else {
        return html! { <section class="panel">{ yew::props!(Empty { icon: "bench", title: t!(bench.nothing_measured) }).view() }</section> };
    };
    let on_select = {
        let (query, set_query) = (query.clone(), set_query.clone());
        Callback::from(move |next: Selection| set_query.emit(next.into_query(&query)))
    };
    let on_shape = {
        let query = query.clone();
        Callback::from(move |key: &'static str| set_query.emit(query.with("shape", key)))
    };
    let row = selection.row(c).filter(|r| r.write_sizes.is_some()).cloned();
    let series = selection.cell(c).and_then(|cell| cell.series);
    html! {
        <>
            if c.across_machines {
                <div class="alert" data-state="warning" role="status" data-testid="across">{ glyph("warn") }<p class="alert-h">{ t!(bench.across_title) }</p><p>{ t!(bench.across_text) }</p></div>
            }
            { yew::props!(VerdictPanel { comparison: c.clone(), run: props.run.clone(), metric: selection.metric.clone() }).view() }
            { yew::props!(Sweep { comparison: c.clone(), selection: selection.clone(), on_select }).view() }
            <div class={classes!("detail", (series.is_none() && row.is_none()).then_some("one"))}>
                { yew::props!(CellDetail { comparison: c.clone(), selection: selection.clone(), shape: Shape::of(query.get("shape")), on_shape }).view() }
                if let Some(series) = series {
                    <CellHistory {series} />
                } else if let Some(row) = row.clone() {
                    <WriteSizesPanel {row} />
                }
            </div>
            if let (Some(row), true) = (row, series.is_some()) {
                <WriteSizesPanel {row} />
            }
            <div class="detail-3">
                <div class="stack">
                    <Environment comparison={c.clone()} />
                    { yew::props!(Counters { comparison: c.clone(), selection }).view() }
                    { props.children.clone() }
                </div>
                <div class="stack">
                    <MailPanel what={props.what} workload={c.workload.clone()} />
                    { props.aside.clone() }
                </div>
            </div>
        </>
    }
}
