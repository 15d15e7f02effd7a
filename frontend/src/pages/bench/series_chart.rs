//! A series as a chart, and the change points below it.

use std::rc::Rc;

use fleethold_api_types::bench::{AnnotationKind, SeriesHistory};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    api::bench,
    chart::FigurePanel,
    clock,
    model::{
        bench::history::{Other, figure, is_better, short, shown},
        query::QueryMap,
        unit::{change, probability},
    },
    route::Route,
    t, tn,
    ui::{ProblemAlert, Skeleton, glyph, hooks::use_load},
};

/// Props of [`SeriesFigure`].
#[derive(Properties, PartialEq)]
pub(super) struct SeriesFigureProps {
    /// What is shown.
    pub history: Rc<SeriesHistory>,
    /// The other side, when it is shown along with it.
    #[prop_or_default]
    pub other: Option<(Rc<SeriesHistory>, String)>,
    /// Size of the sheet.
    #[prop_or("tall")]
    pub size: &'static str,
    /// The crosshair stands at a point.
    #[prop_or_default]
    pub on_stop: Option<Callback<Option<usize>>>,
}

/// The chart.
#[component(SeriesFigure)]
pub(super) fn series_figure(props: &SeriesFigureProps) -> Html {
    let log = use_state(|| false);
    let figure = use_memo(
        (props.history.clone(), props.other.clone(), *log),
        |(history, other, log)| {
            let offset = clock::offset_at(clock::now());
            let label = t!(
                bench.history_label,
                metric = history.series.metric,
                n = history.points.len()
            );
            let other = other.as_ref().map(|(history, name)| Other {
                history,
                name: name.clone(),
            });
            figure(history, other.as_ref(), *log, offset, label)
        },
    );
    let on_log = {
        let log = log.clone();
        Callback::from(move |on: bool| log.set(on))
    };
    html! { <FigurePanel {figure} size={props.size} log={Some((*log, on_log))} on_stop={props.on_stop.clone()} testid="series-chart" /> }
}

/// What is shown; drawn by [`ChangePoints::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub(super) struct ChangePoints {
    /// What is shown.
    pub history: Rc<SeriesHistory>,
}

impl ChangePoints {
    /// Where the level changed: commits, levels, by how much, and what people said of it.
    pub(super) fn view(&self) -> Html {
        let h = &self.history;
        if h.changes.is_empty() {
            return html! { <p class="note">{ t!(bench.no_changes) }</p> };
        }
        let shown = shown(h);
        let level = |at: u32| {
            h.levels
                .iter()
                .find(|l| l.from <= at && at < l.to)
                .map(|l| l.median)
        };
        html! {
            <div class="scroll-x" tabindex="0" role="region" aria-label={t!(bench.change_points)}>
                <table class="table" data-testid="change-points">
                    <thead><tr>
                        <th scope="col">{ t!(bench.change_point) }</th><th scope="col">{ t!(bench.commits) }</th><th scope="col" class="num">{ t!(bench.level) }</th>
                        <th scope="col" class="num">{ t!(bench.change) }</th><th scope="col" class="num">{ "p" }</th><th scope="col">{ t!(bench.note) }</th><th scope="col">{ t!(bench.runs) }</th>
                    </tr></thead>
                    <tbody>
                        { for h.changes.iter().rev().map(|c| {
                            let point = h.points.get(c.at as usize);
                            // the runs on both sides of it, by their ids: the link shows the same for ever
                            let pair = c.at.checked_sub(1).and_then(|at| h.points.get(at as usize)).zip(point);
                            let (before, after) = (c.at.checked_sub(1).and_then(level), level(c.at));
                            let levels = before.zip(after).map_or_else(|| "–".to_owned(), |(b, a)| {
                                let (from, to) = shown.pair(b, a);
                                t!(bench.from_to, from = from, to = to)
                            });
                            let note = h.annotations.iter().find(|a| a.withdrawn_at.is_none() && a.run.is_some() && a.run == point.map(|p| p.run) && a.kind != AnnotationKind::Outlier);
                            let key = if is_better(h, c) { "faster" } else { "slower" };
                            let range = match (c.from_revision.is_empty(), c.to_revision.is_empty()) {
                                (false, false) => format!("{}..{}", short(&c.from_revision), short(&c.to_revision)),
                                (_, false) => short(&c.to_revision).to_owned(),
                                _ => "–".to_owned(),
                            };
                            html! {
                                <tr>
                                    <th scope="row">{ point.map(|p| clock::date_time(p.at)).unwrap_or_default() }</th>
                                    <td>if let Some(p) = point { <Link<Route> to={Route::BenchRun { id: p.run }}><code title={format!("{}..{}", c.from_revision, c.to_revision)}>{ range }</code></Link<Route>> } else { <code>{ range }</code> }</td>
                                    <td class="num">{ levels }</td>
                                    <td class="num"><span class="verdict" data-v={key}>{ glyph(key) }{ change(c.ratio) }</span></td>
                                    <td class="num">{ probability(c.p) }</td>
                                    <td class="soft">{ note.map(|n| n.reason.clone()).unwrap_or_default() }</td>
                                    <td>if let Some((older, newer)) = pair { <Link<Route, QueryMap> to={Route::BenchCompare} query={Some(QueryMap::default().with("before", &older.run.to_string()).with("after", &newer.run.to_string()))} classes="link">{ t!(bench.compare_around) }</Link<Route, QueryMap>> }</td>
                                </tr>
                            }
                        }) }
                    </tbody>
                </table>
            </div>
        }
    }
}

/// Props of [`CellHistory`].
#[derive(Properties, PartialEq)]
pub(super) struct CellHistoryProps {
    /// Series of the cell.
    pub series: i64,
}

/// The series of the chosen cell beside its samples.
#[component(CellHistory)]
pub(super) fn cell_history(props: &CellHistoryProps) -> Html {
    let history = use_load(props.series, |id| async move {
        bench::series_history(id, "", "").await
    });
    let query = QueryMap::default().with("series", &props.series.to_string());
    let count = history.result.value().map(|h| h.points.len() as u64);
    html! {
        <section class="panel" aria-labelledby="hi-h" data-testid="cell-history">
            <div class="panel-head">
                <h2 id="hi-h">{ t!(bench.series_title) }if let Some(n) = count { <small>{ tn!(n, bench.n_runs_one, bench.n_runs) }</small> }</h2>
                <Link<Route, QueryMap> to={Route::BenchHistory} query={Some(query)} classes="link">{ t!(bench.open_series) }</Link<Route, QueryMap>>
            </div>
            <div class="panel-body stack">
                if let Some(problem) = history.result.error.clone() {
                    { yew::props!(ProblemAlert { title: t!(bench.series_not_read), problem, on_retry: history.reload.clone() }).view() }
                }
                { match history.result.value() {
                    Some(h) if h.points.len() < 2 => html! { <p class="note">{ t!(bench.one_point) }</p> },
                    Some(h) => html! { <><SeriesFigure history={h.clone()} />{ yew::props!(ChangePoints { history: h.clone() }).view() }<p class="note">{ t!(bench.bands_note) }</p></> },
                    None if history.result.error.is_some() => html! {},
                    None => yew::props!(Skeleton { label: t!(bench.reading_series), lines: 3 }).view(),
                } }
            </div>
        </section>
    }
}
