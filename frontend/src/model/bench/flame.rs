//! A flame graph: what is hit, what is found, what a zoom shows.

use fleethold_api_types::bench::{Flame, FlameFrame};

use crate::model::figure::{Cell, Table};
use crate::t;

/// The part of the width that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zoom {
    /// Left edge.
    pub left: f64,
    /// Width.
    pub width: f64,
}

impl Zoom {
    /// All of it.
    pub const ALL: Self = Self {
        left: 0.0,
        width: 1.0,
    };

    /// To one frame.
    pub fn to(frame: &FlameFrame) -> Self {
        Self {
            left: frame.left,
            width: frame.width.max(1e-9),
        }
    }

    /// Where a frame lies in what is shown, as shares of it; `None` when it is not in it.
    pub fn place(self, frame: &FlameFrame) -> Option<(f64, f64)> {
        let left = ((frame.left - self.left) / self.width).max(0.0);
        let right = ((frame.left + frame.width - self.left) / self.width).min(1.0);
        (right > left + 1e-9).then_some((left, right))
    }
}

/// Rows from the root to the deepest frame.
pub fn depth(flame: &Flame) -> u32 {
    flame.frames.iter().map(|f| f.depth + 1).max().unwrap_or(0)
}

/// The frame at a row and a share of what is shown.
pub fn hit(flame: &Flame, zoom: Zoom, row: u32, share: f64) -> Option<usize> {
    let x = zoom.left + share * zoom.width;
    flame
        .frames
        .iter()
        .position(|f| f.depth == row && f.left <= x && x < f.left + f.width)
}

/// What a search finds: which frames, and their share of all samples. A match above a match counts once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Whether each frame matches.
    pub frames: Vec<bool>,
    /// Matching frames.
    pub count: usize,
    /// Share of the samples in them.
    pub share: f64,
}

/// Looks for a text in names, without regard to case.
pub fn search(flame: &Flame, text: &str) -> Found {
    let needle = text.trim().to_lowercase();
    if needle.is_empty() {
        return Found {
            frames: vec![false; flame.frames.len()],
            ..Found::default()
        };
    }
    let frames: Vec<bool> = flame
        .frames
        .iter()
        .map(|f| f.name.to_lowercase().contains(&needle))
        .collect();
    let spans = flame
        .frames
        .iter()
        .zip(&frames)
        .filter(|(_, found)| **found)
        .map(|(f, _)| (f.left, f.left + f.width))
        .collect();
    let share = covered(spans);
    Found {
        count: frames.iter().filter(|f| **f).count(),
        frames,
        share: share.min(1.0),
    }
}

/// The frame that a key leads to from another: to its caller, its first callee, its neighbour.
pub fn moved(flame: &Flame, at: usize, key: &str) -> Option<usize> {
    let here = flame.frames.get(at)?;
    let middle = here.left + here.width / 2.0;
    let row = |depth: u32| {
        flame
            .frames
            .iter()
            .enumerate()
            .filter(move |(_, f)| f.depth == depth)
    };
    match key {
        "ArrowDown" => {
            let depth = here.depth.checked_sub(1)?;
            row(depth)
                .find(|(_, f)| f.left <= middle && middle < f.left + f.width)
                .map(|(i, _)| i)
        }
        "ArrowUp" => row(here.depth + 1)
            .filter(|(_, f)| f.left >= here.left - 1e-12 && f.left < here.left + here.width)
            .max_by(|a, b| a.1.width.total_cmp(&b.1.width))
            .map(|(i, _)| i),
        "ArrowRight" => row(here.depth)
            .filter(|(_, f)| f.left > here.left)
            .min_by(|a, b| a.1.left.total_cmp(&b.1.left))
            .map(|(i, _)| i),
        "ArrowLeft" => row(here.depth)
            .filter(|(_, f)| f.left < here.left)
            .max_by(|a, b| a.1.left.total_cmp(&b.1.left))
            .map(|(i, _)| i),
        _ => None,
    }
}

