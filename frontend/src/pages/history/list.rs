//! The list of past restores, filtered on the server; the filter is in the address.

use fleethold_api_types::{HistoryItem, HistoryQuery, JobState};
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;
use yew_router::prelude::*;

use super::DatabaseBanner;
use crate::{
    api,
    model::format,
    pages::jobs::{target, title},
    route::Route,
    t,
    ui::{
        Empty, ProblemAlert, Skeleton, StaleNote, When, Word, glyph,
        hooks::{use_load, use_query, use_title},
        state::job_look,
        toast::use_toast,
    },
};

const STATES: [(&str, JobState); 4] = [
    ("ok", JobState::Ok),
    ("failed", JobState::Failed),
    ("cancelled", JobState::Cancelled),
    ("interrupted", JobState::Interrupted),
];

/// The page.
#[component(HistoryPage)]
pub fn history_page() -> Html {
    use_title(t!(nav_history));
    let (query, set_query) = use_query();
    let (text, state) = (query.get("q").to_owned(), query.get("state").to_owned());
    let filter = HistoryQuery {
        text: (!text.is_empty()).then(|| text.clone()),
        state: STATES.iter().find(|(word, _)| *word == state).map(|(_, s)| *s),
        store: Some(query.get("store").to_owned()).filter(|s| !s.is_empty()),
        ..HistoryQuery::default()
    };
    let page = use_load(
        filter.clone(),
        |filter| async move { api::history(&filter).await },
    );
    let more = use_state(|| (Vec::<HistoryItem>::new(), None::<String>));
    // another first page: what was appended to the old one goes
    use_effect_with(page.result.data.as_ref().map(|(_, at)| *at), {
        let (more, first) = (more.clone(), page.result.value().cloned());
        move |_| more.set((Vec::new(), first.and_then(|p| p.next_cursor.clone())))
    });
    let toast = use_toast();
    let on_more = {
        let (more, filter) = (more.clone(), filter.clone());
        move |_: MouseEvent| {
            let (more, toast) = (more.clone(), toast.clone());
            let filter = HistoryQuery {
                cursor: more.1.clone(),
                ..filter.clone()
            };
            spawn_local(async move {
                match api::history(&filter).await {
                    Ok(next) => {
                        let mut items = more.0.clone();
                        items.extend(next.items);
                        more.set((items, next.next_cursor));
                    }
                    Err(problem) => toast.error(problem.detail),
                }
            });
        }
    };
    let on_text = {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |event: InputEvent| {
            set_query.emit(query.with("q", &event.target_unchecked_into::<HtmlInputElement>().value()))
        }
    };
    let on_state = {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |event: Event| {
            set_query.emit(query.with(
                "state",
                &event.target_unchecked_into::<HtmlSelectElement>().value(),
            ))
        }
    };
    let clear = {
        let set_query = set_query.clone();
        move |_: MouseEvent| set_query.emit(crate::model::query::QueryMap::default())
    };
    let filtered = filter != HistoryQuery::default();
    let stale = page.result.error.is_some();
    html! {
        <>
            <div class="page-head"><div><h1>{ t!(nav_history) }</h1><p>{ t!(history_text) }</p></div></div>
            <DatabaseBanner />
            if let Some(problem) = page.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(history_not_read), problem, on_retry: page.reload.clone() }).view() }
            }
            <section class="panel" aria-label={t!(past_restores)}>
                <div class="fleet-tools">
                    <div class="query" role="search">
                        { glyph("search") }
                        <input type="text" data-search="" aria-label={t!(filter_history)} placeholder={t!(history_hint)} value={text} oninput={on_text} autocomplete="off" spellcheck="false" data-testid="history-search" />
                        <kbd aria-hidden="true">{ "/" }</kbd>
                    </div>
                    <select class="select auto" aria-label={t!(state)} onchange={on_state} data-testid="history-state">
                        <option value="" selected={state.is_empty()}>{ t!(any_state) }</option>
                        { for STATES.iter().map(|(word, s)| html! { <option value={*word} selected={state == *word}>{ job_look(*s).word }</option> }) }
                    </select>
                    if let Some((_, at)) = page.result.data.as_ref().filter(|_| stale) {
                        { yew::props!(StaleNote { since_ms: *at }).view() }
                    }
                </div>
                { match page.result.value() {
                    Some(first) if first.items.is_empty() && filtered => yew::props!(Empty { icon: "filter", title: t!(no_restore_matches), children: html! { <button type="button" class="btn" onclick={clear}>{ t!(clear_search) }</button> } }).view(),
                    Some(first) if first.items.is_empty() => yew::props!(Empty { icon: "history", title: t!(no_history), text: t!(no_history_text) }).view(),
                    Some(first) => html! {
                        <div class="scroll-x" tabindex="0" role="region" aria-label={t!(restores_table)}>
                            <table class={classes!("table", "history", stale.then_some("stale"))}>
                                <thead><tr>
                                    <th scope="col" aria-sort="descending">{ t!(requested) }</th><th scope="col">{ t!(restore) }</th><th scope="col">{ t!(store) }</th><th scope="col">{ t!(state) }</th>
                                    <th scope="col" class="num">{ t!(size) }</th><th scope="col" class="num">{ t!(duration) }</th><th scope="col" class="num">{ t!(rate) }</th><th scope="col">{ t!(to_head) }</th><th scope="col">{ t!(user) }</th>
                                </tr></thead>
                                <tbody>{ for first.items.iter().chain(&more.0).map(|item| html! { <Row key={item.job.id.to_string()} item={item.clone()} /> }) }</tbody>
                            </table>
                        </div>
                    },
                    None if stale => html! {},
                    None => yew::props!(Skeleton { label: t!(reading_history), lines: 6 }).view(),
                } }
                if more.1.is_some() {
                    <div class="grid-foot"><button type="button" class="btn" onclick={on_more} data-testid="history-more">{ t!(older) }</button></div>
                }
            </section>
        </>
    }
}

