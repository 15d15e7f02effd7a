//! Where each frame is drawn: rows of boxes whose widths are shares of all samples.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Folded;
use super::sweep::{Swept, sweep};

/// Which way the stacks grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Orientation {
    /// Outermost frame at the bottom: the first row is the deepest.
    #[default]
    Flame,
    /// Outermost frame at the top: the first row is the root.
    Icicle,
}

/// One box.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Name of the frame.
    pub name: String,
    /// Left edge in 0..1 of the width.
    pub x: f64,
    /// Width as a share of all samples, in 0..=1.
    pub width: f64,
    /// Samples with this frame at this place.
    pub total: u64,
    /// Samples in which it is the innermost frame.
    pub own: u64,
    /// With something to compare with: share now minus share there, in -1..=1. Shares, so that recordings of
    /// different length stand on one scale.
    pub delta: Option<f64>,
    /// Number of frames outside of it, the root not counted.
    pub depth: usize,
}

/// All boxes.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Rows from top to bottom, each from left to right.
    pub rows: Vec<Vec<Frame>>,
    /// Samples of the whole picture.
    pub total: u64,
    /// The largest distance of any delta from 0: the end of the one colour scale. 0 without a comparison.
    pub scale: f64,
    /// Frames that are not drawn: too narrow, or too many.
    pub hidden: u64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Row and position of every box whose name holds the text.
    pub boxes: Vec<(usize, usize)>,
    /// Share of all samples with such a frame anywhere, each counted once.
    pub share: f64,
}

/// What is drawn of all frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Narrower boxes, as a share of the width, are left out with everything inside them.
    pub min_width: f64,
    /// Boxes at most: the widest, of equally wide ones the outer ones, so that none loses the box it stands on.
    pub max_frames: usize,
}

impl Limits {
    /// Everything.
    pub const NONE: Self = Self {
        min_width: 0.0,
        max_frames: usize::MAX,
    };
}

/// A frame to draw; the least of two is the one to leave out.
struct Kept<'a>(Swept<'a>);

impl Kept<'_> {
    fn rank(&self) -> (u64, Reverse<usize>, Reverse<u64>) {
        (self.0.total, Reverse(self.0.depth), Reverse(self.0.left))
    }
}

impl PartialEq for Kept<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Kept<'_> {}

impl PartialOrd for Kept<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Lays out `folded`; with `before`, each box carries the change since then. Frames that are only in `before` have
/// no width and are not drawn. Takes the memory of the boxes that are drawn, not of all frames.
pub fn layout(folded: &Folded, before: Option<&Folded>, orientation: Orientation, limits: Limits) -> Layout {
    let total = folded.total();
    let other_total = before.map(Folded::total);
    let share = |count: u64, of: u64| if of == 0 { 0.0 } else { count as f64 / of as f64 };
    let mut kept: BinaryHeap<Reverse<Kept<'_>>> = BinaryHeap::new();
    let mut hidden: u64 = 0;
    sweep(folded, before, |frame| {
        if frame.total == 0 {
            return;
        }
        if share(frame.total, total) < limits.min_width {
            hidden += 1;
            return;
        }
        kept.push(Reverse(Kept(*frame)));
        if kept.len() > limits.max_frames {
            kept.pop();
            hidden += 1;
        }
    });
    let mut rows: Vec<Vec<Frame>> = Vec::new();
    let mut scale: f64 = 0.0;
    for Reverse(Kept(frame)) in kept {
        let width = share(frame.total, total);
        let delta = other_total.map(|other| width - share(frame.other_total, other));
        scale = scale.max(delta.unwrap_or(0.0).abs());
        while rows.len() <= frame.depth {
            rows.push(Vec::new());
        }
        if let Some(row) = rows.get_mut(frame.depth) {
            row.push(Frame {
                name: frame.name.to_owned(),
                x: share(frame.left, total),
                width,
                total: frame.total,
                own: frame.own,
                delta,
                depth: frame.depth.saturating_sub(1),
            });
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.x.total_cmp(&b.x).then_with(|| a.name.cmp(&b.name)));
    }
    if orientation == Orientation::Flame {
        rows.reverse();
    }
    Layout {
        rows,
        total,
        scale,
        hidden,
    }
}

