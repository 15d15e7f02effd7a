//! Figures of one cell: every sample in measured order beside the boxes, and the two sides against each other.

use fleethold_api_types::bench::{JudgedCell, Metric, Side, Summary};

use crate::{
    model::{
        figure::{Axis, Cell, Figure, Ink, Labels, Layer, Mark, Reading, Stop, Table},
        scale::Scale,
        unit::Shown,
    },
    t,
};

/// Ticks of a value axis.
pub(super) const TICKS: usize = 6;
/// The samples take this share of the width, the boxes the rest.
const SAMPLES: f64 = 0.77;
/// Middles of the boxes.
const BOXES: [f64; 2] = [0.83, 0.95];
const HALF_BOX: f64 = 0.025;

/// Both sides with their ink, the older first.
pub(super) const SIDES: [(Side, Ink); 2] = [(Side::Before, Ink::Before), (Side::After, Ink::After)];

/// The word of a side.
pub fn side_word(side: Side) -> &'static str {
    match side {
        Side::Before => t!(bench.before),
        Side::After => t!(bench.after),
    }
}

pub(super) fn summary(cell: &JudgedCell, side: Side) -> Option<Summary> {
    match side {
        Side::Before => cell.before,
        Side::After => cell.after,
    }
}

/// How the values of a cell are written.
pub fn shown(cell: &JudgedCell, metric: &Metric) -> Shown {
    let about = [cell.before, cell.after]
        .into_iter()
        .flatten()
        .map(|s| s.median)
        .fold(0.0, f64::max);
    Shown::of(&metric.unit, about)
}

/// The sides differ so much that one unit, or one linear axis, hides one of them.
pub fn far_apart(cell: &JudgedCell) -> bool {
    cell.before.zip(cell.after).is_some_and(|(b, a)| {
        let ratio = a.median / b.median;
        ratio.is_finite() && ratio > 0.0 && !(0.02..=50.0).contains(&ratio)
    })
}

/// Head of the legend and of the table of figures.
pub(super) fn legend_head() -> Vec<String> {
    ["n", t!(min), t!(median), t!(max), "MAD"]
        .map(str::to_owned)
        .to_vec()
}

/// Figures of a side in the unit of the axis; with units of their own when the sides are far apart.
pub(super) fn legend_cells(cell: &JudgedCell, side: Side, shown: Shown, unit: &str) -> Vec<String> {
    let apart = far_apart(cell);
    summary(cell, side).map_or_else(Vec::new, |s| {
        let mut cells = vec![crate::model::format::integer(s.runs)];
        cells.extend([s.min, s.median, s.max, s.mad].map(|v| {
            if apart {
                crate::model::unit::value(unit, v)
            } else {
                shown.figure(v)
            }
        }));
        cells
    })
}

fn radius(samples: usize) -> f64 {
    match samples {
        0..=48 => 4.5,
        49..=200 => 3.0,
        _ => 2.0,
    }
}

/// All values of a cell with the five figures of both sides, for the range of an axis.
pub(super) fn values(cell: &JudgedCell) -> impl Iterator<Item = f64> + '_ {
    let ends = [cell.before, cell.after]
        .into_iter()
        .flatten()
        .flat_map(|s| [s.min, s.max]);
    cell.samples.iter().map(|s| s.value).chain(ends)
}

/// Every sample in measured order, then one box a side.
pub fn in_order(cell: &JudgedCell, metric: &Metric, log: bool, label: String) -> Figure {
    let shown = shown(cell, metric);
    let count = cell.samples.len();
    let place = |i: usize| (i as f64 + 0.5) / count.max(1) as f64 * (SAMPLES - 0.02);
    let mut layers: Vec<Layer> = Vec::new();
    let mut labels = Vec::new();
    let mut stops: Vec<Stop> = Vec::new();
    let step = count.div_ceil(8).max(1);
    for (at, (side, ink)) in SIDES.into_iter().enumerate() {
        let mut marks: Vec<Mark> = cell
            .samples
            .iter()
            .enumerate()
            .filter(|(_, s)| s.side == side)
            .map(|(i, s)| Mark::Dot {
                x: place(i),
                y: s.value,
                ink,
                radius: radius(count),
            })
            .collect();
        let summary = summary(cell, side);
        if let (Some(s), Some(x)) = (summary, BOXES.get(at)) {
            marks.push(Mark::Box {
                x: (x - HALF_BOX, x + HALF_BOX),
                five: [s.min, s.lower_quartile, s.median, s.upper_quartile, s.max],
                ink,
            });
            labels.push((*x, side_word(side).to_owned(), false));
            stops.push(Stop {
                x: *x,
                title: t!(
                    bench.middle_half,
                    low = shown.figure(s.lower_quartile),
                    high = shown.text(s.upper_quartile)
                ),
                readings: vec![Reading {
                    layer: at,
                    name: t!(bench.median_of, side = side_word(side)),
                    y: s.median,
                    text: shown.text(s.median),
                }],
            });
        }
        layers.push(Layer {
            name: side_word(side).to_owned(),
            ink,
            marks,
            cells: legend_cells(cell, side, shown, &metric.unit),
        });
    }
    let order = cell.samples.iter().enumerate().map(|(i, s)| {
        let layer = usize::from(s.side == Side::After);
        Stop {
            x: place(i),
            title: t!(bench.sample_n, n = i + 1),
            readings: vec![Reading {
                layer,
                name: side_word(s.side).to_owned(),
                y: s.value,
                text: shown.text(s.value),
            }],
        }
    });
    stops.splice(0..0, order);
    labels.extend((0..count).map(|i| {
        let minor = i % step != 0;
        (place(i), (i + 1).to_string(), minor)
    }));
    layers.push(Layer {
        name: String::new(),
        ink: Ink::Rule,
        marks: vec![Mark::Upright {
            x: SAMPLES,
            text: String::new(),
            ink: Ink::Rule,
        }],
        cells: Vec::new(),
    });
    Figure {
        label,
        x: Axis {
            scale: Scale::exact(0.0, 1.0),
            labels: Labels::Given(labels),
        },
        y: Axis {
            scale: Scale::around(values(cell), TICKS, log),
            labels: Labels::Unit(shown),
        },
        layers,
        stops,
        legend: legend_head(),
        table: table(cell, metric, shown),
    }
}

