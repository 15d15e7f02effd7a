//! A flame graph, or the difference of two: searched, zoomed, turned over, read as a table.

use std::rc::Rc;

use fleethold_api_types::bench::{Flame, FlameFrame};
use uuid::Uuid;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::{
    api::bench,
    chart::{FlameChart, FlamePick},
    model::{
        bench::flame::{Zoom, functions, points, search, table},
        figure::Cell,
        format,
    },
    pages::history::DatabaseBanner,
    t, tn,
    ui::{
        Empty, ProblemAlert, Skeleton, glyph,
        hooks::{use_load, use_query, use_title},
    },
};

/// Functions in the table at most.
const FUNCTIONS: usize = 60;

/// The page.
#[component(FlamePage)]
pub fn flame_page() -> Html {
    use_title(t!(bench.flame_graph));
    let (query, _) = use_query();
    let id = |key: &str| query.get(key).parse::<Uuid>().ok();
    let (of, before) = (id("of"), id("before"));
    let flame = use_load((of, before), |(of, before)| async move {
        match of {
            Some(of) => bench::flame(of, before).await.map(|f| Some(Rc::new(f))),
            None => Ok(None),
        }
    });
    let found = flame.result.value().and_then(|f| (**f).clone());
    let difference = before.is_some();
    html! {
        <>
            <div class="page-head"><div>
                <h1>{ if difference { t!(bench.flame_difference) } else { t!(bench.flame_graph) } }</h1>
                <p>{ if difference { t!(bench.flame_diff_text) } else { t!(bench.flame_text) } }</p>
            </div></div>
            <DatabaseBanner />
            if let Some(problem) = flame.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.flame_not_read), problem, on_retry: flame.reload.clone() }).view() }
            }
            { match (found, of) {
                (_, None) => html! { <section class="panel">{ yew::props!(Empty { icon: "bench", title: t!(bench.no_flame), text: t!(bench.no_flame_text) }).view() }</section> },
                (Some(flame), _) if flame.frames.is_empty() => html! { <section class="panel">{ yew::props!(Empty { icon: "bench", title: t!(bench.empty_flame) }).view() }</section> },
                (Some(flame), _) => html! { <Shown {flame} {difference} /> },
                (None, _) if flame.result.error.is_some() => html! {},
                (None, _) => html! { <section class="panel">{ yew::props!(Skeleton { label: t!(bench.reading_flame), lines: 6 }).view() }</section> },
            } }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct ShownProps {
    flame: Rc<Flame>,
    difference: bool,
}

