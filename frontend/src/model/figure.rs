//! A figure as data: layers of marks in the units of the wire, and what a crosshair reads at each of its stops. The charts
//! of the benchmark lab are built as figures, so that screen, SVG, CSV and table show the same.

use crate::model::{csv::quoted, scale::Scale, unit::Shown};

/// What a mark stands for; the sheet gives it colour, the shape says the same without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The older side: grey and hollow.
    Before,
    /// The newer side: blue and solid.
    After,
    /// A past run.
    Past,
    /// A level, a median.
    Level,
    /// What can be acted on, such as a change point.
    Accent,
    /// Left out of everything: a cross.
    Outlier,
    /// Measured while the machine was busy: a hollow triangle.
    Busy,
    /// Grid.
    Rule,
}

/// One mark; values in the figure's units.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// One measured value.
    Dot {
        /// Place.
        x: f64,
        /// Value.
        y: f64,
        /// Of what.
        ink: Ink,
        /// Radius in pixels.
        radius: f64,
    },
    /// A line through points; empty dash: solid.
    Line {
        /// Points.
        points: Vec<(f64, f64)>,
        /// Of what.
        ink: Ink,
        /// Lengths of stroke and gap in pixels.
        dash: &'static [f64],
    },
    /// A tinted area.
    Band {
        /// From, to.
        x: (f64, f64),
        /// From, to.
        y: (f64, f64),
        /// Of what.
        ink: Ink,
    },
    /// A bar from the foot of the axis.
    Bar {
        /// From, to.
        x: (f64, f64),
        /// Height.
        top: f64,
        /// Of what.
        ink: Ink,
    },
    /// Whiskers, box and median.
    Box {
        /// From, to.
        x: (f64, f64),
        /// Smallest, quartile, median, quartile, largest.
        five: [f64; 5],
        /// Of what.
        ink: Ink,
    },
    /// A line from top to bottom with a text.
    Upright {
        /// Place.
        x: f64,
        /// Text; may be empty.
        text: String,
        /// Of what.
        ink: Ink,
    },
}

/// Marks that are shown and hidden together.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Name in the legend; empty: not in it.
    pub name: String,
    /// Sign in the legend.
    pub ink: Ink,
    /// Marks.
    pub marks: Vec<Mark>,
    /// Cells of the legend, under [`Figure::legend`].
    pub cells: Vec<String>,
}

/// One value a crosshair reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Layer it belongs to.
    pub layer: usize,
    /// Its name.
    pub name: String,
    /// Where the mark is.
    pub y: f64,
    /// What is read.
    pub text: String,
}

/// A place where the crosshair stops.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Place.
    pub x: f64,
    /// What the place is.
    pub title: String,
    /// Values at it.
    pub readings: Vec<Reading>,
}

/// How an axis is labelled.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// Figures in a unit.
    Unit(Shown),
    /// Texts at places; minor ones go first when there is no room.
    Given(Vec<(f64, String, bool)>),
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its range.
    pub scale: Scale,
    /// Its labels.
    pub labels: Labels,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number in the unit of the wire, and as it is read.
    Number(f64, String),
}

/// The same as rows, for reading and as CSV.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Head.
    pub head: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows, in a sentence.
    pub label: String,
    /// Below.
    pub x: Axis,
    /// At the left.
    pub y: Axis,
    /// Drawn in this order.
    pub layers: Vec<Layer>,
    /// In order of place.
    pub stops: Vec<Stop>,
    /// Head of the legend's cells.
    pub legend: Vec<String>,
    /// All values.
    pub table: Table,
}

impl Figure {
    /// The stop nearest to a share of the width.
    pub fn nearest(&self, share: f64) -> Option<usize> {
        let distance = |stop: &Stop| (self.x.scale.share(stop.x) - share).abs();
        self.stops
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
            .map(|(i, _)| i)
    }

    /// The stop that a key leads to; `None` for keys that move nothing.
    pub fn moved(&self, at: Option<usize>, key: &str) -> Option<usize> {
        let last = self.stops.len().checked_sub(1)?;
        Some(match (key, at) {
            ("ArrowRight", Some(i)) => (i + 1).min(last),
            ("ArrowLeft", Some(i)) => i.saturating_sub(1),
            ("ArrowRight" | "Home", _) => 0,
            ("ArrowLeft" | "End", _) => last,
            _ => return None,
        })
    }
}

