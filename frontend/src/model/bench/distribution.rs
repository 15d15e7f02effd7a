//! Figures of one cell without its order: histogram and empirical distribution of both sides.

use fleethold_api_types::bench::{Histogram, JudgedCell, Metric, Side};

use super::samples::{SIDES, TICKS, legend_cells, legend_head, shown, side_word, table, values};
use crate::{
    model::{
        figure::{Axis, Figure, Ink, Labels, Layer, Mark, Reading, Stop},
        format::percent,
        scale::Scale,
        unit::Shown,
    },
    t,
};

fn sorted(cell: &JudgedCell, side: Side) -> Vec<f64> {
    let mut values: Vec<f64> = cell
        .samples
        .iter()
        .filter(|s| s.side == side)
        .map(|s| s.value)
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Bins of a histogram: the square root of the samples, within what can be seen.
fn bins(samples: usize) -> usize {
    ((samples as f64).sqrt().ceil() as usize * 2).clamp(6, 40)
}

/// How many samples lie where; both sides share the bins and stand beside each other in them.
pub fn histogram(cell: &JudgedCell, metric: &Metric, log: bool, label: String) -> Figure {
    let shown = shown(cell, metric);
    let x = Scale::around(values(cell), TICKS, log);
    let count = bins(cell.samples.len() / 2);
    let edge = |i: usize| x.value(i as f64 / count as f64);
    let sides = SIDES.map(|(side, ink)| {
        let mut heights = vec![0u64; count];
        for value in sorted(cell, side) {
            let at = (x.share(value) * count as f64)
                .floor()
                .clamp(0.0, count as f64 - 1.0) as usize;
            if let Some(height) = heights.get_mut(at) {
                *height += 1;
            }
        }
        (side, ink, heights)
    });
    let top = sides
        .iter()
        .flat_map(|(_, _, h)| h)
        .copied()
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    let layers = sides
        .iter()
        .map(|(side, ink, heights)| Layer {
            name: side_word(*side).to_owned(),
            ink: *ink,
            marks: heights
                .iter()
                .enumerate()
                .filter(|(_, h)| **h > 0)
                .map(|(i, h)| {
                    // each side has its half of the bin
                    let half = |from: f64, to: f64| {
                        (
                            x.value((i as f64 + from) / count as f64),
                            x.value((i as f64 + to) / count as f64),
                        )
                    };
                    let x = if *side == Side::Before {
                        half(0.08, 0.5)
                    } else {
                        half(0.5, 0.92)
                    };
                    Mark::Bar {
                        x,
                        top: *h as f64,
                        ink: *ink,
                    }
                })
                .collect(),
            cells: legend_cells(cell, *side, shown, &metric.unit),
        })
        .collect();
    let stops = (0..count)
        .map(|i| Stop {
            x: x.value((i as f64 + 0.5) / count as f64),
            title: t!(
                bench.from_to,
                from = shown.figure(edge(i)),
                to = shown.text(edge(i + 1))
            ),
            readings: sides
                .iter()
                .enumerate()
                .filter_map(|(layer, (side, _, heights))| {
                    let h = *heights.get(i)?;
                    Some(Reading {
                        layer,
                        name: side_word(*side).to_owned(),
                        y: h as f64,
                        text: h.to_string(),
                    })
                })
                .collect(),
        })
        .collect();
    Figure {
        label,
        x: Axis {
            scale: x,
            labels: Labels::Unit(shown),
        },
        y: Axis {
            scale: Scale::exact(0.0, top * 1.05),
            labels: Labels::Unit(Shown {
                factor: 1.0,
                name: "",
            }),
        },
        layers,
        stops,
        legend: legend_head(),
        table: table(cell, metric, shown),
    }
}

/// The share of samples that is not larger than a value.
pub fn ecdf(cell: &JudgedCell, metric: &Metric, log: bool, label: String) -> Figure {
    let shown = shown(cell, metric);
    let x = Scale::around(values(cell), TICKS, log);
    let sides = SIDES.map(|(side, ink)| (side, ink, sorted(cell, side)));
    let layers = sides
        .iter()
        .map(|(side, ink, values)| Layer {
            name: side_word(*side).to_owned(),
            ink: *ink,
            marks: if values.is_empty() {
                Vec::new()
            } else {
                vec![Mark::Line {
                    points: stairs(values, x),
                    ink: *ink,
                    dash: if *side == Side::Before { &[5.0, 3.0] } else { &[] },
                }]
            },
            cells: legend_cells(cell, *side, shown, &metric.unit),
        })
        .collect();
    let mut places: Vec<f64> = sides.iter().flat_map(|(_, _, v)| v).copied().collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let stops = places
        .into_iter()
        .map(|at| Stop {
            x: at,
            title: t!(bench.up_to, value = shown.text(at)),
            readings: sides
                .iter()
                .enumerate()
                .filter(|(_, (_, _, values))| !values.is_empty())
                .map(|(layer, (side, _, values))| {
                    let y = values.partition_point(|v| *v <= at) as f64 / values.len() as f64;
                    Reading {
                        layer,
                        name: side_word(*side).to_owned(),
                        y: y * 100.0,
                        text: percent(y),
                    }
                })
                .collect(),
        })
        .collect();
    Figure {
        label,
        x: Axis {
            scale: x,
            labels: Labels::Unit(shown),
        },
        y: Axis {
            scale: Scale::exact(0.0, 104.0),
            labels: Labels::Unit(Shown {
                factor: 1.0,
                name: "%",
            }),
        },
        layers,
        stops,
        legend: legend_head(),
        table: table(cell, metric, shown),
    }
}

fn stairs(sorted: &[f64], x: Scale) -> Vec<(f64, f64)> {
    let step = 100.0 / sorted.len() as f64;
    let mut points = vec![(x.low, 0.0)];
    for (i, value) in sorted.iter().enumerate() {
        points.push((*value, i as f64 * step));
        points.push((*value, (i + 1) as f64 * step));
    }
    points.push((x.high, 100.0));
    points
}

/// Sizes of writes by powers of two: how many of each side.
pub fn write_sizes(before: &Histogram, after: &Histogram, label: String) -> Figure {
    let mut sizes: Vec<u64> = before.bins.iter().chain(&after.bins).map(|b| b.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let count = |h: &Histogram, size: u64| h.bins.iter().filter(|b| b.0 == size).map(|b| b.1).sum::<u64>();
    let sides = [
        (Side::Before, Ink::Before, before),
        (Side::After, Ink::After, after),
    ];
    let number = Shown {
        factor: 1.0,
        name: "",
    };
    let mut largest = 1u64;
    let layers = sides
        .iter()
        .map(|(side, ink, histogram)| {
            let marks = sizes
                .iter()
                .enumerate()
                .filter_map(|(i, size)| {
                    let n = count(histogram, *size);
                    largest = largest.max(n);
                    let at = i as f64 + if *side == Side::Before { 0.1 } else { 0.5 };
                    (n > 0).then_some(Mark::Bar {
                        x: (at, at + 0.4),
                        top: n as f64,
                        ink: *ink,
                    })
                })
                .collect();
            let all: u64 = histogram.bins.iter().map(|b| b.1).sum();
            Layer {
                name: side_word(*side).to_owned(),
                ink: *ink,
                marks,
                cells: vec![crate::model::format::integer(all)],
            }
        })
        .collect();
    let stops = sizes
        .iter()
        .enumerate()
        .map(|(i, size)| Stop {
            x: i as f64 + 0.5,
            title: t!(
                bench.from_to,
                from = crate::model::format::bytes(*size),
                to = crate::model::format::bytes(size.saturating_mul(2).max(1))
            ),
            readings: sides
                .iter()
                .enumerate()
                .map(|(layer, (side, _, h))| {
                    let n = count(h, *size);
                    Reading {
                        layer,
                        name: side_word(*side).to_owned(),
                        y: n as f64,
                        text: crate::model::format::integer(n),
                    }
                })
                .collect(),
        })
        .collect();
    let rows = sizes
        .iter()
        .map(|size| {
            let mut row = vec![crate::model::figure::Cell::Number(
                *size as f64,
                crate::model::format::bytes(*size),
            )];
            row.extend(sides.iter().map(|(_, _, h)| {
                let n = count(h, *size);
                crate::model::figure::Cell::Number(n as f64, crate::model::format::integer(n))
            }));
            row
        })
        .collect();
    Figure {
        label,
        x: Axis {
            scale: Scale::exact(0.0, sizes.len().max(1) as f64),
            labels: Labels::Given(
                sizes
                    .iter()
                    .enumerate()
                    .map(|(i, s)| (i as f64 + 0.5, crate::model::format::bytes(*s), i % 2 == 1))
                    .collect(),
            ),
        },
        y: Axis {
            scale: Scale::exact(0.0, largest as f64 * 1.05),
            labels: Labels::Unit(number),
        },
        layers,
        stops,
        legend: vec![t!(bench.writes).to_owned()],
        table: crate::model::figure::Table {
            head: vec![
                t!(size).to_owned(),
                t!(bench.before).to_owned(),
                t!(bench.after).to_owned(),
            ],
            rows,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bench::testing::{cell, comparison};

    fn metric() -> Metric {
        comparison().metrics.remove(0)
    }

    #[test]
    fn a_histogram_counts_every_sample_once() {
        let c = cell(
            &[790.0, 778.0, 813.0, 812.0],
            &[1069.0, 1053.0, 1067.0, 1086.0],
            None,
        );
        for log in [false, true] {
            let f = histogram(&c, &metric(), log, String::new());
            for layer in &f.layers {
                let sum: f64 = layer
                    .marks
                    .iter()
                    .map(|m| if let Mark::Bar { top, .. } = m { *top } else { 0.0 })
                    .sum();
                assert_eq!(sum, 4.0);
            }
        }
    }

    #[test]
    fn the_distribution_rises_from_nothing_to_all() {
        let c = cell(&[1.0, 2.0, 2.0, 4.0], &[3.0, 3.0, 3.0, 3.0], None);
        let f = ecdf(&c, &metric(), false, String::new());
        let last = f.stops.last().expect("stops");
        assert!(last.readings.iter().all(|r| r.text == "100%"));
        let at_two = f.stops.iter().find(|s| s.x == 2.0).expect("a stop");
        assert_eq!(
            at_two.readings.iter().map(|r| r.y).collect::<Vec<_>>(),
            [75.0, 0.0]
        );
        for layer in &f.layers {
            let Some(Mark::Line { points, .. }) = layer.marks.first() else {
                panic!("a line")
            };
            assert!(
                points.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1),
                "{points:?}"
            );
        }
    }

    #[test]
    fn write_sizes_keep_their_counts() {
        let of = |bins: &[(u64, u64)]| Histogram { bins: bins.to_vec() };
        let f = write_sizes(&of(&[(4096, 16)]), &of(&[(65536, 1)]), String::new());
        assert_eq!(f.stops.len(), 2);
        assert_eq!(f.layers[0].cells, ["16"]);
        assert_eq!(f.table.csv().lines().nth(1), Some("4096,16,0"));
    }
}
