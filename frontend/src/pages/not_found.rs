//! An address that is no page.

use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    route::Route,
    t,
    ui::{Empty, hooks::use_title},
};

/// The page.
#[component(NotFound)]
pub fn not_found() -> Html {
    use_title(t!(not_found));
    html! {
        <>
            <h1 class="vh">{ t!(not_found) }</h1>
            { yew::props!(Empty { icon: "search", title: t!(not_found), text: t!(not_found_text), children: html! { <Link<Route> to={Route::Fleet} classes="btn btn-primary">{ t!(keys_fleet) }</Link<Route>> } }).view() }
        </>
    }
}