#[derive(Properties, PartialEq)]
struct RowProps {
    item: HistoryItem,
}

#[component(Row)]
fn row(props: &RowProps) -> Html {
    let job = &props.item.job;
    let navigator = use_navigator();
    // the link in the row is the way for keyboards; a click may land anywhere in it
    let onclick = {
        let id = job.id;
        move |event: MouseEvent| {
            if let Some(navigator) = navigator.as_ref().filter(|_| !event.default_prevented()) {
                navigator.push(&Route::HistoryItem { id });
            }
        }
    };
    let totals = job.totals.clone().unwrap_or_default();
    let figure = |known: bool, text: String| if known { text } else { "–".to_owned() };
    html! {
        <tr class="row-link" {onclick} data-testid="history-row" data-job={job.id.to_string()}>
            <td class="soft c-when">{ yew::props!(When { at: job.created_at }).view() }</td>
            <th scope="row" class="c-what"><Link<Route> to={Route::HistoryItem { id: job.id }}>{ title(job) }</Link<Route>></th>
            <td class="c-store"><Link<Route> to={Route::Store { name: job.source.store.clone() }} classes="plain">{ job.source.store.clone() }</Link<Route>></td>
            <td class="c-state">{ yew::props!(Word { look: job_look(job.state), title: job.error.as_ref().map(|e| e.message.clone()) }).view() }</td>
            <td class="num">{ format::bytes(job.progress.bytes_total) }</td>
            <td class="num">{ figure(totals.duration_ns > 0, format::duration_ns(totals.duration_ns)) }</td>
            <td class="num">{ figure(totals.rate_bytes_per_s > 0, format::rate(totals.rate_bytes_per_s as f64)) }</td>
            <td class="mono">{ target(job) }</td>
            <td class="soft">{ job.user.clone() }</td>
        </tr>
    }
}