impl Layout {
    /// Boxes whose name holds `text`, without regard to case; nothing for an empty text.
    pub fn search(&self, text: &str) -> Match {
        let needle = text.to_lowercase();
        let mut boxes = Vec::new();
        let mut spans: Vec<(f64, f64)> = Vec::new();
        for (row, frames) in self.rows.iter().enumerate() {
            for (position, frame) in frames.iter().enumerate() {
                if !needle.is_empty() && frame.name.to_lowercase().contains(&needle) {
                    boxes.push((row, position));
                    spans.push((frame.x, frame.x + frame.width));
                }
            }
        }
        // Boxes inside one another cover the same samples: only the covered width counts.
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut share, mut covered) = (0.0, 0.0);
        for (from, to) in spans {
            share += (to - from.max(covered)).max(0.0);
            covered = covered.max(to);
        }
        Match { boxes, share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Folded {
        Folded::parse(text).unwrap()
    }

    #[test]
    fn boxes_stand_on_their_parents() {
        let icicle = layout(
            &folded("main;a;x 3\nmain;a 1\nmain;b 4\nidle 2\n"),
            None,
            Orientation::Icicle,
            Limits::NONE,
        );
        let row = |at: usize| -> Vec<(&str, f64, f64)> {
            icicle.rows[at]
                .iter()
                .map(|f| (f.name.as_str(), f.x, f.width))
                .collect()
        };
        assert_eq!(row(0), [("all", 0.0, 1.0)]);
        assert_eq!(row(1), [("idle", 0.0, 0.2), ("main", 0.2, 0.8)]);
        assert_eq!(row(2), [("a", 0.2, 0.4), ("b", 0.6, 0.4)]);
        assert_eq!(row(3), [("x", 0.2, 0.3)]);
        assert_eq!((icicle.rows[2][0].total, icicle.rows[2][0].own), (4, 1));
        let flame = layout(&folded("main;a 1\n"), None, Orientation::Flame, Limits::NONE);
        assert_eq!(flame.rows[0][0].name, "a");
        assert_eq!(flame.rows[2][0].name, "all");
    }

    #[test]
    fn difference_compares_shares_on_one_scale() {
        // Twice as long a recording with the same shares is no difference.
        let same = layout(
            &folded("m;a 2\nm;b 2\n"),
            Some(&folded("m;a 1\nm;b 1\n")),
            Orientation::Icicle,
            Limits::NONE,
        );
        assert_eq!(same.scale, 0.0);
        let moved = layout(
            &folded("m;a 3\nm;b 1\n"),
            Some(&folded("m;a 1\nm;c 1\n")),
            Orientation::Icicle,
            Limits::NONE,
        );
        let deltas: Vec<_> = moved.rows[2]
            .iter()
            .map(|f| (f.name.as_str(), f.delta.unwrap()))
            .collect();
        assert_eq!(deltas, [("a", 0.25), ("b", 0.25)]);
        assert_eq!(moved.scale, 0.25);
    }

    #[test]
    fn search_counts_each_sample_once_and_narrow_boxes_are_left_out() {
        let all = layout(
            &folded("m;Read;read_at 5\nm;b;read 3\nm;c 2\n"),
            None,
            Orientation::Icicle,
            Limits::NONE,
        );
        let found = all.search("read");
        assert_eq!(found.boxes.len(), 3);
        assert!((found.share - 0.8).abs() < 1e-12, "{found:?}");
        assert_eq!(all.search("").boxes, []);
        let wide = layout(
            &folded("m;a 99\nm;b;c 1\n"),
            None,
            Orientation::Icicle,
            Limits {
                min_width: 0.05,
                ..Limits::NONE
            },
        );
        assert_eq!(wide.rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert!(
            layout(&Folded::default(), None, Orientation::Flame, Limits::NONE)
                .rows
                .is_empty()
        );
    }

    #[test]
    fn the_widest_boxes_are_drawn_and_each_stands_on_another() {
        let text: String = (0..5_000)
            .map(|number| format!("m;group{};leaf!{number};x {}\n", number % 70, number % 90 + 1))
            .collect();
        let stacks = folded(&text);
        let all = layout(&stacks, None, Orientation::Icicle, Limits::NONE);
        let count = |layout: &Layout| layout.rows.iter().map(Vec::len).sum::<usize>();
        let limits = Limits {
            max_frames: 300,
            ..Limits::NONE
        };
        let some = layout(&stacks, None, Orientation::Icicle, limits);
        assert_eq!((count(&all), count(&some)), (2 + 70 + 2 * 5_000, 300));
        assert_eq!(some.hidden, (count(&all) - 300) as u64);
        for (row, frames) in some.rows.iter().enumerate() {
            for frame in frames {
                assert!(all.rows[row].contains(frame), "{frame:?}");
                let stands = |below: &Frame| {
                    below.x <= frame.x + 1e-12 && frame.x + frame.width <= below.x + below.width + 1e-12
                };
                assert!(row == 0 || some.rows[row - 1].iter().any(stands), "{frame:?}");
            }
        }
    }

    #[test]
    fn names_that_sort_around_the_separator_are_one_frame() {
        // In the order of the text, `a!` stands between `a` and `a;`.
        let drawn = layout(
            &folded("a 1\na!;x 2\na;x 4\na;x;y 8\n"),
            None,
            Orientation::Icicle,
            Limits::NONE,
        );
        let row = |at: usize| -> Vec<(&str, u64, u64)> {
            drawn.rows[at]
                .iter()
                .map(|f| (f.name.as_str(), f.total, f.own))
                .collect()
        };
        assert_eq!(row(1), [("a", 13, 1), ("a!", 2, 0)]);
        assert_eq!(row(2), [("x", 12, 4), ("x", 2, 2)]);
    }
}
