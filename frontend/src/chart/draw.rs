//! Draws the series of a chart: grid, gaps, areas, lines, labels. Margins are fixed and labels never scale.

use std::{cell::Cell, rc::Rc};

use plotters::{
    coord::{Shift, types::RangedCoordf64},
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use plotters_backend::BackendColor;
use web_sys::HtmlCanvasElement;

use super::{
    backend::{CanvasBackend, CanvasError, Dash},
    colours::Colours,
    panel::Line,
};
use crate::model::ticks;

/// Left gutter for value labels, CSS pixels.
pub(super) const LEFT: f64 = 40.0;
/// Space below for time labels, CSS pixels.
pub(super) const BELOW: f64 = 20.0;
/// Space above, so that the topmost label and line are whole.
pub(super) const ABOVE: f64 = 8.0;
/// Space at the right, for half of the last label.
pub(super) const RIGHT: f64 = 6.0;

/// Colour and dash of a series by its place; shape and colour together.
const STYLES: [(&str, &[f64]); 4] = [
    ("--c3", &[2.0, 2.5]),
    ("--c1", &[]),
    ("--c2", &[6.0, 3.0]),
    ("--c4", &[8.0, 2.0, 2.0, 2.0]),
];

/// What part of time and values is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    /// First second.
    pub(super) from_s: f64,
    /// Last second.
    pub(super) to_s: f64,
    /// Upper end of the value axis.
    pub(super) top: f64,
}

impl View {
    /// Everything visible of the last `range_s` seconds (all of it when `None`), values up to the next round tick.
    pub(super) fn of(lines: &[Line], range_s: Option<f64>, steps: usize) -> Self {
        let newest = lines
            .iter()
            .filter_map(|l| l.series.last())
            .map(|s| s.t)
            .fold(0.0, f64::max);
        let oldest = lines
            .iter()
            .filter_map(|l| l.series.iter().next())
            .map(|s| s.t)
            .fold(f64::INFINITY, f64::min)
            .min(newest);
        let from_s = range_s.map_or(oldest, |r| (newest - r).max(oldest));
        // a job that has just begun fills its chart from the left
        let to_s = newest.max(from_s + 10.0);
        let greatest = lines
            .iter()
            .filter(|l| l.visible)
            .flat_map(|l| l.series.iter().rev().take_while(|s| s.t >= from_s))
            .map(|s| s.v)
            .fold(0.0, f64::max);
        let top = ticks::value_ticks(greatest.max(1.0), steps)
            .last()
            .copied()
            .unwrap_or(1.0);
        Self { from_s, to_s, top }
    }
}

type Area = DrawingArea<CanvasBackend, Shift>;
type Failure = DrawingAreaErrorKind<CanvasError>;

fn rgba(c: BackendColor) -> RGBAColor {
    RGBAColor(c.rgb.0, c.rgb.1, c.rgb.2, c.alpha)
}

/// Draws a chart into its canvas; nothing happens while the canvas has no size.
pub(super) fn draw(canvas: &HtmlCanvasElement, lines: &[Line], view: View, steps: usize) {
    let dash: Dash = Rc::new(Cell::new(&[]));
    let Some(backend) = CanvasBackend::new(canvas, dash.clone()) else {
        return;
    };
    let scale = backend.scale();
    let area = backend.into_drawing_area();
    let pen = Pen {
        scale,
        colours: Colours::of(canvas),
        dash,
    };
    if let Err(error) = pen.all(&area, lines, view, steps) {
        gloo::console::error!(format!("chart not drawn: {error}"));
    }
}

struct Pen {
    scale: f64,
    colours: Colours,
    dash: Dash,
}

impl Pen {
    fn px(&self, css: f64) -> i32 {
        (css * self.scale).round() as i32
    }

    fn hair(&self) -> u32 {
        self.scale.floor().max(1.0) as u32
    }

