//! A flame graph on the canvas: frames as rectangles through plotters, pointed at and walked by keys.

use std::rc::Rc;

use fleethold_api_types::bench::Flame;
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, VPos},
};
use web_sys::{Element, HtmlCanvasElement, HtmlElement};
use yew::prelude::*;

use super::{backend::CanvasBackend, colours::Colours, paint::Pen, redraw::use_redraw, save};
use crate::{
    model::bench::flame::{Found, Zoom, depth, functions, hit, moved, points, step, table},
    t,
    ui::{Menu, toast::use_toast},
};

/// Height of a row, CSS pixels.
const ROW: f64 = 18.0;
/// Letters are about this wide.
const LETTER: f64 = 6.1;

/// What of a flame graph is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlamePick {
    /// The part that is shown.
    pub zoom: Zoom,
    /// The root is at the top.
    pub icicle: bool,
    /// Frame with the focus.
    pub focus: Option<usize>,
}

/// Props of [`FlameChart`].
#[derive(Properties, PartialEq)]
pub struct FlameProps {
    /// Frames.
    pub flame: Rc<Flame>,
    /// What is looked at.
    pub pick: FlamePick,
    /// What a search found; nothing matches without one.
    pub found: Rc<Found>,
    /// A frame is pointed at, or none.
    pub on_focus: Callback<Option<usize>>,
    /// A frame shall fill the width; `None`: all of it again.
    pub on_zoom: Callback<Option<usize>>,
    /// What it shows.
    pub label: AttrValue,
}

/// The chart.
#[component(FlameChart)]
pub fn flame_chart(props: &FlameProps) -> Html {
    let canvas = use_node_ref();
    let resized = use_state(|| 0u32);
    let toast = use_toast();
    let rows = depth(&props.flame).max(1);
    use_redraw(&canvas, resized.setter());
    {
        let canvas = canvas.clone();
        use_effect_with(
            (props.flame.clone(), props.pick, props.found.clone(), *resized),
            move |(flame, pick, found, _)| {
                if let Some(canvas) = canvas.cast::<HtmlCanvasElement>() {
                    size(&canvas, rows);
                    draw(&canvas, flame, *pick, found);
                }
            },
        );
    }
    let at = {
        let (flame, pick) = (props.flame.clone(), props.pick);
        move |event: &MouseEvent| {
            let rect = event
                .target_unchecked_into::<Element>()
                .get_bounding_client_rect();
            let share = (f64::from(event.client_x()) - rect.left()) / rect.width().max(1.0);
            let row = ((f64::from(event.client_y()) - rect.top()) / ROW)
                .floor()
                .max(0.0) as u32;
            let row = if pick.icicle {
                row
            } else {
                (rows - 1).checked_sub(row)?
            };
            hit(&flame, pick.zoom, row, share)
        }
    };
    let onpointermove = {
        let (at, on_focus) = (at.clone(), props.on_focus.clone());
        move |event: PointerEvent| on_focus.emit(at(&event))
    };
    let onclick = {
        let on_zoom = props.on_zoom.clone();
        move |event: MouseEvent| {
            if let Some(frame) = at(&event) {
                on_zoom.emit(Some(frame));
            }
        }
    };
    let onkeydown = {
        let (flame, pick) = (props.flame.clone(), props.pick);
        let (on_focus, on_zoom) = (props.on_focus.clone(), props.on_zoom.clone());
        move |event: KeyboardEvent| {
            let key = event.key();
            match (key.as_str(), pick.focus) {
                ("Enter", Some(_)) => on_zoom.emit(pick.focus),
                ("Escape", _) => on_zoom.emit(None),
                ("ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight", None) => on_focus.emit(Some(0)),
                ("ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight", Some(here)) => {
                    // up is where it is drawn
                    let key = match (key.as_str(), pick.icicle) {
                        ("ArrowUp", true) => "ArrowDown",
                        ("ArrowDown", true) => "ArrowUp",
                        (key, _) => key,
                    };
                    if let Some(next) = moved(&flame, here, key) {
                        on_focus.emit(Some(next));
                    }
                }
                _ => return,
            }
            event.prevent_default();
        }
    };
    let files = {
        let (flame, pick, found, label) = (
            props.flame.clone(),
            props.pick,
            props.found.clone(),
            props.label.to_string(),
        );
        let (png_canvas, svg_canvas) = (canvas.clone(), canvas.clone());
        let (png_toast, svg_toast, csv_toast) = (toast.clone(), toast.clone(), toast);
        let (png_name, svg_name) = (label.clone(), label.clone());
        let of_csv = flame.clone();
        let png = move |_: MouseEvent| save::png(&png_name, &png_canvas, &png_toast);
        let svg = move |_: MouseEvent| {
            let size = (1200, (f64::from(rows) * ROW) as u32);
            save::drawing(&svg_name, size, &svg_canvas, &svg_toast, |area, pen| {
                paint(area, pen, &flame, pick, &found)
            });
        };
        let csv = move |_: MouseEvent| {
            let text = table(&functions(&of_csv)).csv();
            let name = save::file_name(&label, "csv");
            if let Err(problem) = crate::ui::download::save(&name, "text/csv;charset=utf-8", text.as_bytes())
            {
                csv_toast.error(problem.detail);
            }
        };
        html! {
            <Menu icon="save" label={t!(bench.save_chart)} short=true>
                <button type="button" onclick={png}>{ "PNG" }</button>
                <button type="button" onclick={svg}>{ "SVG" }</button>
                <button type="button" onclick={csv}>{ "CSV" }</button>
            </Menu>
        }
    };
    let leave = props.on_focus.reform(|_: PointerEvent| None);
    html! {
        <div class="flame">
            <div class="figure-tools"><span class="grow" />{ files }</div>
            <div class="flame-box" role="group" tabindex="0" aria-label={props.label.clone()} {onkeydown} data-testid="flame">
                <canvas ref={canvas} role="img" aria-label={props.label.clone()} {onpointermove} onpointerleave={leave} {onclick} />
            </div>
        </div>
    }
}

