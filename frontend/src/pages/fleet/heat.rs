//! All stores at a glance; a click opens one.

use std::rc::Rc;

use fleethold_api_types::StoreRow;
use web_sys::{Element, ScrollIntoViewOptions, ScrollLogicalPosition};
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    model::{
        format,
        heat::{self, Block, Cell, Shade},
    },
    route::Route,
    t, tn,
    ui::{
        glyph,
        hooks::use_query,
        state::{Word, store_look},
    },
};

/// Props of [`HeatMap`].
#[derive(Properties, PartialEq)]
pub(super) struct HeatProps {
    /// All stores.
    pub rows: Vec<Rc<StoreRow>>,
}

/// Blocks at most; a fleet without groups in its names is one block.
const BLOCKS: usize = 16;

/// The panel. One tab stop; arrows move the pick, Enter opens it.
#[component(HeatMap)]
pub(super) fn heat_map(props: &HeatProps) -> Html {
    let (query, set_query) = use_query();
    let navigator = use_navigator();
    let shade = if query.get("heat") == "fill" {
        Shade::Fill
    } else {
        Shade::Health
    };
    let picked = use_state_eq(|| None::<Cell>);
    // what the pointer passes over is not read out, what keys pick is
    let by_key = use_state_eq(|| false);
    let blocks = use_memo((props.rows.clone(), shade), |(rows, shade)| {
        heat::blocks(rows, *shade, BLOCKS, t!(heat_rest))
    });
    let choose = |value: &'static str| {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |_: MouseEvent| set_query.emit(query.with("heat", value))
    };
    let store_at = {
        let blocks = blocks.clone();
        move |(block, cell): Cell| blocks.get(block)?.stores.get(cell).cloned()
    };
    let open = {
        let store_at = store_at.clone();
        Callback::from(move |cell: Cell| {
            if let (Some(row), Some(navigator)) = (store_at(cell), &navigator) {
                navigator.push(&Route::Store {
                    name: row.name.clone(),
                });
            }
        })
    };
    let onkeydown = {
        let (picked, by_key, open, blocks) = (picked.clone(), by_key.clone(), open.clone(), blocks.clone());
        move |event: KeyboardEvent| {
            match (event.key().as_str(), *picked) {
                ("Enter" | " ", Some(cell)) => open.emit(cell),
                ("Escape", Some(_)) => picked.set(None),
                (key, at) => match heat::step(&blocks, at, key) {
                    Some(next) => {
                        by_key.set(true);
                        picked.set(Some(next));
                    }
                    None => return,
                },
            }
            event.prevent_default();
        }
    };
    let on_point = {
        let (picked, by_key) = (picked.clone(), by_key.clone());
        Callback::from(move |cell: Option<Cell>| {
            by_key.set(false);
            picked.set(cell);
        })
    };
    let onfocusout = {
        let picked = picked.clone();
        move |_: FocusEvent| picked.set(None)
    };
    let shown = picked.and_then(store_at);
    html! {
        <section class="panel" aria-labelledby="heat-h">
            <div class="panel-head">
                <h2 id="heat-h">{ t!(all_stores) }</h2>
                <span class="note heat-readout" id="heat-now" aria-live={if *by_key { "polite" } else { "off" }} data-testid="heat-readout">
                    if let Some(row) = shown {
                        { yew::props!(Word { look: store_look(row.state), text: row.name.clone() }).view() }
                        { row.usage.map(|u| format!(" · {}", format::percent(format::ratio(u.used_bytes, u.total_bytes)))) }
                    }
                </span>
                <span class="seg" role="group" aria-label={t!(colour_by)}>
                    <button type="button" aria-pressed={(shade == Shade::Health).to_string()} onclick={choose("")}>{ t!(health) }</button>
                    <button type="button" aria-pressed={(shade == Shade::Fill).to_string()} onclick={choose("fill")}>{ t!(fill) }</button>
                </span>
            </div>
            <div class="panel-body stack">
                <div class="heat" role="group" aria-label={t!(heat_map)} aria-describedby="heat-now" tabindex="0" {onkeydown} {onfocusout} data-testid="heat">
                    { for blocks.iter().enumerate().map(|(i, block)| html! {
                        <HeatBlock key={block.label.clone()} number={i} block={block.clone()} picked={picked.filter(|p| p.0 == i).map(|p| p.1)} follow={*by_key} on_point={on_point.clone()} on_open={open.clone()} />
                    }) }
                </div>
                <Legend />
            </div>
        </section>
    }
}