    fn all(&self, area: &Area, lines: &[Line], view: View, steps: usize) -> Result<(), Failure> {
        let mut chart = ChartBuilder::on(area)
            .margin_top(self.px(ABOVE))
            .margin_right(self.px(RIGHT))
            .set_label_area_size(LabelAreaPosition::Left, self.px(LEFT))
            .set_label_area_size(LabelAreaPosition::Bottom, self.px(BELOW))
            .build_cartesian_2d(view.from_s..view.to_s, 0.0..view.top)?;
        let columns = chart.plotting_area().dim_in_pixel().0 as usize / self.hair() as usize;
        self.gaps(&mut chart, lines, view)?;
        self.grid(area, &mut chart, view, steps)?;
        for line in lines.iter().rev().filter(|l| l.visible) {
            self.line(&mut chart, line, view, columns)?;
        }
        area.present()
    }

    fn gaps(&self, chart: &mut Plane<'_>, lines: &[Line], view: View) -> Result<(), Failure> {
        let style = rgba(self.colours.get("--off-soft")).filled();
        let Some(first) = lines.first() else { return Ok(()) };
        let gaps = first
            .series
            .gaps(first.gap_s)
            .into_iter()
            .filter(|(a, b)| *b > view.from_s && *a < view.to_s);
        chart.draw_series(gaps.map(|(a, b)| {
            Rectangle::new([(a.max(view.from_s), 0.0), (b.min(view.to_s), view.top)], style)
        }))?;
        Ok(())
    }

    fn grid(&self, area: &Area, chart: &mut Plane<'_>, view: View, steps: usize) -> Result<(), Failure> {
        let rule = rgba(self.colours.get("--rule")).stroke_width(self.hair());
        let axis = rgba(self.colours.get("--line-2")).stroke_width(self.hair());
        let ink = rgba(self.colours.get("--ink-3"));
        let font = |h, v| {
            (
                "-apple-system, \"Segoe UI\", Roboto, Cantarell, \"Liberation Sans\", Arial, sans-serif",
                11.0 * self.scale,
            )
                .into_font()
                .color(&ink)
                .pos(Pos::new(h, v))
        };
        for value in ticks::value_ticks(view.top, steps) {
            let style = if value == 0.0 { axis } else { rule };
            chart.draw_series([PathElement::new(
                [(view.from_s, value), (view.to_s, value)],
                style,
            )])?;
            let (x, y) = chart.backend_coord(&(view.from_s, value));
            area.draw_text(
                &label(value),
                &font(HPos::Right, VPos::Center),
                (x - self.px(8.0), y),
            )?;
        }
        let width = f64::from(chart.plotting_area().dim_in_pixel().0) / self.scale;
        for tick in ticks::time_ticks(view.from_s, view.to_s, ((width / 80.0) as usize).max(2)) {
            let (x, y) = chart.backend_coord(&(tick, 0.0));
            // the last label ends at the edge instead of running over it
            let edge = f64::from(area.dim_in_pixel().0) - 24.0 * self.scale;
            let side = if f64::from(x) > edge {
                HPos::Right
            } else {
                HPos::Center
            };
            area.draw_text(
                &ticks::elapsed(tick),
                &font(side, VPos::Top),
                (x, y + self.px(5.0)),
            )?;
        }
        Ok(())
    }

    fn line(&self, chart: &mut Plane<'_>, line: &Line, view: View, columns: usize) -> Result<(), Failure> {
        let (colour, dash) = STYLES
            .get(line.style % STYLES.len())
            .copied()
            .unwrap_or(("--c1", &[]));
        let colour = rgba(self.colours.get(colour));
        let stroke = colour.stroke_width((1.75 * self.scale).round() as u32);
        for points in line.series.lines(view.from_s, view.to_s, columns, line.gap_s) {
            let points: Vec<(f64, f64)> = points
                .iter()
                .filter(|s| s.t >= view.from_s)
                .map(|s| (s.t, s.v.min(view.top)))
                .collect();
            if line.filled {
                chart.draw_series(AreaSeries::new(points.iter().copied(), 0.0, colour.mix(0.12)))?;
            }
            self.dash.set(dash);
            chart.draw_series(LineSeries::new(points, stroke))?;
            self.dash.set(&[]);
        }
        Ok(())
    }
}

type Plane<'a> = ChartContext<'a, CanvasBackend, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn label(value: f64) -> String {
    if value >= 1000.0 {
        crate::model::format::integer(value.round() as u64)
    } else if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        crate::model::format::decimal(format!("{value:.2}").trim_end_matches('0').to_owned())
    }
}