/// Which of five steps between much less and much more a change is: -2 to 2.
pub fn step(change: f64) -> i8 {
    let size = match change.abs() {
        c if c < 0.002 => 0,
        c if c < 0.02 => 1,
        _ => 2,
    };
    if change < 0.0 { -size } else { size }
}

/// One function over all places it stands at.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Share of the samples that it is in; recursion counts once.
    pub total: f64,
    /// Share of the samples in itself and not in what it calls.
    pub own: f64,
    /// Total share now less total share before.
    pub change: Option<f64>,
}

/// What all places of a function add up to.
#[derive(Default)]
struct Sum {
    spans: Vec<(f64, f64)>,
    own: f64,
    change: Option<f64>,
}

/// The frame that called each frame.
fn callers(flame: &Flame) -> Vec<Option<usize>> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); depth(flame) as usize];
    for (i, frame) in flame.frames.iter().enumerate() {
        if let Some(row) = rows.get_mut(frame.depth as usize) {
            row.push(i);
        }
    }
    let left = |i: usize| flame.frames.get(i).map_or(0.0, |f| f.left);
    for row in &mut rows {
        row.sort_by(|a, b| left(*a).total_cmp(&left(*b)));
    }
    flame
        .frames
        .iter()
        .map(|frame| {
            let row = rows.get(frame.depth.checked_sub(1)? as usize)?;
            let middle = frame.left + frame.width / 2.0;
            let after = row.partition_point(|i| left(*i) <= middle);
            let caller = *row.get(after.checked_sub(1)?)?;
            flame
                .frames
                .get(caller)
                .filter(|c| middle < c.left + c.width)
                .map(|_| caller)
        })
        .collect()
}

/// All functions, those with the largest change or else the largest own share first.
pub fn functions(flame: &Flame) -> Vec<Function> {
    let callers = callers(flame);
    // what a frame calls is taken off what it is itself
    let mut called = vec![0.0f64; flame.frames.len()];
    for (frame, caller) in flame.frames.iter().zip(&callers) {
        if let Some(slot) = caller.and_then(|c| called.get_mut(c)) {
            *slot += frame.width;
        }
    }
    let recursive = |at: usize, name: &str| {
        std::iter::successors(callers.get(at).copied().flatten(), |c| {
            callers.get(*c).copied().flatten()
        })
        .any(|c| flame.frames.get(c).is_some_and(|f| f.name == name))
    };
    let mut sums: std::collections::BTreeMap<&str, Sum> = std::collections::BTreeMap::new();
    for (i, (frame, width)) in flame.frames.iter().zip(called).enumerate() {
        let sum = sums.entry(&frame.name).or_default();
        sum.spans.push((frame.left, frame.left + frame.width));
        sum.own += (frame.width - width).max(0.0);
        if let Some(change) = frame.change.filter(|_| !recursive(i, &frame.name)) {
            sum.change = Some(sum.change.unwrap_or(0.0) + change);
        }
    }
    let mut functions: Vec<Function> = sums
        .into_iter()
        .map(|(name, sum)| Function {
            name: name.to_owned(),
            total: covered(sum.spans),
            own: sum.own,
            change: sum.change,
        })
        .collect();
    functions.sort_by(|a, b| {
        let weight = |f: &Function| f.change.map_or(f.own, f64::abs);
        weight(b).total_cmp(&weight(a))
    });
    functions
}

/// The length of all spans together; where they lie on each other it counts once.
fn covered(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut end) = (0.0, 0.0f64);
    for (left, right) in spans {
        sum += (right - left.max(end)).max(0.0);
        end = end.max(right);
    }
    sum
}