#[derive(Properties, PartialEq)]
struct BlockProps {
    number: usize,
    block: Block,
    /// The picked cell, when it is in this block.
    picked: Option<usize>,
    /// It was picked by key: a map that scrolls sideways brings it into view.
    follow: bool,
    on_point: Callback<Option<Cell>>,
    on_open: Callback<Cell>,
}

#[component(HeatBlock)]
fn heat_block(props: &BlockProps) -> Html {
    let block = &props.block;
    let (width, height) = (block.width(), heat::HEIGHT * heat::PITCH - 1);
    // yew handles events at the root of the page: `current_target` would not be the drawing
    let drawing = use_node_ref();
    use_effect_with(props.follow && props.picked.is_some(), {
        let drawing = drawing.clone();
        move |follow: &bool| {
            if let Some(drawing) = drawing.cast::<Element>().filter(|_| *follow) {
                let nearest = ScrollIntoViewOptions::new();
                nearest.set_block(ScrollLogicalPosition::Nearest);
                nearest.set_inline(ScrollLogicalPosition::Nearest);
                drawing.scroll_into_view_with_scroll_into_view_options(&nearest);
            }
        }
    });
    let cell = {
        let (block, number, drawing) = (block.clone(), props.number, drawing.clone());
        move |event: &MouseEvent| {
            let rect = drawing.cast::<Element>()?.get_bounding_client_rect();
            let at = block.at(
                f64::from(event.client_x()) - rect.left(),
                f64::from(event.client_y()) - rect.top(),
            )?;
            Some((number, at))
        }
    };
    let onmousemove = {
        let (cell, on_point) = (cell.clone(), props.on_point.clone());
        move |event: MouseEvent| on_point.emit(cell(&event))
    };
    let onmouseleave = props.on_point.reform(|_: MouseEvent| None);
    let onclick = {
        let on_open = props.on_open.clone();
        move |event: MouseEvent| {
            if let Some(cell) = cell(&event) {
                on_open.emit(cell);
            }
        }
    };
    let count = format::integer(block.stores.len() as u64);
    let label = tn!(
        block.stores.len() as u64,
        heat_label_one,
        heat_label,
        name = block.label,
        errors = format::integer(block.errors as u64),
        warnings = format::integer(block.warnings as u64)
    );
    let pick = props.picked.map(|cell| {
        let (x, y) = Block::place(cell);
        let edge = |class: &'static str| html! { <rect {class} x={(x as f64 - 1.5).to_string()} y={(y as f64 - 1.5).to_string()} width="7" height="7" /> };
        html! { <>{ edge("halo") }{ edge("pick") }</> }
    });
    html! {
        <div class="heat-group">
            <h3>
                { block.label.clone() }{ " " }<span class="n">{ count }</span>
                if block.errors >= 3 {
                    <span class="bad">{ glyph("error") }{ format::integer(block.errors as u64) }</span>
                }
            </h3>
            <svg
                ref={drawing} width={width.to_string()} height={height.to_string()} viewBox={format!("0 0 {width} {height}")}
                overflow="visible" role="img" aria-label={label} {onmousemove} {onmouseleave} {onclick}
            >
                <rect width="100%" height="100%" fill="transparent" />
                { for block.paths.iter().map(|(class, d)| html! { <path class={*class} d={d.clone()} /> }) }
                { pick }
            </svg>
        </div>
    }
}

#[component(Legend)]
fn legend() -> Html {
    html! {
        <div class="key">
            <span>
                <span class="ramp" aria-hidden="true">
                    { for ["var(--h1)", "var(--h2)", "var(--h3)", "var(--h4)"].into_iter().map(|fill| html! { <svg><rect width="12" height="10" {fill} /></svg> }) }
                </span>
                { t!(key_ok) }
            </span>
            <span><svg class="swatch" aria-hidden="true"><path d="M0 10h10L5 0z" fill="var(--h-warn)" /></svg>{ t!(key_warning) }</span>
            <span><svg class="swatch" aria-hidden="true"><rect width="10" height="10" fill="var(--h-error)" /></svg>{ t!(key_error) }</span>
            <span><svg class="swatch" aria-hidden="true"><rect x=".75" y=".75" width="8.5" height="8.5" fill="none" stroke="var(--h-off)" stroke-width="1.5" /></svg>{ t!(key_offline) }</span>
        </div>
    }
}