/// The height follows the stacks; the policy allows it through CSSOM.
fn size(canvas: &HtmlCanvasElement, rows: u32) {
    use wasm_bindgen::JsCast;
    let style = canvas.unchecked_ref::<HtmlElement>().style();
    if style
        .set_property("height", &format!("{}px", f64::from(rows) * ROW))
        .is_err()
    {
        gloo::console::warn!("the flame graph keeps its height");
    }
}

fn draw(canvas: &HtmlCanvasElement, flame: &Flame, pick: FlamePick, found: &Found) {
    let Some(backend) = CanvasBackend::new(canvas, Rc::default()) else {
        return;
    };
    let scale = backend.scale();
    let colours = Colours::of(canvas);
    let pen = Pen {
        scale,
        text: 1.0,
        colour: &|name| colours.rgba(name),
    };
    if let Err(error) = paint(&backend.into_drawing_area(), &pen, flame, pick, found) {
        gloo::console::error!(format!("flame graph not drawn: {error}"));
    }
}

/// Fill of a frame: four calm tones by name, or one scale from less to more in a difference.
fn fill(pen: &Pen<'_>, name: &str, change: Option<f64>) -> RGBAColor {
    match change.map(step) {
        Some(0) => (pen.colour)("--h1"),
        Some(step) => {
            let tone = if step < 0 { "--better" } else { "--worse" };
            (pen.colour)(tone).mix(if step.abs() == 1 { 0.28 } else { 0.55 })
        }
        None => {
            let sum = name
                .bytes()
                .fold(7u32, |sum, b| sum.wrapping_mul(31).wrapping_add(u32::from(b)));
            (pen.colour)(
                ["--h1", "--h2", "--h3"]
                    .get(sum as usize % 3)
                    .copied()
                    .unwrap_or("--h1"),
            )
        }
    }
}