/// Every sample as a row.
pub(super) fn table(cell: &JudgedCell, metric: &Metric, shown: Shown) -> Table {
    Table {
        head: vec![
            t!(bench.sample).to_owned(),
            t!(bench.side).to_owned(),
            format!("{} ({})", metric.name, metric.unit),
        ],
        rows: cell
            .samples
            .iter()
            .enumerate()
            .map(|(i, s)| {
                vec![
                    Cell::Number(i as f64 + 1.0, (i + 1).to_string()),
                    Cell::Text(side_word(s.side).to_owned()),
                    Cell::Number(s.value, shown.text(s.value)),
                ]
            })
            .collect(),
    }
}

/// The nth sample of each side against the nth of the other, with the medians as lines.
pub fn against(cell: &JudgedCell, metric: &Metric, log: bool, label: String) -> Figure {
    let shown = shown(cell, metric);
    let of = |side: Side| -> Vec<f64> {
        cell.samples
            .iter()
            .filter(|s| s.side == side)
            .map(|s| s.value)
            .collect()
    };
    let sides = SIDES.map(|(side, ink)| (side, ink, of(side)));
    let longest = sides.iter().map(|(_, _, v)| v.len()).max().unwrap_or(0);
    let x = Scale::exact(0.3, longest as f64 + 0.7);
    let layers = sides
        .iter()
        .map(|(side, ink, values)| {
            let summary = summary(cell, *side);
            let mut marks: Vec<Mark> = summary
                .map(|s| Mark::Line {
                    points: vec![(x.low, s.median), (x.high, s.median)],
                    ink: *ink,
                    dash: &[5.0, 4.0],
                })
                .into_iter()
                .collect();
            marks.extend(values.iter().enumerate().map(|(i, y)| Mark::Dot {
                x: i as f64 + 1.0,
                y: *y,
                ink: *ink,
                radius: radius(longest),
            }));
            Layer {
                name: side_word(*side).to_owned(),
                ink: *ink,
                marks,
                cells: legend_cells(cell, *side, shown, &metric.unit),
            }
        })
        .collect();
    let stops = (0..longest)
        .map(|i| Stop {
            x: i as f64 + 1.0,
            title: t!(bench.iteration_n, n = i + 1),
            readings: sides
                .iter()
                .enumerate()
                .filter_map(|(layer, (side, _, values))| {
                    let y = *values.get(i)?;
                    Some(Reading {
                        layer,
                        name: side_word(*side).to_owned(),
                        y,
                        text: shown.text(y),
                    })
                })
                .collect(),
        })
        .collect();
    let step = longest.div_ceil(10).max(1);
    let labels = (0..longest)
        .filter(|i| i % step == 0)
        .map(|i| (i as f64 + 1.0, (i + 1).to_string(), false))
        .collect();
    Figure {
        label,
        x: Axis {
            scale: x,
            labels: Labels::Given(labels),
        },
        y: Axis {
            scale: Scale::around(values(cell), TICKS, log),
            labels: Labels::Unit(shown),
        },
        layers,
        stops,
        legend: legend_head(),
        table: table(cell, metric, shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bench::testing::{cell, comparison};

    fn rate() -> Metric {
        comparison().metrics.remove(0)
    }

    #[test]
    fn no_sample_is_left_out_and_both_boxes_are_there() {
        let c = cell(&[790.0, 778.0, 813.0], &[1069.0, 1053.0, 1067.0], None);
        let f = in_order(&c, &rate(), false, "x".into());
        let count =
            |want: fn(&Mark) -> bool| f.layers.iter().flat_map(|l| &l.marks).filter(|m| want(m)).count();
        assert_eq!(count(|m| matches!(m, Mark::Dot { .. })), 6);
        assert_eq!(count(|m| matches!(m, Mark::Box { .. })), 2);
        assert_eq!(f.stops.len(), 8);
        assert!(
            f.stops.windows(2).all(|w| w[0].x <= w[1].x),
            "the crosshair steps to the right"
        );
        assert_eq!(f.table.rows.len(), 6);
        assert_eq!(f.layers[0].cells, ["3", "778", "790", "813", "1"]);
    }

    #[test]
    fn samples_stand_in_measured_order() {
        let c = cell(&[1.0, 3.0], &[2.0, 4.0], None);
        let f = in_order(&c, &rate(), false, String::new());
        let read: Vec<_> = f.stops.iter().take(4).map(|s| s.readings[0].y).collect();
        assert_eq!(read, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn the_sides_are_paired_by_iteration() {
        let mut c = cell(&[1.0, 3.0], &[2.0, 4.0], None);
        c.samples.pop();
        let f = against(&c, &rate(), true, String::new());
        let read: Vec<usize> = f.stops.iter().map(|s| s.readings.len()).collect();
        assert_eq!(read, [2, 1]);
        assert!(f.y.scale.log);
    }

    #[test]
    fn one_side_without_samples_is_no_reason_to_fail() {
        let mut c = cell(&[5.0], &[5.0], None);
        c.samples.clear();
        c.before = None;
        let f = in_order(&c, &rate(), false, String::new());
        assert_eq!(f.stops.len(), 1);
        assert!(f.layers[0].marks.is_empty());
    }
}
