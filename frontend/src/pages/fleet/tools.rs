//! Above the grid: the search, what it did not understand, and the list as a file.

use std::rc::Rc;

use fleethold_api_types::StoreRow;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement};
use yew::prelude::*;

use crate::{
    model::{csv, format, search::Misread},
    t, tn,
    ui::{glyph, small_glyph, toast::use_toast},
};

/// Props of [`Tools`].
#[derive(Properties, PartialEq)]
pub(super) struct ToolsProps {
    /// The search as typed.
    pub text: String,
    /// Terms that mean nothing.
    pub problems: Vec<Misread>,
    /// A new search.
    pub on_search: Callback<String>,
    /// What matches.
    pub rows: Vec<Rc<StoreRow>>,
    /// Stores in the fleet.
    pub all: usize,
}

/// The row of tools.
#[component(Tools)]
pub(super) fn tools(props: &ToolsProps) -> Html {
    let toast = use_toast();
    let oninput = props
        .on_search
        .reform(|event: InputEvent| event.target_unchecked_into::<HtmlInputElement>().value());
    let onkeydown = {
        let on_search = props.on_search.clone();
        move |event: KeyboardEvent| match event.key().as_str() {
            "Escape" => on_search.emit(String::new()),
            "ArrowDown" | "Enter" if enter_grid() => event.prevent_default(),
            _ => {}
        }
    };
    let export = {
        let rows = props.rows.clone();
        move |_: MouseEvent| {
            let text = csv::stores(&rows);
            match crate::ui::download::save("stores.csv", "text/csv", text.as_bytes()) {
                Ok(()) => toast.ok(tn!(rows.len() as u64, csv_saved_one, csv_saved)),
                Err(problem) => toast.error(problem.detail),
            }
        }
    };
    html! {
        <>
            <div class="fleet-tools">
                <div class="query" role="search">
                    { glyph("search") }
                    <input type="text" data-search="" aria-label={t!(filter_stores)} placeholder={t!(filter_hint)} value={props.text.clone()} {oninput} {onkeydown} aria-describedby="q-note" autocomplete="off" spellcheck="false" data-testid="fleet-search" />
                    if !props.text.is_empty() {
                        <button type="button" class="btn btn-quiet btn-icon query-clear" aria-label={t!(clear_search)} onclick={props.on_search.reform(|_: MouseEvent| String::new())}>{ small_glyph("x") }</button>
                    } else {
                        <kbd aria-hidden="true">{ "/" }</kbd>
                    }
                </div>
                <span class="note fleet-count" role="status" data-testid="fleet-count">{ t!(matches, n = format::integer(props.rows.len() as u64), all = format::integer(props.all as u64)) }</span>
                <button type="button" class="btn" onclick={export} disabled={props.rows.is_empty()}>{ glyph("save") }{ "CSV" }</button>
            </div>
            if !props.problems.is_empty() {
                <p class="query-note" id="q-note">{ small_glyph("warn") }{ t!(query_ignored, terms = props.problems.iter().map(told).collect::<Vec<_>>().join(", ")) }</p>
            }
        </>
    }
}

/// A term nobody understands, with what could stand there.
fn told(misread: &Misread) -> String {
    if misread.expected.is_empty() {
        misread.term.clone()
    } else {
        t!(
            query_expected,
            term = misread.term,
            choices = misread.expected.join(", ")
        )
    }
}

/// Takes the focus from the search to the row that has the grid's tab stop.
fn enter_grid() -> bool {
    web_sys::window()
        .and_then(|w| w.document())
        .and_then(|d| {
            d.query_selector(".grid-fleet [data-index][tabindex=\"0\"]")
                .ok()
                .flatten()
        })
        .and_then(|row| row.dyn_into::<HtmlElement>().ok())
        .is_some_and(|row| row.focus().is_ok())
}