fn paint<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    pen: &Pen<'_>,
    flame: &Flame,
    pick: FlamePick,
    found: &Found,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let (width, height) = area.dim_in_pixel();
    let row = pen.px(ROW);
    let searching = found.count > 0;
    let (ink, surface) = ((pen.colour)("--ink"), (pen.colour)("--surface"));
    for (i, frame) in flame.frames.iter().enumerate() {
        let Some((left, right)) = pick.zoom.place(frame) else {
            continue;
        };
        let (x0, x1) = (left * f64::from(width), right * f64::from(width));
        if x1 - x0 < pen.px(0.4) {
            continue;
        }
        let top = if pick.icicle {
            f64::from(frame.depth) * row
        } else {
            f64::from(height) - f64::from(frame.depth + 1) * row
        };
        let corners = [(x0, top), ((x1 - pen.px(0.75)).max(x0), top + row - pen.px(1.0))]
            .map(|(x, y)| (x.round() as i32, y.round() as i32));
        let matches = found.frames.get(i).copied().unwrap_or(false);
        let colour = fill(pen, &frame.name, frame.change);
        area.draw(&Rectangle::new(corners, surface.filled()))?;
        area.draw(&Rectangle::new(
            corners,
            if searching && !matches {
                colour.mix(0.3)
            } else {
                colour
            }
            .filled(),
        ))?;
        if matches || pick.focus == Some(i) {
            let line = if matches { (pen.colour)("--accent") } else { ink };
            area.draw(&Rectangle::new(
                corners,
                line.stroke_width(pen.px(1.5).round().max(1.0) as u32),
            ))?;
        }
        let letters = ((x1 - x0 - pen.px(8.0)) / pen.px(LETTER)).floor();
        if letters >= 3.0 {
            let text = match frame.change.filter(|c| step(*c) != 0) {
                Some(change) => format!("{} {}", points(change), frame.name),
                None => frame.name.clone(),
            };
            let at = (
                (x0 + pen.px(4.0)).round() as i32,
                (top + row / 2.0).round() as i32,
            );
            area.draw_text(
                &shortened(&text, letters as usize),
                &pen.font(&ink, HPos::Left, VPos::Center),
                at,
            )?;
        }
    }
    area.present()
}

/// A text of at most so many letters.
fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleethold_api_types::bench::FlameFrame;

    fn frame(name: &str, depth: u32, left: f64, width: f64, change: Option<f64>) -> FlameFrame {
        FlameFrame {
            name: name.into(),
            depth,
            left,
            width,
            samples: 1,
            change,
        }
    }

    fn svg(zoom: Zoom) -> String {
        let flame = Flame {
            total: 10,
            before_total: 0,
            frames: vec![
                frame("all", 0, 0.0, 1.0, None),
                frame("decode", 1, 0.0, 0.5, Some(0.05)),
                frame("write", 1, 0.5, 0.5, None),
            ],
            hidden: 0,
        };
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, (600, 36)).into_drawing_area();
            let pen = Pen {
                scale: 1.0,
                text: 1.24,
                colour: &|_| RGBAColor(1, 2, 3, 1.0),
            };
            let pick = FlamePick {
                zoom,
                icicle: false,
                focus: None,
            };
            paint(&area, &pen, &flame, pick, &Found::default()).expect("a string takes everything");
        }
        text
    }

    #[test]
    fn frames_have_names_and_changes_their_sign() {
        let text = svg(Zoom::ALL);
        assert!(
            text.contains("write") && text.contains("+5.0 pp decode"),
            "{text}"
        );
    }

    #[test]
    fn a_zoom_leaves_out_what_is_beside_it() {
        let text = svg(Zoom {
            left: 0.5,
            width: 0.5,
        });
        assert!(text.contains("write") && !text.contains("decode"), "{text}");
    }

    #[test]
    fn long_names_are_cut_at_letters() {
        assert_eq!(shortened("größe", 4), "grö…");
        assert_eq!(shortened("abc", 3), "abc");
    }
}
