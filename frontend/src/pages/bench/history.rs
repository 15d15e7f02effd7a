//! One measurement over all runs and commits: which series, which range, its points, changes and what people said.

use std::rc::Rc;

use fleethold_api_types::bench::{Series, SeriesHistory, Side};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::{
    notes::{Notes, PointActions},
    series_chart::{ChangePoints, SeriesFigure},
    words::Tabs,
};
use crate::{
    api::bench,
    model::bench::samples::side_word,
    pages::history::DatabaseBanner,
    route::Route,
    t, tn,
    ui::{
        Empty, ProblemAlert, Skeleton,
        hooks::{use_load, use_query, use_title},
    },
};

/// A series in a line, without the workload's name.
pub(super) fn series_words(series: &Series) -> String {
    let parameters: Vec<String> = series
        .parameters
        .iter()
        .map(|(name, value)| {
            if name == "scenario" {
                value.clone()
            } else {
                format!("{name} {value}")
            }
        })
        .collect();
    let mut words = vec![series.metric.clone()];
    words.extend(parameters);
    words.push(side_word(series.side).to_owned());
    words.join(", ")
}

/// The same measurement of the other side.
fn sister(all: &[Series], of: &Series) -> Option<i64> {
    all.iter()
        .find(|s| {
            s.side != of.side
                && s.workload == of.workload
                && s.parameters == of.parameters
                && s.metric == of.metric
                && s.unit == of.unit
                && s.machine_class == of.machine_class
        })
        .map(|s| s.id)
}

/// Which series says most: judged kinds before counters, many runs before few, what there is now before the older way.
fn telling(series: &Series) -> (bool, u64, bool, i64) {
    let judged = matches!(
        series.unit.as_str(),
        "s" | "ms" | "us" | "ns" | "B/s" | "KiB/s" | "MB/s" | "MiB/s" | "req/s" | "ops/s"
    );
    (judged, series.runs, series.side == Side::After, -series.id)
}

/// A day of a date field as the server takes it; the last day counts whole.
fn bound(day: &str, end: bool) -> String {
    match (day.is_empty(), end) {
        (true, _) => String::new(),
        (false, false) => format!("{day}T00:00:00Z"),
        (false, true) => format!("{day}T23:59:59Z"),
    }
}

/// The page.
#[component(SeriesPage)]
pub fn series_page() -> Html {
    use_title(t!(bench.series_title));
    let (query, set_query) = use_query();
    let list = use_load((), |()| bench::bench_series(""));
    let all = list.result.value().cloned();
    let asked = query.get("series").parse::<i64>().ok();
    let chosen = all.as_ref().and_then(|l| {
        l.iter()
            .find(|s| Some(s.id) == asked)
            // without a choice the series with the most runs says most
            .or_else(|| l.iter().filter(|_| asked.is_none()).max_by_key(|s| telling(s)))
            .cloned()
    });
    let id = chosen.as_ref().map(|s| s.id).or(asked);
    let range = (bound(query.get("from"), false), bound(query.get("to"), true));
    let history = use_load((id, range.clone()), |(id, (from, to))| async move {
        match id {
            Some(id) => bench::series_history(id, &from, &to)
                .await
                .map(|h| Some(Rc::new(h))),
            None => Ok(None),
        }
    });
    let ab = query.get("ab") == "1";
    let other_id = chosen.as_ref().zip(all.as_ref()).and_then(|(s, l)| sister(l, s));
    let other = use_load((other_id.filter(|_| ab), range), |(id, (from, to))| async move {
        match id {
            Some(id) => bench::series_history(id, &from, &to)
                .await
                .map(|h| Some(Rc::new(h))),
            None => Ok(None),
        }
    });
    let set = |key: &'static str| {
        let (query, set_query) = (query.clone(), set_query.clone());
        Callback::from(move |value: String| set_query.emit(query.with(key, &value)))
    };
    let day = |key: &'static str| {
        let set = set(key);
        move |event: Event| set.emit(event.target_unchecked_into::<HtmlInputElement>().value())
    };
    let toggle_ab = {
        let set = set("ab");
        move |_: MouseEvent| set.emit(if ab { String::new() } else { "1".to_owned() })
    };
    let found = history.result.value().and_then(|h| (**h).clone());
    let theirs = other
        .result
        .value()
        .and_then(|h| (**h).clone())
        .filter(|_| ab)
        .map(|h| {
            let name = side_word(h.series.side).to_owned();
            (h, name)
        });
    html! {
        <>
            <div class="page-head"><div><h1>{ t!(bench.series_title) }</h1><p>{ t!(bench.series_text) }</p></div></div>
            <Tabs here={Route::BenchHistory} />
            <DatabaseBanner />
            if let Some(problem) = list.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.series_not_read), problem, on_retry: list.reload.clone() }).view() }
            }
            { match &all {
                None if list.result.error.is_some() => html! {},
                None => html! { <section class="panel">{ yew::props!(Skeleton { label: t!(bench.reading_series), lines: 5 }).view() }</section> },
                Some(l) if l.is_empty() => html! { <section class="panel">{ yew::props!(Empty { icon: "history", title: t!(bench.no_series), text: t!(bench.no_series_text) }).view() }</section> },
                Some(l) => html! {
                    <section class="panel" aria-labelledby="series-h">
                        <div class="series-tools">
                            { yew::props!(SeriesChoice { all: l.clone(), chosen: chosen.clone(), on_choose: set("series") }).view() }
                            <div class="field"><label for="from">{ t!(bench.from) }</label><input id="from" type="date" class="input" value={query.get("from").to_owned()} onchange={day("from")} /></div>
                            <div class="field"><label for="to">{ t!(bench.to) }</label><input id="to" type="date" class="input" value={query.get("to").to_owned()} onchange={day("to")} /></div>
                            <button type="button" class="btn" aria-pressed={ab.to_string()} disabled={other_id.is_none()} onclick={toggle_ab} data-testid="series-ab">{ t!(bench.ab) }</button>
                        </div>
                        <div class="panel-body stack">
                            if let Some(problem) = history.result.error.clone().or(other.result.error.clone()) {
                                { yew::props!(ProblemAlert { title: t!(bench.series_not_read), problem, on_retry: history.reload.clone() }).view() }
                            }
                            { match found {
                                Some(h) => html! { <Shown history={h} other={theirs} on_change={history.reload.clone()} /> },
                                None if history.result.error.is_some() => html! {},
                                None if asked.is_some() && id.is_none() => yew::props!(Empty { icon: "history", title: t!(bench.no_such_series) }).view(),
                                None => yew::props!(Skeleton { label: t!(bench.reading_series), lines: 4 }).view(),
                            } }
                        </div>
                    </section>
                },
            } }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct ShownProps {
    history: Rc<SeriesHistory>,
    other: Option<(Rc<SeriesHistory>, String)>,
    on_change: Callback<()>,
}

