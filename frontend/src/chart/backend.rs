//! A plotters backend on a 2D canvas: real device pixels, text measured by the canvas, dashes by series.

use std::{cell::Cell, rc::Rc};

use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    text_anchor::{HPos, VPos},
};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::colours::css;

/// The canvas refused.
#[derive(Debug)]
pub(super) struct CanvasError;

impl std::fmt::Display for CanvasError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the canvas refused to draw")
    }
}

impl std::error::Error for CanvasError {}

/// Dash of the lines drawn next, in CSS pixels; empty: solid. Shared with who draws, as plotters has no word for it.
pub(super) type Dash = Rc<Cell<&'static [f64]>>;

/// The backend.
pub(super) struct CanvasBackend {
    context: CanvasRenderingContext2d,
    size: (u32, u32),
    scale: f64,
    dash: Dash,
}

impl CanvasBackend {
    /// Sizes the canvas to its box in device pixels and clears it. `None` when it has no context or no size.
    pub(super) fn new(canvas: &HtmlCanvasElement, dash: Dash) -> Option<Self> {
        use wasm_bindgen::JsCast;
        let scale = web_sys::window().map_or(1.0, |w| w.device_pixel_ratio()).max(1.0);
        let rect = canvas.get_bounding_client_rect();
        let size = (
            (rect.width() * scale).round() as u32,
            (rect.height() * scale).round() as u32,
        );
        if size.0 == 0 || size.1 == 0 {
            return None;
        }
        // assigning the size clears the canvas, too
        canvas.set_width(size.0);
        canvas.set_height(size.1);
        let context = canvas
            .get_context("2d")
            .ok()
            .flatten()?
            .dyn_into::<CanvasRenderingContext2d>()
            .ok()?;
        context.set_line_join("round");
        Some(Self {
            context,
            size,
            scale,
            dash,
        })
    }

    /// Device pixels in a CSS pixel.
    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    fn stroke<S: BackendStyle>(&self, style: &S) {
        self.context.set_stroke_style_str(&css(style.color()));
        self.context.set_line_width(f64::from(style.stroke_width()));
        let dash: js_sys::Array = self
            .dash
            .get()
            .iter()
            .map(|d| js_sys::Number::from(d * self.scale))
            .collect();
        // refused only for values that are not numbers
        if self.context.set_line_dash(&dash).is_ok() {
            self.context.stroke();
        }
    }

    fn trace(&self, points: impl IntoIterator<Item = BackendCoord>, offset: f64) {
        self.context.begin_path();
        for (i, (x, y)) in points.into_iter().enumerate() {
            let (x, y) = (f64::from(x) + offset, f64::from(y) + offset);
            if i == 0 {
                self.context.move_to(x, y)
            } else {
                self.context.line_to(x, y)
            }
        }
    }

    fn font<T: BackendTextStyle>(&self, style: &T) {
        // the family of the sheet: canvas text does not inherit
        self.context
            .set_font(&format!("{}px {}", style.size(), style.family().as_str()));
    }
}

type Drawn = Result<(), DrawingErrorKind<CanvasError>>;

impl DrawingBackend for CanvasBackend {
    type ErrorType = CanvasError;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Drawn {
        self.context.set_fill_style_str(&css(colour));
        self.context
            .fill_rect(f64::from(point.0), f64::from(point.1), 1.0, 1.0);
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        a: BackendCoord,
        b: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let (x, y) = (f64::from(a.0.min(b.0)), f64::from(a.1.min(b.1)));
        let (w, h) = (f64::from((a.0 - b.0).abs()), f64::from((a.1 - b.1).abs()));
        if fill {
            self.context.set_fill_style_str(&css(style.color()));
            self.context.fill_rect(x, y, w, h);
        } else {
            self.context.begin_path();
            self.context.rect(x + 0.5, y + 0.5, w, h);
            self.stroke(style);
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        // lines of odd width are sharp between the pixels
        let offset = if style.stroke_width() % 2 == 1 { 0.5 } else { 0.0 };
        self.trace(path, offset);
        self.stroke(style);
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.context.begin_path();
        self.context
            .arc(
                f64::from(center.0),
                f64::from(center.1),
                f64::from(radius),
                0.0,
                std::f64::consts::TAU,
            )
            .map_err(|_| DrawingErrorKind::DrawingError(CanvasError))?;
        if fill {
            self.context.set_fill_style_str(&css(style.color()));
            self.context.fill();
        } else {
            self.stroke(style);
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vertices: I,
        style: &S,
    ) -> Drawn {
        self.trace(vertices, 0.0);
        self.context.close_path();
        self.context.set_fill_style_str(&css(style.color()));
        self.context.fill();
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, at: BackendCoord) -> Drawn {
        self.font(style);
        self.context.set_fill_style_str(&css(style.color()));
        let anchor = style.anchor();
        self.context.set_text_align(match anchor.h_pos {
            HPos::Left => "left",
            HPos::Center => "center",
            HPos::Right => "right",
        });
        self.context.set_text_baseline(match anchor.v_pos {
            VPos::Top => "top",
            VPos::Center => "middle",
            VPos::Bottom => "bottom",
        });
        self.context
            .fill_text(text, f64::from(at.0), f64::from(at.1))
            .map_err(|_| DrawingErrorKind::DrawingError(CanvasError))
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<CanvasError>> {
        self.font(style);
        let metrics = self
            .context
            .measure_text(text)
            .map_err(|_| DrawingErrorKind::DrawingError(CanvasError))?;
        Ok((metrics.width().ceil() as u32, style.size().ceil() as u32))
    }
}
