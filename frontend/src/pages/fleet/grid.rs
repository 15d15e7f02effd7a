//! The virtual grid: as many rows in the document as fit the screen, however many stores there are.

use std::rc::Rc;

use fleethold_api_types::StoreRow;
use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use yew::prelude::*;
use yew_router::prelude::*;

use super::row::Row;
use crate::{
    clock,
    model::{
        fleet::{Column, Sort},
        window,
    },
    route::Route,
    t,
    ui::{Empty, glyph, hooks},
};

/// Props of [`Grid`].
#[derive(Properties, PartialEq)]
pub(super) struct GridProps {
    /// What matches, in order.
    pub rows: Vec<Rc<StoreRow>>,
    /// Stores in the fleet.
    pub all: usize,
    /// The search, to say what matched nothing.
    pub text: String,
    /// Sort in force.
    pub sort: Sort,
    /// Another sort.
    pub on_sort: Callback<Sort>,
}

/// Rows kept beyond each edge of the screen.
const OVER: usize = 8;

#[derive(Clone, Copy, PartialEq)]
struct Viewport {
    /// From the top of the screen to the first row, CSS pixels; rounded so that equal is equal.
    top: i32,
    height: i32,
    row: i32,
}

/// The grid.
#[component(Grid)]
pub(super) fn grid(props: &GridProps) -> Html {
    let body = use_node_ref();
    let viewport = use_state_eq(|| Viewport {
        top: 0,
        height: 900,
        row: 28,
    });
    let focus = use_state(|| 0usize);
    let wants_focus = use_mut_ref(|| false);
    let navigator = use_navigator();
    let count = props.rows.len();
    let focused = (*focus).min(count.saturating_sub(1));
    use_viewport(&body, &viewport, count);
    let px = f64::from(viewport.row);
    let shown = window::visible(
        f64::from(viewport.top),
        f64::from(viewport.height),
        px,
        count,
        OVER,
    );
    let page = (viewport.height / viewport.row.max(1)).max(2) as usize - 1;

    // the row that gets the focus by key may only now be in the document
    use_effect_with((focused, shown.clone()), {
        let (body, wants_focus) = (body.clone(), wants_focus.clone());
        move |(focused, _)| {
            let mut wants_focus = wants_focus.borrow_mut();
            if *wants_focus {
                *wants_focus = !hooks::focus_moved_elsewhere(&body) && !hooks::focus_index(&body, *focused);
            }
        }
    });
    let open = {
        let rows = props.rows.clone();
        move |index: usize| {
            if let (Some(row), Some(navigator)) = (rows.get(index), &navigator) {
                navigator.push(&Route::Store {
                    name: row.name.clone(),
                });
            }
        }
    };
    // a row scrolled out of the document cannot hold the tab stop
    let stop = if shown.contains(&focused) {
        focused
    } else {
        shown.start
    };
    let onkeydown = {
        let (focus, open, body) = (focus.clone(), open.clone(), body.clone());
        move |event: KeyboardEvent| {
            let Some(index) = index_of(&event) else {
                if header_key(&event, &body, stop) {
                    event.prevent_default();
                }
                return;
            };
            if event.key() == "ArrowUp" && index == 0 {
                if focus_header(&body) {
                    event.prevent_default();
                }
            } else if event.key() == "Enter" {
                event.prevent_default();
                open(index);
            } else if let Some(next) = window::next_row(&event.key(), index, count, page) {
                event.prevent_default();
                *wants_focus.borrow_mut() = true;
                focus.set(next);
                scroll_to(&body, next, px);
            }
        }
    };
    let onclick = {
        let focus = focus.clone();
        move |event: MouseEvent| {
            if let Some(index) = index_of(&event) {
                focus.set(index);
                open(index);
            }
        }
    };
    let minute = clock::now_s() / 60;
    // always there and keyed like the rows: otherwise the rows would lose their identity, and the focus with it
    let spacer = |key: &'static str, rows: usize| {
        html! { <svg {key} class="grid-gap" width="1" height={(rows as f64 * px).to_string()} aria-hidden="true" /> }
    };
    html! {
        <div class="grid-wrap">
            <div class="grid grid-fleet" role="grid" aria-label={t!(stores)} aria-rowcount={(count + 1).to_string()} aria-colcount="8" data-testid="fleet-grid" {onkeydown} {onclick}>
                <Head sort={props.sort} on_sort={props.on_sort.clone()} alone={count == 0} />
                <div class="grid-body" role="rowgroup" ref={body}>
                    { spacer("above", shown.start) }
                    { for shown.clone().filter_map(|index| props.rows.get(index).map(|row| (index, row))).map(|(index, row)| html! {
                        <Row key={row.name.clone()} row={row.clone()} {index} focus={index == stop} {minute} />
                    }) }
                    { spacer("below", count - shown.end) }
                </div>
            </div>
            if count == 0 {
                { yew::props!(Empty { icon: "filter", title: t!(no_match), text: t!(no_match_text, text = props.text, all = crate::model::format::integer(props.all as u64)) }).view() }
            }
        </div>
    }
}

