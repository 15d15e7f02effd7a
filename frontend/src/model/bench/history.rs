//! One series over runs and commits: points, levels with the middle half of their values, changes, outliers.

use fleethold_api_types::bench::{AnnotationKind, ChangePoint, Point, SeriesHistory};
use time::UtcOffset;

use super::samples::TICKS;
use crate::{
    model::{
        figure::{Axis, Cell, Figure, Ink, Labels, Layer, Mark, Reading, Stop, Table},
        scale::Scale,
        unit::{Shown, change},
    },
    t,
};

/// The first characters of a commit.
pub fn short(revision: &str) -> &str {
    revision.get(..7).unwrap_or(revision)
}

/// `10-11`; `03:31` when all is of one day, `03:31:07` when all is of one hour, with the year over more than one.
fn when(point: &Point, offset: UtcOffset, span: time::Duration) -> String {
    let at = point.at.to_offset(offset);
    if span < time::Duration::hours(1) {
        format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second())
    } else if span < time::Duration::days(2) {
        crate::model::format::clock_short(point.at, offset)
    } else if span < time::Duration::days(365) {
        format!("{:02}-{:02}", u8::from(at.month()), at.day())
    } else {
        format!("{:04}-{:02}", at.year(), u8::from(at.month()))
    }
}

/// How the values of a series are written.
pub fn shown(history: &SeriesHistory) -> Shown {
    let about = history.points.iter().map(|p| p.median).fold(0.0, f64::max);
    Shown::of(&history.series.unit, about)
}

/// True when a change made the series better.
pub fn is_better(history: &SeriesHistory, change: &ChangePoint) -> bool {
    (change.ratio < 1.0) == history.series.lower_is_better
}

/// The older side of the same measurement, drawn along with a series when there is one.
pub struct Other<'a> {
    /// Its history.
    pub history: &'a SeriesHistory,
    /// Its name.
    pub name: String,
}

/// The figure; `now` is the run to point out, the newest when it is not among the points.
pub fn figure(
    history: &SeriesHistory,
    other: Option<&Other<'_>>,
    log: bool,
    offset: UtcOffset,
    label: String,
) -> Figure {
    let shown = shown(history);
    let count = history.points.len();
    let x = Scale::exact(-0.6, count.max(2) as f64 - 0.4);
    let mut layers = vec![levels(history), changes(history), points(history, false)];
    let theirs_at = layers.len() + usize::from(history.points.iter().any(|p| p.spoiled));
    if theirs_at > layers.len() {
        layers.push(points(history, true));
    }
    if let Some(other) = other {
        layers.push(pairs(history, other));
    }
    let stops = history
        .points
        .iter()
        .enumerate()
        .map(|(i, p)| Stop {
            x: i as f64,
            title: title(p, offset),
            readings: std::iter::once(Reading {
                layer: if p.spoiled { 3 } else { 2 },
                name: if p.spoiled {
                    t!(bench.busy_machine).to_owned()
                } else {
                    t!(median).to_owned()
                },
                y: p.median,
                text: shown.text(p.median),
            })
            .chain(
                other
                    .and_then(|o| o.history.points.iter().find(|q| q.run == p.run).map(|q| (o, q)))
                    .map(|(o, q)| Reading {
                        layer: theirs_at,
                        name: o.name.clone(),
                        y: q.median,
                        text: shown.text(q.median),
                    }),
            )
            .collect(),
        })
        .collect();
    let all = history
        .points
        .iter()
        .filter(|p| !p.outlier || count < 4)
        .map(|p| p.median);
    let theirs = other
        .into_iter()
        .flat_map(|o| o.history.points.iter())
        .map(|p| p.median);
    let bands = history
        .levels
        .iter()
        .flat_map(|l| [l.lower_quartile, l.upper_quartile]);
    let step = count.div_ceil(6).max(1);
    let ends = history.points.first().zip(history.points.last());
    let span = ends.map_or(time::Duration::ZERO, |(a, b)| b.at - a.at);
    let labels = history
        .points
        .iter()
        .enumerate()
        .filter(|(i, _)| i % step == 0)
        .map(|(i, p)| (i as f64, when(p, offset, span), (i / step) % 2 == 1))
        .collect();
    Figure {
        label,
        x: Axis {
            scale: x,
            labels: Labels::Given(labels),
        },
        y: Axis {
            scale: Scale::around(all.chain(theirs).chain(bands), TICKS, log),
            labels: Labels::Unit(shown),
        },
        layers,
        stops,
        legend: vec!["n".to_owned()],
        table: table(history, shown),
    }
}

fn title(point: &Point, offset: UtcOffset) -> String {
    let at = point.at.to_offset(offset);
    let day = format!("{:04}-{:02}-{:02}", at.year(), u8::from(at.month()), at.day());
    match point.revision.as_str() {
        "" => day,
        revision => format!("{day} {}", short(revision)),
    }
}