/// Chart, changes, notes.
#[component(Shown)]
fn shown(props: &ShownProps) -> Html {
    let h = &props.history;
    // the point last read stays chosen when the pointer leaves the chart, so that it can be acted on
    let at = use_state(|| None::<usize>);
    let on_stop = {
        let at = at.clone();
        Callback::from(move |stop: Option<usize>| {
            if stop.is_some() {
                at.set(stop);
            }
        })
    };
    let point = at.and_then(|i| h.points.get(i)).or(h.points.last()).cloned();
    if h.points.is_empty() {
        return yew::props!(Empty {
            icon: "filter",
            title: t!(bench.no_points)
        })
        .view();
    }
    html! {
        <>
            <h2 id="series-h">{ &h.series.workload }<small class="soft">{ " " }{ series_words(&h.series) }{ ", " }{ tn!(h.points.len() as u64, bench.n_runs_one, bench.n_runs) }</small></h2>
            <SeriesFigure history={h.clone()} other={props.other.clone()} on_stop={Some(on_stop)} />
            if let Some(point) = point {
                <PointActions history={h.clone()} {point} on_change={props.on_change.clone()} />
            }
            <h3>{ t!(bench.change_points) }</h3>
            { yew::props!(ChangePoints { history: h.clone() }).view() }
            <p class="note">{ t!(bench.bands_note) }</p>
            <Notes history={h.clone()} on_change={props.on_change.clone()} />
        </>
    }
}

#[derive(Properties, PartialEq)]
struct SeriesChoice {
    all: Rc<Vec<Series>>,
    chosen: Option<Series>,
    on_choose: Callback<String>,
}

impl SeriesChoice {
    /// Workload first, then the series of it.
    fn view(&self) -> Html {
        let mut workloads: Vec<&str> = self.all.iter().map(|s| s.workload.as_str()).collect();
        workloads.sort_unstable();
        workloads.dedup();
        let here = self.chosen.as_ref().map_or("", |s| s.workload.as_str());
        let first_of = {
            let all = self.all.clone();
            let on_choose = self.on_choose.clone();
            move |event: Event| {
                let workload = event.target_unchecked_into::<HtmlSelectElement>().value();
                let first = all
                    .iter()
                    .filter(|s| s.workload == workload)
                    .max_by_key(|s| telling(s));
                if let Some(series) = first {
                    on_choose.emit(series.id.to_string());
                }
            }
        };
        let onchange = {
            let on_choose = self.on_choose.clone();
            move |event: Event| on_choose.emit(event.target_unchecked_into::<HtmlSelectElement>().value())
        };
        html! {
            <>
                <div class="field"><label for="ser-w">{ t!(bench.workload) }</label>
                    <select id="ser-w" class="select" onchange={first_of}>{ for workloads.iter().map(|w| html! { <option value={(*w).to_owned()} selected={*w == here}>{ *w }</option> }) }</select>
                </div>
                <div class="field wide"><label for="ser-s">{ t!(bench.series_word) }</label>
                    <select id="ser-s" class="select" {onchange} data-testid="series-choice">
                        { for self.all.iter().filter(|s| s.workload == here).map(|s| html! {
                            <option value={s.id.to_string()} selected={self.chosen.as_ref().is_some_and(|c| c.id == s.id)}>{ series_words(s) }{ format!(" ({})", s.runs) }</option>
                        }) }
                    </select>
                </div>
            </>
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_bounds() {
        assert_eq!(bound("2026-11-19", false), "2026-11-19T00:00:00Z");
        assert_eq!(bound("2026-11-19", true), "2026-11-19T23:59:59Z");
        assert_eq!(bound("", true), "");
    }

    #[test]
    fn the_other_side_is_found() {
        let series = |id, side, metric: &str| Series {
            id,
            workload: "restore".into(),
            parameters: [
                ("scenario".to_owned(), "far".to_owned()),
                ("concurrency".to_owned(), "16".to_owned()),
            ]
            .into(),
            metric: metric.into(),
            unit: "MiB/s".into(),
            lower_is_better: false,
            machine_class: "m".into(),
            side,
            runs: 1,
        };
        let all = [
            series(1, Side::After, "rate"),
            series(2, Side::Before, "cpu"),
            series(3, Side::Before, "rate"),
        ];
        assert_eq!(sister(&all, &all[0]), Some(3));
        assert_eq!(sister(&all, &all[1]), None);
        assert_eq!(series_words(&all[0]), "rate, concurrency 16, far, after");
    }
}
