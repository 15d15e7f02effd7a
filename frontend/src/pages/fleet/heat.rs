//! All stores at a glance; a click opens one.

use std::rc::Rc;

use fleethold_api_types::StoreRow;
use web_sys::Element;
use yew::prelude::*;
use yew_router::prelude::*;

use crate::{
    model::{
        format,
        heat::{self, Block, Shade},
    },
    route::Route,
    t,
    ui::{
        Icon,
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

/// The panel.
#[component(HeatMap)]
pub(super) fn heat_map(props: &HeatProps) -> Html {
    let (query, set_query) = use_query();
    let shade = if query.get("heat") == "fill" {
        Shade::Fill
    } else {
        Shade::Health
    };
    let pointed = use_state(|| None::<Rc<StoreRow>>);
    let blocks = use_memo((props.rows.clone(), shade), |(rows, shade)| {
        heat::blocks(rows, *shade, BLOCKS, t!(heat_rest))
    });
    let choose = |value: &'static str| {
        let (query, set_query) = (query.clone(), set_query.clone());
        move |_: MouseEvent| set_query.emit(query.with("heat", value))
    };
    html! {
        <section class="panel" aria-labelledby="heat-h">
            <div class="panel-head">
                <h2 id="heat-h">{ t!(all_stores) }</h2>
                <span class="note heat-readout">
                    if let Some(row) = &*pointed {
                        <Word look={store_look(row.state)} text={row.name.clone()} />
                        { row.usage.map(|u| format!(" · {}", format::percent(format::ratio(u.used_bytes, u.total_bytes)))) }
                    }
                </span>
                <span class="seg" role="group" aria-label={t!(colour_by)}>
                    <button type="button" aria-pressed={(shade == Shade::Health).to_string()} onclick={choose("")}>{ t!(health) }</button>
                    <button type="button" aria-pressed={(shade == Shade::Fill).to_string()} onclick={choose("fill")}>{ t!(fill) }</button>
                </span>
            </div>
            <div class="panel-body stack">
                <div class="heat" role="group" aria-label={t!(heat_map)} tabindex="0">
                    { for blocks.iter().map(|block| html! { <HeatBlock key={block.label.clone()} block={block.clone()} pointed={pointed.setter()} /> }) }
                </div>
                <Legend />
            </div>
        </section>
    }
}

#[derive(Properties, PartialEq)]
struct BlockProps {
    block: Block,
    pointed: UseStateSetter<Option<Rc<StoreRow>>>,
}

#[component(HeatBlock)]
fn heat_block(props: &BlockProps) -> Html {
    let navigator = use_navigator();
    let block = &props.block;
    let (width, height) = (block.width(), heat::HEIGHT * heat::PITCH - 1);
    let cell = {
        let block = block.clone();
        move |event: &MouseEvent| {
            let rect = event
                .current_target()
                .map(wasm_bindgen::JsCast::unchecked_into::<Element>)?
                .get_bounding_client_rect();
            block
                .at(
                    f64::from(event.client_x()) - rect.left(),
                    f64::from(event.client_y()) - rect.top(),
                )
                .cloned()
        }
    };
    let onmousemove = {
        let (cell, pointed) = (cell.clone(), props.pointed.clone());
        move |event: MouseEvent| pointed.set(cell(&event))
    };
    let onmouseleave = {
        let pointed = props.pointed.clone();
        move |_: MouseEvent| pointed.set(None)
    };
    let onclick = move |event: MouseEvent| {
        if let (Some(row), Some(navigator)) = (cell(&event), &navigator) {
            navigator.push(&Route::Store {
                name: row.name.clone(),
            });
        }
    };
    let count = format::integer(block.stores.len() as u64);
    let label = t!(
        heat_label,
        name = block.label,
        n = count,
        errors = block.errors,
        warnings = block.warnings
    );
    html! {
        <div class="heat-group">
            <h3>
                { block.label.clone() }{ " " }<span class="n">{ count }</span>
                if block.errors >= 3 {
                    <span class="bad"><Icon name="error" />{ block.errors }</span>
                }
            </h3>
            <svg
                width={width.to_string()} height={height.to_string()} viewBox={format!("0 0 {width} {height}")}
                overflow="visible" role="img" aria-label={label} {onmousemove} {onmouseleave} {onclick}
            >
                <rect width="100%" height="100%" fill="transparent" />
                { for block.paths.iter().map(|(class, d)| html! { <path class={*class} d={d.clone()} /> }) }
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