/// Follows scrolling and size of the window, once a frame at most.
#[hook]
fn use_viewport(body: &NodeRef, viewport: &UseStateHandle<Viewport>, rows: usize) {
    let measure = {
        let (body, viewport) = (body.clone(), viewport.clone());
        move || {
            let Some(element) = body.cast::<HtmlElement>() else {
                return;
            };
            let height = web_sys::window()
                .and_then(|w| w.inner_height().ok())
                .and_then(|h| h.as_f64())
                .unwrap_or(900.0);
            let row = element
                .query_selector(".grid-row")
                .ok()
                .flatten()
                .map_or(28.0, |row| row.get_bounding_client_rect().height());
            let top = element.get_bounding_client_rect().top();
            viewport.set(Viewport {
                top: top.round() as i32,
                height: height.round() as i32,
                row: row.round().max(1.0) as i32,
            });
        }
    };
    {
        let measure = measure.clone();
        use_effect_with(rows, move |_| measure());
    }
    use_effect_with((), move |()| {
        let frame = Rc::new(std::cell::RefCell::new(None));
        let later = {
            let frame = frame.clone();
            move || {
                let (measure, done) = (measure.clone(), frame.clone());
                if frame.borrow().is_none() {
                    *frame.borrow_mut() = Some(gloo::render::request_animation_frame(move |_| {
                        done.borrow_mut().take();
                        measure();
                    }));
                }
            }
        };
        let listeners: Vec<EventListener> = web_sys::window()
            .into_iter()
            .flat_map(|window| {
                let (on_scroll, on_resize) = (later.clone(), later.clone());
                [
                    EventListener::new(&window, "scroll", move |_| on_scroll()),
                    EventListener::new(&window, "resize", move |_| on_resize()),
                ]
            })
            .collect();
        move || {
            drop(listeners);
            frame.borrow_mut().take();
        }
    });
}

/// The row an event happened in.
fn index_of(event: &Event) -> Option<usize> {
    let element = event.target()?.dyn_into::<Element>().ok()?;
    element
        .closest("[data-index]")
        .ok()??
        .get_attribute("data-index")?
        .parse()
        .ok()
}

/// The buttons of the header that are on the screen: on a phone there are none.
fn header_buttons(body: &NodeRef) -> Vec<HtmlElement> {
    let Some(list) = body
        .cast::<Element>()
        .and_then(|b| b.parent_element())
        .and_then(|grid| grid.query_selector_all(".grid-head button").ok())
    else {
        return Vec::new();
    };
    (0..list.length())
        .filter_map(|i| list.item(i)?.dyn_into::<HtmlElement>().ok())
        .filter(|button| button.offset_parent().is_some())
        .collect()
}

/// Up from the first row: to the column the grid is sorted by.
fn focus_header(body: &NodeRef) -> bool {
    let buttons = header_buttons(body);
    let sorted = buttons
        .iter()
        .find(|b| b.closest("[aria-sort]").is_ok_and(|cell| cell.is_some()));
    sorted.or(buttons.first()).is_some_and(|b| b.focus().is_ok())
}

/// Arrows in the header: sideways through the columns, down to the rows. Enter and Space sort, as on any button.
fn header_key(event: &KeyboardEvent, body: &NodeRef, row: usize) -> bool {
    let buttons = header_buttons(body);
    let target = event.target();
    let Some(at) = buttons
        .iter()
        .position(|b| target.as_ref().is_some_and(|t| js_sys::Object::is(t, b)))
    else {
        return false;
    };
    let next = match event.key().as_str() {
        "ArrowRight" => at + 1,
        "ArrowLeft" => at.saturating_sub(1),
        "Home" => 0,
        "End" => buttons.len().saturating_sub(1),
        "ArrowDown" => return hooks::focus_index(body, row),
        _ => return false,
    };
    buttons.get(next).is_some_and(|b| b.focus().is_ok())
}

/// Scrolls the window so that a row is inside it, below the bar and the header.
fn scroll_to(body: &NodeRef, index: usize, row_px: f64) {
    let (Some(element), Some(window)) = (body.cast::<Element>(), web_sys::window()) else {
        return;
    };
    let height = window
        .inner_height()
        .ok()
        .and_then(|h| h.as_f64())
        .unwrap_or(900.0);
    let top = element.get_bounding_client_rect().top() + index as f64 * row_px;
    let (upper, lower) = (48.0 + 30.0, height - row_px - 68.0);
    let by = if top < upper {
        top - upper
    } else if top > lower {
        top - lower
    } else {
        return;
    };
    window.scroll_by_with_x_and_y(0.0, by);
}

#[derive(Properties, PartialEq)]
struct HeadProps {
    sort: Sort,
    on_sort: Callback<Sort>,
    /// There are no rows: the header has the tab stop.
    alone: bool,
}

#[component(Head)]
fn head(props: &HeadProps) -> Html {
    let column = |column: Column, class: &'static str, word: &'static str| {
        let on = props.sort.column == column;
        let sort = props.sort;
        let direction = match (on, sort.descending) {
            (false, _) => None,
            (true, true) => Some("descending"),
            (true, false) => Some("ascending"),
        };
        html! {
            <div class={classes!("cell", class)} role="columnheader" aria-sort={direction}>
                <button type="button" tabindex={if props.alone && on { "0" } else { "-1" }} onclick={props.on_sort.reform(move |_: MouseEvent| sort.clicked(column))} data-testid={format!("sort-{}", column.key())}>
                    { word }
                    if on {
                        { glyph(if sort.descending { "down" } else { "up" }) }
                    }
                </button>
            </div>
        }
    };
    html! {
        <div class="grid-row grid-head" role="row" aria-rowindex="1">
            { column(Column::State, "c-state", t!(state)) }
            { column(Column::Name, "c-name", t!(name)) }
            { column(Column::Used, "c-used", t!(used)) }
            { column(Column::Size, "num c-size", t!(size)) }
            { column(Column::Snapshots, "num c-snaps", t!(snapshots)) }
            { column(Column::LastBackup, "num c-last", t!(last_backup)) }
            { column(Column::Failed, "c-verify col-wide", t!(verified)) }
            { column(Column::Maintenance, "c-maint", t!(state_maintenance)) }
        </div>
    }
}