impl Table {
    /// RFC 4180; numbers in the unit of the wire, with a point and all their digits.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<String>| format!("{}\r\n", cells.join(","));
        let written = |cell: &Cell| match cell {
            Cell::Text(text) => quoted(text),
            Cell::Number(value, _) => value.to_string(),
        };
        std::iter::once(line(self.head.iter().map(|h| quoted(h)).collect()))
            .chain(self.rows.iter().map(|r| line(r.iter().map(written).collect())))
            .collect()
    }
}

/// Cuts a line of pixels into strokes: `dash` is stroke, gap, stroke, … in pixels; empty gives the line itself.
pub fn strokes(points: &[(f64, f64)], dash: &[f64]) -> Vec<Vec<(f64, f64)>> {
    if dash.is_empty() || dash.iter().any(|d| *d <= 0.0) {
        return vec![points.to_vec()];
    }
    let mut out = Vec::new();
    let mut lengths = dash.iter().copied().cycle();
    let mut left = lengths.next().unwrap_or(f64::INFINITY);
    let mut on = true;
    let mut stroke: Vec<(f64, f64)> = points.first().copied().into_iter().collect();
    for (from, to) in points.iter().zip(points.iter().skip(1)) {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let share = done / length;
            let here = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            if on {
                stroke.push(here);
                out.push(std::mem::take(&mut stroke));
            } else {
                stroke = vec![here];
            }
            on = !on;
            left = lengths.next().unwrap_or(f64::INFINITY);
        }
        left -= length - done;
        if on {
            stroke.push(*to);
        }
    }
    if on && stroke.len() > 1 {
        out.push(stroke);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(places: &[f64]) -> Figure {
        let axis = || Axis {
            scale: Scale::exact(0.0, 10.0),
            labels: Labels::Given(Vec::new()),
        };
        Figure {
            label: String::new(),
            x: axis(),
            y: axis(),
            layers: Vec::new(),
            stops: places
                .iter()
                .map(|x| Stop {
                    x: *x,
                    title: String::new(),
                    readings: Vec::new(),
                })
                .collect(),
            legend: Vec::new(),
            table: Table::default(),
        }
    }

    #[test]
    fn the_crosshair_stops_at_the_nearest() {
        let f = figure(&[1.0, 4.0, 9.0]);
        assert_eq!(f.nearest(0.3), Some(1));
        assert_eq!(f.nearest(2.0), Some(2));
        assert_eq!(figure(&[]).nearest(0.5), None);
    }

    #[test]
    fn keys_step_and_jump() {
        let f = figure(&[1.0, 4.0, 9.0]);
        assert_eq!(f.moved(None, "ArrowRight"), Some(0));
        assert_eq!(f.moved(None, "ArrowLeft"), Some(2));
        assert_eq!(f.moved(Some(2), "ArrowRight"), Some(2));
        assert_eq!(f.moved(Some(0), "ArrowLeft"), Some(0));
        assert_eq!(f.moved(Some(0), "End"), Some(2));
        assert_eq!(f.moved(Some(0), "x"), None);
        assert_eq!(figure(&[]).moved(None, "Home"), None);
    }

    #[test]
    fn a_dashed_line_keeps_its_length_and_turns_corners() {
        let strokes = strokes(&[(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)], &[6.0, 2.0]);
        assert_eq!(strokes.len(), 3);
        let length = |s: &Vec<(f64, f64)>| -> f64 {
            s.windows(2)
                .map(|w| (w[1].0 - w[0].0).hypot(w[1].1 - w[0].1))
                .sum()
        };
        assert!(
            (strokes.iter().map(length).sum::<f64>() - 16.0).abs() < 1e-9,
            "{strokes:?}"
        );
        assert_eq!(super::strokes(&[(0.0, 0.0), (1.0, 1.0)], &[]).len(), 1);
    }

    #[test]
    fn a_table_is_csv() {
        let table = Table {
            head: vec!["a".into(), "b, c".into()],
            rows: vec![vec![
                Cell::Text("x".into()),
                Cell::Number(-1068.5, "−1,069".into()),
            ]],
        };
        assert_eq!(table.csv(), "a,\"b, c\"\r\nx,-1068.5\r\n");
    }
}