/// Graph and table; what is looked for and how it lies stands in the address.
#[component(Shown)]
fn shown(props: &ShownProps) -> Html {
    let (query, set_query) = use_query();
    let focus = use_state(|| None::<usize>);
    let zoomed = use_state(|| None::<usize>);
    let flame = &props.flame;
    let text = query.get("q").to_owned();
    let icicle = query.get("shape") == "icicle";
    let found = use_memo((flame.clone(), text.clone()), |(flame, text)| search(flame, text));
    let list = use_memo(flame.clone(), |flame| functions(flame));
    let zoom = zoomed
        .and_then(|i| flame.frames.get(i))
        .map_or(Zoom::ALL, Zoom::to);
    let on_text = {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |event: InputEvent| {
            set_query.emit(query.with("q", &event.target_unchecked_into::<HtmlInputElement>().value()))
        }
    };
    let turn = |shape: &'static str| {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |_: MouseEvent| set_query.emit(query.with("shape", shape))
    };
    let on_focus = {
        let focus = focus.clone();
        Callback::from(move |at: Option<usize>| focus.set(at))
    };
    let on_zoom = {
        let (zoomed, focus) = (zoomed.clone(), focus.clone());
        Callback::from(move |at: Option<usize>| {
            // the root, or the same again: back to all of it
            let at = at.filter(|i| *i != 0 && *zoomed != Some(*i));
            if at.is_none() && zoomed.is_none() {
                focus.set(None);
            }
            zoomed.set(at);
        })
    };
    let reset = on_zoom.reform(|_: MouseEvent| None);
    let read = focus.or(*zoomed).and_then(|i| flame.frames.get(i));
    let label = if props.difference {
        t!(bench.flame_diff_label)
    } else {
        t!(bench.flame_label)
    };
    html! {
        <>
            <section class="panel" aria-label={t!(bench.flame_graph)}>
                <div class="fleet-tools">
                    <div class="query" role="search">
                        { glyph("search") }
                        <input type="text" data-search="" aria-label={t!(bench.find_function)} placeholder={t!(bench.find_function)} value={text.clone()} oninput={on_text} autocomplete="off" spellcheck="false" data-testid="flame-search" />
                        <kbd aria-hidden="true">{ "/" }</kbd>
                    </div>
                    if !text.trim().is_empty() {
                        <span class="note found" role="status" data-testid="flame-found">{ tn!(found.count as u64, bench.found_one, bench.found, share = format::percent(found.share)) }</span>
                    }
                    <div class="seg" role="group" aria-label={t!(bench.shape)}>
                        <button type="button" aria-pressed={(!icicle).to_string()} onclick={turn("")}>{ t!(bench.flame_up) }</button>
                        <button type="button" aria-pressed={icicle.to_string()} onclick={turn("icicle")} data-testid="flame-icicle">{ t!(bench.icicle) }</button>
                    </div>
                    <button type="button" class="btn" disabled={zoomed.is_none()} onclick={reset} data-testid="flame-reset">{ t!(bench.whole) }</button>
                </div>
                <div class="panel-body pad-top">
                    <p class="flame-read" role="status" data-testid="flame-read">{ read.map_or_else(|| html! { <span class="note">{ t!(bench.flame_hint) }</span> }, |f| reading(flame, f)) }</p>
                    <FlameChart flame={flame.clone()} pick={FlamePick { zoom, icicle, focus: *focus }} {found} {on_focus} {on_zoom} {label} />
                    if props.difference {
                        <div class="key flame-key">
                            <span>{ scale_key("less2") }{ scale_key("less1") }{ t!(bench.less) }</span>
                            <span>{ scale_key("same") }{ t!(bench.same) }</span>
                            <span>{ scale_key("more1") }{ scale_key("more2") }{ t!(bench.more) }</span>
                        </div>
                    }
                    <p class="note">{ t!(bench.n_samples_of, n = format::integer(flame.total)) }
                        if flame.before_total > 0 { { ", " }{ t!(bench.before_samples, n = format::integer(flame.before_total)) } }
                        if flame.hidden > 0 { { ". " }{ tn!(flame.hidden, bench.hidden_one, bench.hidden) } }
                    </p>
                </div>
            </section>
            { yew::props!(Functions { list, shown: FUNCTIONS }).view() }
        </>
    }
}

fn scale_key(class: &'static str) -> Html {
    html! { <svg class="swatch" aria-hidden="true"><rect class={classes!("flame-key-at", class)} width="10" height="10" /></svg> }
}

/// A frame in words: its name, its share, its change with the sign.
fn reading(flame: &Flame, frame: &FlameFrame) -> Html {
    html! {
        <>
            <code>{ &frame.name }</code>
            <span>{ format::percent(frame.width) }{ ", " }{ tn!(frame.samples, bench.n_samples_one, bench.n_samples) }</span>
            if let Some(change) = frame.change.filter(|_| flame.before_total > 0) {
                <b>{ points(change) }</b>
            }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct Functions {
    list: Rc<Vec<crate::model::bench::flame::Function>>,
    shown: usize,
}

impl Functions {
    /// The same as a table: own and total share of each function, and its change.
    fn view(&self) -> Html {
        let shown: Vec<_> = self.list.iter().take(self.shown).cloned().collect();
        let table = table(&shown);
        html! {
            <section class="panel" aria-labelledby="fn-h" data-testid="flame-table">
                <div class="panel-head"><h2 id="fn-h">{ t!(bench.functions) }<small>{ t!(matches, n = shown.len(), all = self.list.len()) }</small></h2></div>
                <div class="panel-body scroll-x" tabindex="0" role="region" aria-label={t!(bench.functions)}>
                    <table class="table">
                        <thead><tr>{ for table.head.iter().enumerate().map(|(i, h)| html! { <th scope="col" class={(i > 0).then_some("num")}>{ h }</th> }) }</tr></thead>
                        <tbody>{ for table.rows.iter().map(|row| html! {
                            <tr>{ for row.iter().map(|c| match c {
                                Cell::Text(text) => html! { <th scope="row" class="mono fn-name" title={text.clone()}>{ text }</th> },
                                Cell::Number(_, text) => html! { <td class="num">{ text }</td> },
                            }) }</tr>
                        }) }</tbody>
                    </table>
                </div>
            </section>
        }
    }
}