fn levels(history: &SeriesHistory) -> Layer {
    let marks = history
        .levels
        .iter()
        .flat_map(|l| {
            let x = (f64::from(l.from) - 0.45, f64::from(l.to) - 0.55);
            [
                Mark::Band {
                    x,
                    y: (l.lower_quartile, l.upper_quartile),
                    ink: Ink::Level,
                },
                Mark::Line {
                    points: vec![(x.0, l.median), (x.1, l.median)],
                    ink: Ink::Level,
                    dash: &[],
                },
            ]
        })
        .collect();
    Layer {
        name: t!(bench.levels).to_owned(),
        ink: Ink::Level,
        marks,
        cells: vec![crate::model::format::integer(history.levels.len() as u64)],
    }
}

fn changes(history: &SeriesHistory) -> Layer {
    let found = history.changes.iter().map(|c| Mark::Upright {
        x: f64::from(c.at) - 0.5,
        text: format!("{} {}", short(&c.to_revision), change(c.ratio))
            .trim()
            .to_owned(),
        ink: Ink::Accent,
    });
    let said = history
        .annotations
        .iter()
        .filter(|a| a.kind == AnnotationKind::LevelShift && a.withdrawn_at.is_none())
        .filter_map(|a| history.points.iter().position(|p| Some(p.run) == a.run))
        .map(|at| Mark::Upright {
            x: at as f64 - 0.5,
            text: t!(bench.level_shift).to_owned(),
            ink: Ink::Level,
        });
    let marks: Vec<Mark> = found.chain(said).collect();
    Layer {
        name: t!(bench.change_points).to_owned(),
        ink: Ink::Accent,
        cells: vec![crate::model::format::integer(marks.len() as u64)],
        marks,
    }
}

/// The runs of one kind, quiet or spoiled by a busy machine: the latter have a shape and a line of the legend of their own.
fn points(history: &SeriesHistory, spoiled: bool) -> Layer {
    let last = history.points.len().saturating_sub(1);
    let small = if last > 200 { 2.0 } else { 2.75 };
    let marks: Vec<Mark> = history
        .points
        .iter()
        .enumerate()
        .filter(|(_, p)| p.spoiled == spoiled)
        .map(|(i, p)| {
            let (ink, radius) = match (p.outlier, spoiled, i == last) {
                (true, _, _) => (Ink::Outlier, 4.0),
                (false, true, _) => (Ink::Busy, small + 2.0),
                (false, false, true) => (Ink::After, 5.0),
                (false, false, false) => (Ink::Past, small),
            };
            Mark::Dot {
                x: i as f64,
                y: p.median,
                ink,
                radius,
            }
        })
        .collect();
    let (name, ink) = if spoiled {
        (t!(bench.busy_machine), Ink::Busy)
    } else {
        (t!(bench.runs), Ink::Past)
    };
    Layer {
        name: name.to_owned(),
        ink,
        cells: vec![crate::model::format::integer(marks.len() as u64)],
        marks,
    }
}

/// The other side's points at the runs of this one.
fn pairs(history: &SeriesHistory, other: &Other<'_>) -> Layer {
    let marks: Vec<Mark> = history
        .points
        .iter()
        .enumerate()
        .filter_map(|(i, p)| {
            let q = other.history.points.iter().find(|q| q.run == p.run)?;
            Some(Mark::Dot {
                x: i as f64,
                y: q.median,
                ink: Ink::Before,
                radius: 3.0,
            })
        })
        .collect();
    Layer {
        name: other.name.clone(),
        ink: Ink::Before,
        cells: vec![crate::model::format::integer(marks.len() as u64)],
        marks,
    }
}

