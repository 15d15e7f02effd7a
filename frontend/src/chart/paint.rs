//! Paints a figure through plotters, on whatever backend: the canvas of the page, or SVG for a file.

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use crate::model::{
    figure::{Axis, Figure, Ink, Labels, Mark, strokes},
    scale::Scale,
};

/// Left gutter for value labels, CSS pixels; the sheet's overlay has the same.
pub(super) const LEFT: f64 = 48.0;
/// Space below for labels.
pub(super) const BELOW: f64 = 20.0;
/// Space above.
pub(super) const ABOVE: f64 = 8.0;
/// Space at the right.
pub(super) const RIGHT: f64 = 8.0;

/// Families of the sheet: text on a canvas and in a file does not inherit.
pub(super) const FAMILY: &str =
    "-apple-system, \"Segoe UI\", Roboto, Cantarell, \"Liberation Sans\", Arial, sans-serif";

/// Sizes and colours of one drawing.
pub(super) struct Pen<'a> {
    /// Pixels of the backend in one CSS pixel.
    pub(super) scale: f64,
    /// What the backend takes as the size of text that is one pixel high.
    pub(super) text: f64,
    /// Colours of the sheet by name.
    pub(super) colour: &'a dyn Fn(&str) -> RGBAColor,
}

type Failure<DB> = DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;
type Painted<DB> = Result<(), Failure<DB>>;
type Place = (i32, i32);

/// Distance of neighbouring ticks; none on a logarithmic axis.
fn step(axis: &Axis, ticks: &[f64]) -> f64 {
    match ticks {
        [a, b, ..] if !axis.scale.log => b - a,
        _ => 0.0,
    }
}

/// Where the plot lies, in pixels of the backend.
struct Plane {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    x: Scale,
    y: Scale,
}

impl Plane {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let y = self.y.share(y).clamp(-0.02, 1.02);
        (
            self.left + self.x.share(x) * self.width,
            self.top + (1.0 - y) * self.height,
        )
    }
}

fn round((x, y): (f64, f64)) -> Place {
    (x.round() as i32, y.round() as i32)
}

fn ink_name(ink: Ink) -> &'static str {
    match ink {
        Ink::Before | Ink::Past => "--before",
        Ink::After => "--after",
        Ink::Level => "--ink-2",
        Ink::Accent => "--accent",
        Ink::Outlier => "--worse",
        Ink::Busy => "--warn",
        Ink::Rule => "--line-2",
    }
}

