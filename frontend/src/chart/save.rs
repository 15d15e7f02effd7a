//! A chart as a file: PNG from its canvas, SVG drawn anew, CSV from its values.

use plotters::prelude::*;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{Blob, HtmlAnchorElement, HtmlCanvasElement, Url};
use yew::prelude::*;

use super::{colours::Colours, paint::Pen};
use crate::{model::figure::Figure, t, ui::download, ui::toast::ToastHandle};

/// Width of the SVG, and its height.
const SIZE: (u32, u32) = (960, 360);

/// A name for a file: what is not plain becomes a hyphen.
pub(super) fn file_name(label: &str, extension: &str) -> String {
    let plain: String = label
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let words: Vec<&str> = plain.split('-').filter(|w| !w.is_empty()).take(10).collect();
    format!("{}.{extension}", words.join("-"))
}

/// Saves the values.
pub(super) fn csv(name: &str, figure: &Figure, toast: &ToastHandle) {
    if let Err(problem) = download::save(
        &file_name(name, "csv"),
        "text/csv;charset=utf-8",
        figure.table.csv().as_bytes(),
    ) {
        toast.error(problem.detail);
    }
}

type Svg<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type SvgFailure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Saves the figure in the colours it has on the page.
pub(super) fn svg(name: &str, figure: &Figure, hidden: &[usize], canvas: &NodeRef, toast: &ToastHandle) {
    drawing(name, SIZE, canvas, toast, |area, pen| {
        pen.figure(area, figure, hidden)
    });
}

/// Saves what `draw` draws, in the colours that hold at the canvas.
pub(super) fn drawing(
    name: &str,
    size: (u32, u32),
    canvas: &NodeRef,
    toast: &ToastHandle,
    draw: impl for<'a> Fn(&Svg<'a>, &Pen<'_>) -> Result<(), SvgFailure<'a>>,
) {
    let Some(canvas) = canvas.cast::<HtmlCanvasElement>() else {
        return;
    };
    let colours = Colours::of(&canvas);
    let colour = |name: &str| colours.rgba(name);
    let mut text = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        // the SVG backend counts text in another size than the canvas
        let pen = Pen {
            scale: 1.0,
            text: 1.24,
            colour: &colour,
        };
        area.fill(&colour("--surface"))
            .and_then(|()| draw(&area, &pen))
            .map_err(|error| error.to_string())
    };
    let saved = drawn.and_then(|()| {
        download::save(&file_name(name, "svg"), "image/svg+xml", text.as_bytes()).map_err(|p| p.detail)
    });
    if let Err(why) = saved {
        toast.error(why);
    }
}

/// Saves what the canvas shows, at the pixels of the screen.
pub(super) fn png(name: &str, canvas: &NodeRef, toast: &ToastHandle) {
    let Some(canvas) = canvas.cast::<HtmlCanvasElement>() else {
        return;
    };
    let (name, refused) = (file_name(name, "png"), toast.clone());
    let done = Closure::once_into_js(move |blob: JsValue| {
        let link = blob.dyn_into::<Blob>().and_then(|blob| {
            let url = Url::create_object_url_with_blob(&blob)?;
            let anchor = web_sys::window()
                .and_then(|w| w.document())
                .ok_or(JsValue::NULL)?
                .create_element("a")?
                .dyn_into::<HtmlAnchorElement>()?;
            anchor.set_href(&url);
            anchor.set_download(&name);
            anchor.click();
            Url::revoke_object_url(&url)
        });
        if link.is_err() {
            refused.error(t!(bench.not_saved));
        }
    });
    if canvas.to_blob(done.unchecked_ref()).is_err() {
        toast.error(t!(bench.not_saved));
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_are_plain() {
        assert_eq!(
            file_name("spinner at 16: every run, größe", "svg"),
            "spinner-at-16-every-run-gr-e.svg"
        );
        assert_eq!(file_name("", "csv"), ".csv");
    }
}