/// The functions as a table.
pub fn table(functions: &[Function]) -> Table {
    let percent = |share: f64| Cell::Number(share, crate::model::format::percent(share));
    let with_change = functions.iter().any(|f| f.change.is_some());
    let mut head = vec![
        t!(bench.function).to_owned(),
        t!(bench.own_share).to_owned(),
        t!(bench.total_share).to_owned(),
    ];
    if with_change {
        head.push(t!(bench.change).to_owned());
    }
    Table {
        head,
        rows: functions
            .iter()
            .map(|f| {
                let mut row = vec![Cell::Text(f.name.clone()), percent(f.own), percent(f.total)];
                if with_change {
                    let change = f.change.unwrap_or(0.0);
                    row.push(Cell::Number(change, points(change)));
                }
                row
            })
            .collect(),
    }
}

/// A difference of shares in points of a hundred: `+3.1 pp`.
pub fn points(change: f64) -> String {
    let text = crate::model::unit::share(change);
    format!("{} pp", text.trim_end_matches(['%', '\u{202f}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flame() -> Flame {
        let frame = |name: &str, depth, left, width, change| FlameFrame {
            name: name.into(),
            depth,
            left,
            width,
            samples: (width * 100.0) as u64,
            change,
        };
        Flame {
            total: 100,
            before_total: 90,
            frames: vec![
                frame("all", 0, 0.0, 1.0, Some(0.0)),
                frame("main", 1, 0.0, 0.9, Some(0.1)),
                frame("sha256", 2, 0.0, 0.3, Some(-0.2)),
                frame("zstd", 2, 0.3, 0.5, Some(0.2)),
                frame("zstd_inner", 3, 0.4, 0.2, None),
                frame("idle", 1, 0.9, 0.1, None),
            ],
            hidden: 2,
        }
    }

    #[test]
    fn a_place_hits_its_frame_also_when_zoomed() {
        let f = flame();
        assert_eq!(hit(&f, Zoom::ALL, 2, 0.35), Some(3));
        assert_eq!(hit(&f, Zoom::ALL, 2, 0.85), None);
        let zoom = Zoom::to(&f.frames[3]);
        assert_eq!(hit(&f, zoom, 3, 0.5), Some(4));
        assert_eq!(hit(&f, zoom, 1, 0.0), Some(1));
        assert_eq!(zoom.place(&f.frames[1]), Some((0.0, 1.0)));
        assert_eq!(zoom.place(&f.frames[2]), None);
    }

    #[test]
    fn a_match_above_a_match_counts_once() {
        let found = search(&flame(), " ZSTD ");
        assert_eq!(found.count, 2);
        assert!((found.share - 0.5).abs() < 1e-9, "{found:?}");
        assert_eq!(search(&flame(), "").count, 0);
        assert_eq!(search(&flame(), "nothing").share, 0.0);
    }

    #[test]
    fn keys_walk_the_stacks() {
        let f = flame();
        assert_eq!(moved(&f, 0, "ArrowUp"), Some(1));
        assert_eq!(moved(&f, 1, "ArrowUp"), Some(3), "to the widest callee");
        assert_eq!(moved(&f, 3, "ArrowLeft"), Some(2));
        assert_eq!(moved(&f, 3, "ArrowDown"), Some(1));
        assert_eq!(moved(&f, 1, "ArrowRight"), Some(5));
        assert_eq!(moved(&f, 0, "ArrowDown"), None);
    }

    #[test]
    fn functions_have_their_own_share() {
        let list = functions(&flame());
        let zstd = list.iter().find(|f| f.name == "zstd").expect("there");
        assert!(
            (zstd.own - 0.3).abs() < 1e-9 && (zstd.total - 0.5).abs() < 1e-9,
            "{zstd:?}"
        );
        let main = list.iter().find(|f| f.name == "main").expect("there");
        assert!(
            main.change.is_some_and(|c| (c - 0.1).abs() < 1e-9),
            "with all that it calls: {main:?}"
        );
        assert!(list[0].change.is_some_and(|c| c.abs() > 0.19));
        assert_eq!(table(&list).head.len(), 4);
        assert_eq!(points(-0.2), "−20.0 pp");
        assert_eq!((step(0.0), step(-0.01), step(0.1)), (0, -1, 2));
        assert_eq!(depth(&flame()), 4);
    }
}