impl Pen<'_> {
    /// CSS pixels as pixels of the backend.
    pub(super) fn px(&self, css: f64) -> f64 {
        css * self.scale
    }

    fn hair(&self) -> u32 {
        self.scale.floor().max(1.0) as u32
    }

    fn width(&self, css: f64) -> u32 {
        self.px(css).round().max(1.0) as u32
    }

    /// Text of a size at an anchor.
    pub(super) fn font<'f>(&self, colour: &'f RGBAColor, h: HPos, v: VPos) -> TextStyle<'f> {
        (FAMILY, 11.0 * self.scale * self.text)
            .into_font()
            .color(colour)
            .pos(Pos::new(h, v))
    }

    fn ink(&self, ink: Ink) -> RGBAColor {
        (self.colour)(ink_name(ink))
    }

    /// Paints a figure without the layers that are hidden.
    pub(super) fn figure<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        figure: &Figure,
        hidden: &[usize],
    ) -> Painted<DB> {
        let (width, height) = area.dim_in_pixel();
        let plane = Plane {
            left: self.px(LEFT),
            top: self.px(ABOVE),
            width: (f64::from(width) - self.px(LEFT + RIGHT)).max(1.0),
            height: (f64::from(height) - self.px(ABOVE + BELOW)).max(1.0),
            x: figure.x.scale,
            y: figure.y.scale,
        };
        self.values(area, &plane, &figure.y)?;
        self.places(area, &plane, &figure.x)?;
        let mut texts = 0;
        for (_, layer) in figure
            .layers
            .iter()
            .enumerate()
            .filter(|(i, _)| !hidden.contains(i))
        {
            for mark in &layer.marks {
                self.mark(area, &plane, mark, &mut texts)?;
            }
        }
        area.present()
    }

    /// Grid and labels of the value axis.
    fn values<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        plane: &Plane,
        axis: &Axis,
    ) -> Painted<DB> {
        let rule = (self.colour)("--rule").stroke_width(self.hair());
        let foot = (self.colour)("--line-2").stroke_width(self.hair());
        let ink = (self.colour)("--ink-3");
        let most = ((plane.height / self.px(32.0)) as usize).clamp(2, 8);
        if let Labels::Unit(shown) = &axis.labels {
            let ticks = axis.scale.ticks(most);
            let step = step(axis, &ticks);
            for tick in ticks {
                let (_, y) = plane.at(plane.x.low, tick);
                let line = [(plane.left, y), (plane.left + plane.width, y)].map(round);
                area.draw(&PathElement::new(line.to_vec(), rule))?;
                area.draw_text(
                    &shown.tick(tick, step),
                    &self.font(&ink, HPos::Right, VPos::Center),
                    round((plane.left - self.px(8.0), y)),
                )?;
            }
        }
        let bottom = plane.top + plane.height;
        let line = [(plane.left, bottom), (plane.left + plane.width, bottom)].map(round);
        area.draw(&PathElement::new(line.to_vec(), foot))
    }

    /// Labels below, as many as there is room for.
    fn places<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        plane: &Plane,
        axis: &Axis,
    ) -> Painted<DB> {
        let ink = (self.colour)("--ink-3");
        let y = plane.top + plane.height + self.px(5.0);
        let narrow = plane.width < self.px(420.0);
        let labels: Vec<(f64, String)> = match &axis.labels {
            Labels::Unit(shown) => {
                let ticks = axis
                    .scale
                    .ticks(((plane.width / self.px(80.0)) as usize).clamp(2, 8));
                let step = step(axis, &ticks);
                ticks.into_iter().map(|t| (t, shown.tick(t, step))).collect()
            }
            Labels::Given(given) => {
                let roomy = given.len() as f64 * self.px(30.0) < plane.width;
                given
                    .iter()
                    .filter(|(_, _, minor)| !minor || (roomy && !narrow))
                    .map(|(at, text, _)| (*at, text.clone()))
                    .collect()
            }
        };
        for (at, text) in labels {
            let x = plane.left + axis.scale.share(at) * plane.width;
            // an estimate is enough to keep the last label inside
            let half = text.chars().count() as f64 * self.px(3.2);
            let (anchor, x) = if x + half > plane.left + plane.width + self.px(RIGHT) {
                (HPos::Right, plane.left + plane.width + self.px(RIGHT) - 1.0)
            } else {
                (HPos::Center, x)
            };
            area.draw_text(&text, &self.font(&ink, anchor, VPos::Top), round((x, y)))?;
        }
        Ok(())
    }

    fn mark<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        plane: &Plane,
        mark: &Mark,
        texts: &mut usize,
    ) -> Painted<DB> {
        match mark {
            Mark::Dot { x, y, ink, radius } => self.dot(area, plane.at(*x, *y), *ink, *radius),
            Mark::Line { points, ink, dash } => {
                let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| plane.at(*x, *y)).collect();
                let style = self.ink(*ink).stroke_width(self.width(2.0));
                let dash: Vec<f64> = dash.iter().map(|d| self.px(*d)).collect();
                for stroke in strokes(&points, &dash) {
                    let stroke: Vec<Place> = stroke.into_iter().map(round).collect();
                    area.draw(&PathElement::new(stroke, style))?;
                }
                Ok(())
            }
            Mark::Band { x, y, ink } => {
                let corners = [plane.at(x.0, y.0), plane.at(x.1, y.1)].map(round);
                let colour = match ink {
                    Ink::Level => (self.colour)("--off-soft"),
                    other => self.ink(*other).mix(0.14),
                };
                area.draw(&Rectangle::new(corners, colour.filled()))
            }
            Mark::Bar { x, top, ink } => {
                let corners = [plane.at(x.0, plane.y.low.max(0.0)), plane.at(x.1, *top)].map(round);
                self.block(area, corners, *ink)
            }
            Mark::Box { x, five, ink } => self.five(area, plane, *x, five, *ink),
            Mark::Upright { x, text, ink } => {
                let (at, _) = plane.at(*x, plane.y.low);
                let line = [(at, plane.top), (at, plane.top + plane.height)];
                let style = self.ink(*ink).stroke_width(self.hair());
                let dash = if *ink == Ink::Rule {
                    Vec::new()
                } else {
                    vec![self.px(3.0), self.px(3.0)]
                };
                for stroke in strokes(&line, &dash) {
                    area.draw(&PathElement::new(
                        stroke.into_iter().map(round).collect::<Vec<_>>(),
                        style,
                    ))?;
                }
                if text.is_empty() {
                    return Ok(());
                }
                // neighbouring texts take turns in two lines
                let y = plane.top + self.px(6.0 + 13.0 * (*texts % 2) as f64);
                *texts += 1;
                let wide = text.chars().count() as f64 * self.px(6.0);
                let (anchor, at) = if at - wide < plane.left {
                    (HPos::Left, at + self.px(6.0))
                } else {
                    (HPos::Right, at - self.px(6.0))
                };
                let ink = self.ink(*ink);
                area.draw_text(text, &self.font(&ink, anchor, VPos::Center), round((at, y)))
            }
        }
    }

    /// Before is hollow, after is solid, an outlier is a cross.
    fn dot<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        at: (f64, f64),
        ink: Ink,
        radius: f64,
    ) -> Painted<DB> {
        let colour = self.ink(ink);
        let (place, radius) = (round(at), self.px(radius));
        match ink {
            Ink::Outlier => {
                let arm = (radius * 0.8).round() as i32;
                let style = colour.stroke_width(self.width(1.75));
                for (a, b) in [((-arm, -arm), (arm, arm)), ((-arm, arm), (arm, -arm))] {
                    let line = [a, b].map(|(x, y)| (place.0 + x, place.1 + y));
                    area.draw(&PathElement::new(line.to_vec(), style))?;
                }
                Ok(())
            }
            Ink::Busy => {
                let corners = [(0.0, -1.3), (1.2, 0.8), (-1.2, 0.8), (0.0, -1.3)].map(|(x, y)| {
                    (
                        place.0 + (x * radius).round() as i32,
                        place.1 + (y * radius).round() as i32,
                    )
                });
                area.draw(&Polygon::new(
                    corners.to_vec(),
                    (self.colour)("--surface").filled(),
                ))?;
                area.draw(&PathElement::new(
                    corners.to_vec(),
                    colour.stroke_width(self.width(1.75)),
                ))
            }
            Ink::Before => {
                area.draw(&Circle::new(
                    place,
                    radius.round() as i32,
                    (self.colour)("--surface").filled(),
                ))?;
                area.draw(&Circle::new(
                    place,
                    radius.round() as i32,
                    colour.stroke_width(self.width(1.75)),
                ))
            }
            Ink::Past => area.draw(&Circle::new(
                place,
                radius.round() as i32,
                colour.mix(0.75).filled(),
            )),
            _ => {
                area.draw(&Circle::new(
                    place,
                    (radius + self.px(1.0)).round() as i32,
                    (self.colour)("--surface").filled(),
                ))?;
                area.draw(&Circle::new(place, radius.round() as i32, colour.filled()))
            }
        }
    }

    /// A bar or box: hollow for before, tinted for after.
    fn block<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        corners: [Place; 2],
        ink: Ink,
    ) -> Painted<DB> {
        let colour = self.ink(ink);
        let fill = if ink == Ink::Before {
            (self.colour)("--off-soft")
        } else {
            colour.mix(0.55)
        };
        area.draw(&Rectangle::new(corners, fill.filled()))?;
        area.draw(&Rectangle::new(corners, colour.stroke_width(self.width(1.5))))
    }

    fn five<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        plane: &Plane,
        x: (f64, f64),
        five: &[f64; 5],
        ink: Ink,
    ) -> Painted<DB> {
        let [min, low, median, high, max] = *five;
        let colour = self.ink(ink);
        let thin = colour.stroke_width(self.width(1.25));
        let middle = (x.0 + x.1) / 2.0;
        let whisker = [plane.at(middle, min), plane.at(middle, max)].map(round);
        area.draw(&PathElement::new(whisker.to_vec(), thin))?;
        let corners = [plane.at(x.0, low), plane.at(x.1, high)].map(round);
        let fill = if ink == Ink::Before {
            (self.colour)("--off-soft")
        } else {
            (self.colour)("--band")
        };
        area.draw(&Rectangle::new(corners, (self.colour)("--surface").filled()))?;
        area.draw(&Rectangle::new(corners, fill.filled()))?;
        area.draw(&Rectangle::new(corners, thin))?;
        let line = [plane.at(x.0, median), plane.at(x.1, median)].map(round);
        area.draw(&PathElement::new(
            line.to_vec(),
            colour.stroke_width(self.width(2.5)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        figure::{Layer, Table},
        unit::Shown,
    };

    fn figure() -> Figure {
        Figure {
            label: String::new(),
            x: Axis {
                scale: Scale::exact(0.0, 1.0),
                labels: Labels::Given(vec![(0.5, "middle".into(), false)]),
            },
            y: Axis {
                scale: Scale::exact(700.0, 1100.0),
                labels: Labels::Unit(Shown {
                    factor: 1.0,
                    name: "MiB/s",
                }),
            },
            layers: vec![
                Layer {
                    name: "before".into(),
                    ink: Ink::Before,
                    marks: vec![
                        Mark::Dot {
                            x: 0.2,
                            y: 800.0,
                            ink: Ink::Before,
                            radius: 4.0,
                        },
                        Mark::Box {
                            x: (0.8, 0.9),
                            five: [780.0, 790.0, 800.0, 810.0, 820.0],
                            ink: Ink::Before,
                        },
                    ],
                    cells: Vec::new(),
                },
                Layer {
                    name: "after".into(),
                    ink: Ink::After,
                    marks: vec![
                        Mark::Dot {
                            x: 0.3,
                            y: 1000.0,
                            ink: Ink::After,
                            radius: 4.0,
                        },
                        Mark::Upright {
                            x: 0.6,
                            text: "d27ab91 +31.5%".into(),
                            ink: Ink::Accent,
                        },
                    ],
                    cells: Vec::new(),
                },
            ],
            stops: Vec::new(),
            legend: Vec::new(),
            table: Table::default(),
        }
    }

    fn svg(hidden: &[usize]) -> String {
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, (600, 240)).into_drawing_area();
            let pen = Pen {
                scale: 1.0,
                text: 1.24,
                colour: &|_| RGBAColor(1, 2, 3, 1.0),
            };
            pen.figure(&area, &figure(), hidden)
                .expect("a string takes everything");
        }
        text
    }

    #[test]
    fn every_mark_is_in_the_file() {
        let text = svg(&[]);
        assert_eq!(text.matches("<circle").count(), 4, "{text}");
        for word in ["800", "1,000", "middle", "d27ab91 +31.5%"] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn hidden_layers_are_not() {
        let text = svg(&[1]);
        assert!(
            !text.contains("d27ab91") && text.matches("<circle").count() == 2,
            "{text}"
        );
    }
}
