//! Fleet: the strip of figures, the heat map and the grid of all stores, all three over the same search.

mod grid;
mod heat;
mod row;
mod strip;
mod tools;

use yew::prelude::*;

use crate::{
    app::use_app,
    clock,
    live::{topic, use_topics},
    model::{fleet::Sort, search::Search},
    t,
    ui::{
        Empty, ProblemAlert, Skeleton,
        hooks::{use_query, use_query_push, use_tick, use_title},
    },
};

/// The page.
#[component(FleetPage)]
pub fn fleet_page() -> Html {
    let app = use_app();
    use_title(t!(nav_fleet));
    use_topics(&app.live, topic::FLEET);
    // ages grow although nothing happens
    use_tick(30_000);
    let (query, set_query) = use_query();
    let text = query.get("q").to_owned();
    let sort = Sort::parse(query.get("sort"));
    let search = use_memo(text.clone(), |text| Search::parse(text));
    let on_search = {
        let (query, set_query) = (query.clone(), set_query.clone());
        Callback::from(move |text: String| set_query.emit(query.with("q", &text)))
    };
    let push_query = use_query_push();
    let on_sort = {
        let (query, push_query) = (query.clone(), push_query.clone());
        Callback::from(move |sort: Sort| push_query.emit(query.with("sort", &sort.to_param())))
    };
    let on_figure = {
        let query = query.clone();
        Callback::from(move |text: String| push_query.emit(query.with("q", &text)))
    };
    let state = app.live.read();
    let rows = state.fleet.order(&search, sort, clock::now_s());
    let (all, loaded, error) = (state.fleet.len(), state.fleet.loaded, state.fleet_error.clone());
    let everything = state.fleet.rows().to_vec();
    drop(state);
    let live = app.live.clone();
    html! {
        <>
            <h1 class="vh">{ t!(nav_fleet) }</h1>
            <strip::Strip text={text.clone()} on_search={on_figure} />
            if let Some(problem) = error {
                { yew::props!(ProblemAlert { title: t!(stores_not_read), problem, on_retry: Callback::from(move |()| live.fetch_fleet()) }).view() }
            }
            if loaded && all == 0 {
                <section class="panel">
                    { yew::props!(Empty { icon: "disk", title: t!(no_stores), text: t!(no_stores_text), children: html! { <code class="well">{ "fleethold store add NAME /path/to/datastore" }</code> } }).view() }
                </section>
            } else if loaded {
                <heat::HeatMap rows={everything} />
                <section class="panel" aria-label={t!(stores)}>
                    <tools::Tools text={text.clone()} problems={search.problems.clone()} {on_search} rows={rows.clone()} {all} />
                    <grid::Grid {rows} {all} {text} {sort} {on_sort} />
                </section>
            } else {
                <section class="panel">{ yew::props!(Skeleton { label: t!(reading_stores), lines: 8 }).view() }</section>
            }
        </>
    }
}