/// What has to be known of a point.
fn note(point: &Point) -> String {
    let notes = [
        point.outlier.then_some(t!(bench.outlier)),
        point.spoiled.then_some(t!(bench.busy_machine)),
    ];
    notes.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn table(history: &SeriesHistory, shown: Shown) -> Table {
    let number = |v: f64| Cell::Number(v, shown.text(v));
    Table {
        head: vec![
            t!(time).to_owned(),
            t!(bench.commit).to_owned(),
            "n".to_owned(),
            t!(min).to_owned(),
            t!(median).to_owned(),
            t!(max).to_owned(),
            t!(bench.note).to_owned(),
        ],
        rows: history
            .points
            .iter()
            .rev()
            .map(|p| {
                vec![
                    Cell::Text(crate::model::format::date_time(p.at, UtcOffset::UTC)),
                    Cell::Text(short(&p.revision).to_owned()),
                    Cell::Number(p.n as f64, p.n.to_string()),
                    number(p.min),
                    number(p.median),
                    number(p.max),
                    Cell::Text(note(p)),
                ]
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleethold_api_types::bench::{Level, Series, Side};
    use time::macros::datetime;
    use uuid::Uuid;

    fn history() -> SeriesHistory {
        let point = |i: u32, median: f64| Point {
            run: Uuid::from_u128(u128::from(i)),
            at: datetime!(2026-09-02 00:00 UTC) + time::Duration::days(i64::from(i)),
            revision: format!("{i:07}abc"),
            n: 8,
            min: median - 5.0,
            lower_quartile: median - 2.0,
            median,
            upper_quartile: median + 2.0,
            max: median + 5.0,
            outlier: i == 3,
            spoiled: false,
        };
        SeriesHistory {
            series: Series {
                id: 1,
                workload: "restore".into(),
                parameters: [].into(),
                metric: "rate".into(),
                unit: "MiB/s".into(),
                lower_is_better: false,
                machine_class: "m".into(),
                side: Side::After,
                runs: 8,
            },
            points: (0..8)
                .map(|i| {
                    point(
                        i,
                        if i == 3 {
                            9_000.0
                        } else if i < 4 {
                            768.0
                        } else {
                            812.0
                        },
                    )
                })
                .collect(),
            changes: vec![ChangePoint {
                at: 4,
                ratio: 812.0 / 768.0,
                p: 0.001,
                from_revision: "0000003abc".into(),
                to_revision: "0000004abc".into(),
            }],
            levels: vec![
                Level {
                    from: 0,
                    to: 4,
                    median: 768.0,
                    lower_quartile: 760.0,
                    upper_quartile: 775.0,
                },
                Level {
                    from: 4,
                    to: 8,
                    median: 812.0,
                    lower_quartile: 805.0,
                    upper_quartile: 820.0,
                },
            ],
            annotations: Vec::new(),
        }
    }

    #[test]
    fn levels_changes_and_points_are_all_there() {
        let f = figure(&history(), None, false, UtcOffset::UTC, String::new());
        let [levels, changes, points] = f.layers.as_slice() else {
            panic!("three layers")
        };
        assert_eq!(
            (levels.marks.len(), changes.marks.len(), points.marks.len()),
            (4, 1, 8)
        );
        assert!(
            matches!(&changes.marks[0], Mark::Upright { text, x, .. } if text == "0000004 +5.7%" && *x == 3.5)
        );
        assert!(is_better(&history(), &history().changes[0]));
    }

    #[test]
    fn an_outlier_is_a_cross_and_does_not_stretch_the_axis() {
        let f = figure(&history(), None, false, UtcOffset::UTC, String::new());
        assert!(f.layers[2].marks.iter().any(|m| matches!(
            m,
            Mark::Dot {
                ink: Ink::Outlier,
                ..
            }
        )));
        assert!(f.y.scale.high < 1000.0, "{:?}", f.y.scale);
    }

    #[test]
    fn the_labels_below_tell_neighbours_apart() {
        let label = |h: &SeriesHistory| {
            let f = figure(h, None, false, UtcOffset::UTC, String::new());
            match f.x.labels {
                Labels::Given(given) => given[0].1.clone(),
                Labels::Unit(_) => panic!("times"),
            }
        };
        let mut h = history();
        assert_eq!(label(&h), "09-02");
        for (i, p) in h.points.iter_mut().enumerate() {
            p.at = datetime!(2026-09-02 10:00 UTC) + time::Duration::seconds(i as i64);
        }
        assert_eq!(label(&h), "10:00:00");
        h.points[7].at = datetime!(2026-09-02 18:00 UTC);
        assert_eq!(label(&h), "10:00");
        h.points[7].at = datetime!(2028-09-02 18:00 UTC);
        assert_eq!(label(&h), "2026-09");
    }

    #[test]
    fn a_run_on_a_busy_machine_has_a_shape_and_a_line_of_the_legend_of_its_own() {
        let mut h = history();
        h.points[5].spoiled = true;
        let other = Other {
            history: &history(),
            name: "before".into(),
        };
        let f = figure(&h, Some(&other), false, UtcOffset::UTC, String::new());
        let busy = &f.layers[3];
        assert_eq!((&*busy.name, busy.ink), (t!(bench.busy_machine), Ink::Busy));
        assert!(matches!(
            busy.marks.as_slice(),
            [Mark::Dot {
                x: 5.0,
                ink: Ink::Busy,
                ..
            }]
        ));
        assert_eq!(f.layers[2].marks.len(), 7, "it is not among the quiet ones");
        assert_eq!(f.layers[4].name, "before");
        let layers: Vec<usize> = f.stops[5].readings.iter().map(|r| r.layer).collect();
        assert_eq!(layers, [3, 4]);
        assert!(matches!(&f.table.rows[2][6], Cell::Text(t) if t == t!(bench.busy_machine)));
        let quiet = figure(&history(), None, false, UtcOffset::UTC, String::new());
        assert_eq!(quiet.layers.len(), 3, "no busy run, no line for it");
    }

    #[test]
    fn the_other_side_stands_at_the_same_runs() {
        let mut theirs = history();
        theirs.points.retain(|p| p.run.as_u128() % 2 == 0);
        let other = Other {
            history: &theirs,
            name: "before".into(),
        };
        let f = figure(&history(), Some(&other), false, UtcOffset::UTC, String::new());
        assert_eq!(f.layers[3].marks.len(), 4);
        assert_eq!(f.stops[2].readings.len(), 2);
        assert_eq!(f.stops[1].readings.len(), 1);
    }

    #[test]
    fn the_newest_run_is_the_first_row_of_the_table() {
        let rows = figure(&history(), None, false, UtcOffset::UTC, String::new())
            .table
            .rows;
        assert!(matches!(&rows[0][1], Cell::Text(t) if t == "0000007"));
    }
}
