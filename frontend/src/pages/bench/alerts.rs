//! Series that got worse: seen, confirmed by a second run, known to somebody, or muted.

use fleethold_api_types::bench::{Alert, AlertState, ChangeAlert};
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;
use yew_router::prelude::*;

use super::{
    history::series_words,
    words::{Tabs, alert_look},
};
use crate::{
    api::bench::{self, word},
    app::use_app,
    live::{topic, use_topics},
    model::{
        query::QueryMap,
        unit::{change, probability},
    },
    pages::history::DatabaseBanner,
    route::Route,
    t,
    ui::{
        Dialog, Empty, ProblemAlert, Skeleton, When, Word, glyph,
        hooks::{use_load, use_query, use_title},
        toast::use_toast,
    },
};

const STATES: [AlertState; 5] = [
    AlertState::Open,
    AlertState::Confirmed,
    AlertState::Acknowledged,
    AlertState::Muted,
    AlertState::Gone,
];

/// The page.
#[component(AlertsPage)]
pub fn alerts_page() -> Html {
    use_title(t!(bench.alerts));
    let (query, set_query) = use_query();
    let state = STATES.into_iter().find(|s| word(s) == query.get("state"));
    let app = use_app();
    use_topics(&app.live, topic::ALERTS);
    // asked again whenever the feed tells of one; what is shown stays until the answer is there
    let told = app.live.read().alerts.told;
    let alerts = use_load((state, told), |(state, _)| async move {
        bench::bench_alerts(state).await
    });
    let changing = use_state(|| None::<(Alert, AlertState)>);
    let on_state = {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |event: Event| {
            set_query.emit(query.with(
                "state",
                &event.target_unchecked_into::<HtmlSelectElement>().value(),
            ))
        }
    };
    let clear = move |_: MouseEvent| set_query.emit(QueryMap::default());
    let ask = {
        let changing = changing.clone();
        Callback::from(move |what: (Alert, AlertState)| changing.set(Some(what)))
    };
    let close = {
        let changing = changing.clone();
        Callback::from(move |()| changing.set(None))
    };
    html! {
        <>
            <div class="page-head"><div><h1>{ t!(bench.alerts) }</h1><p>{ t!(bench.alerts_text) }</p></div></div>
            <Tabs here={Route::BenchAlerts} />
            <DatabaseBanner />
            if let Some(problem) = alerts.result.error.clone() {
                { yew::props!(ProblemAlert { title: t!(bench.alerts_not_read), problem, on_retry: alerts.reload.clone() }).view() }
            }
            <section class="panel" aria-labelledby="al-h" data-testid="alerts">
                <div class="panel-head">
                    <h2 id="al-h">{ t!(bench.got_worse) }</h2>
                    <select class="select auto" aria-label={t!(state)} onchange={on_state}>
                        <option value="" selected={state.is_none()}>{ t!(any_state) }</option>
                        { for STATES.into_iter().map(|s| html! { <option value={word(&s)} selected={state == Some(s)}>{ alert_look(s).word }</option> }) }
                    </select>
                </div>
                { match alerts.result.value() {
                    Some(list) if list.is_empty() && state.is_some() => yew::props!(Empty { icon: "filter", title: t!(bench.no_alert_matches), children: html! { <button type="button" class="btn" onclick={clear}>{ t!(clear_search) }</button> } }).view(),
                    Some(list) if list.is_empty() => yew::props!(Empty { icon: "ok", title: t!(bench.no_alerts), text: t!(bench.no_alerts_text) }).view(),
                    Some(list) => html! { <ul class="alerts">{ for list.iter().map(|a| html! { <Row key={a.id} alert={a.clone()} on_ask={ask.clone()} /> }) }</ul> },
                    None if alerts.result.error.is_some() => html! {},
                    None => yew::props!(Skeleton { label: t!(bench.reading_alerts), lines: 3 }).view(),
                } }
            </section>
            if let Some((alert, to)) = (*changing).clone() {
                <Change {alert} {to} on_close={close} on_changed={alerts.reload.clone()} />
            }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct RowProps {
    alert: Alert,
    on_ask: Callback<(Alert, AlertState)>,
}

#[component(Row)]
fn row(props: &RowProps) -> Html {
    let a = &props.alert;
    let series = QueryMap::default().with("series", &a.series.id.to_string());
    let pair = QueryMap::default()
        .with("before", &a.against.to_string())
        .with("after", &a.run.to_string());
    let ask = |to: AlertState, text: &'static str| {
        let (on_ask, alert) = (props.on_ask.clone(), a.clone());
        let onclick = move |_: MouseEvent| on_ask.emit((alert.clone(), to));
        html! { <button type="button" class="btn" {onclick} data-testid={format!("alert-{}", word(&to))}>{ text }</button> }
    };
    let said = (!a.changed_by.is_empty()).then(|| {
        let by = t!(
            bench.changed_by,
            user = a.changed_by,
            at = crate::clock::date_time(a.changed_at)
        );
        if a.reason.is_empty() {
            by
        } else {
            format!("{by}: {}", a.reason)
        }
    });
    html! {
        <li data-testid="alert" data-alert={a.id.to_string()} data-alert-state={word(&a.state)}>
            { yew::props!(Word { look: alert_look(a.state) }).view() }
            <div class="t">
                <p><b>{ &a.series.workload }</b>{ " " }<Link<Route, QueryMap> to={Route::BenchHistory} query={Some(series)}>{ series_words(&a.series) }</Link<Route, QueryMap>></p>
                <p class="soft">{ t!(bench.seen_at) }{ " " }{ yew::props!(When { at: a.opened_at }).view() }
                    if let Some(run) = a.confirmed_by { { ", " }<Link<Route> to={Route::BenchRun { id: run }}>{ t!(bench.confirmed_by_run) }</Link<Route>> }
                </p>
                if let Some(said) = said { <p class="soft">{ said }</p> }
            </div>
            <span class="num"><span class="verdict" data-v="slower">{ glyph("slower") }{ change(a.ratio) }</span><small>{ format!("p {}", probability(a.p)) }</small></span>
            <span class="cluster">
                <Link<Route, QueryMap> to={Route::BenchCompare} query={Some(pair)} classes="btn">{ t!(bench.compare) }</Link<Route, QueryMap>>
                { match a.state {
                    AlertState::Open | AlertState::Confirmed => html! { <>{ ask(AlertState::Acknowledged, t!(bench.acknowledge)) }{ ask(AlertState::Muted, t!(bench.mute)) }</> },
                    AlertState::Acknowledged | AlertState::Muted => ask(AlertState::Open, t!(bench.reopen)),
                    AlertState::Gone => html! {},
                } }
            </span>
        </li>
    }
}

#[derive(Properties, PartialEq)]
struct ChangeProps {
    alert: Alert,
    to: AlertState,
    on_close: Callback<()>,
    on_changed: Callback<()>,
}

/// Asks why.
#[component(Change)]
fn change_dialog(props: &ChangeProps) -> Html {
    let reason = use_state(String::new);
    let busy = use_state(|| false);
    let toast = use_toast();
    let (title, text) = match props.to {
        AlertState::Acknowledged => (t!(bench.acknowledge), t!(bench.acknowledge_text)),
        AlertState::Muted => (t!(bench.mute), t!(bench.mute_text)),
        _ => (t!(bench.reopen), t!(bench.reopen_text)),
    };
    // taking something back needs no reason
    let needed = props.to != AlertState::Open;
    let oninput = {
        let reason = reason.clone();
        move |event: InputEvent| reason.set(event.target_unchecked_into::<HtmlInputElement>().value())
    };
    let send = {
        let (busy, reason, id, state) = (busy.clone(), reason.clone(), props.alert.id, props.to);
        let (close, changed) = (props.on_close.clone(), props.on_changed.clone());
        move |_: MouseEvent| {
            let body = ChangeAlert {
                state,
                reason: reason.trim().to_owned(),
            };
            let (busy, toast, close, changed) = (busy.clone(), toast.clone(), close.clone(), changed.clone());
            busy.set(true);
            spawn_local(async move {
                match bench::change_alert(id, &body).await {
                    Ok(_) => {
                        changed.emit(());
                        close.emit(());
                    }
                    Err(problem) => {
                        toast.error(problem.detail);
                        busy.set(false);
                    }
                }
            });
        }
    };
    let footer = html! {
        <>
            <span class="grow" />
            <button type="button" class="btn" onclick={props.on_close.reform(|_: MouseEvent| ())}>{ t!(cancel) }</button>
            <button type="button" class="btn btn-primary" disabled={*busy || (needed && reason.trim().is_empty())} onclick={send} data-testid="alert-change">{ title }</button>
        </>
    };
    html! {
        <Dialog {title} subtitle={text} on_close={props.on_close.clone()} {footer} class="narrow">
            <div class="dialog-pad"><div class="field">
                <label for="alert-why">{ t!(bench.reason) }</label>
                <input id="alert-why" class="input" maxlength="400" autocomplete="off" value={(*reason).clone()} {oninput} data-testid="alert-reason" />
            </div></div>
        </Dialog>
    }
}
