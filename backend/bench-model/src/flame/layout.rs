//! Where each frame is drawn: rows of boxes whose widths are shares of all samples.

use super::Folded;
use super::tree::Tree;

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
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Row and position of every box whose name holds the text.
    pub boxes: Vec<(usize, usize)>,
    /// Share of all samples with such a frame anywhere, each counted once.
    pub share: f64,
}

/// Lays out `folded`; with `before`, each box carries the change since then. Frames that are only in `before` have
/// no width and are not drawn. Boxes narrower than `min_width` (a share of the width) are left out with everything
/// inside them.
pub fn layout(folded: &Folded, before: Option<&Folded>, orientation: Orientation, min_width: f64) -> Layout {
    let tree = Tree::new(folded, before);
    let mut rows: Vec<Vec<Frame>> = Vec::new();
    let mut scale: f64 = 0.0;
    let total = folded.total();
    let other_total = before.map(Folded::total);
    let share = |count: u64, of: u64| if of == 0 { 0.0 } else { count as f64 / of as f64 };
    // Node, depth with the root at 0, left edge in samples.
    let mut open: Vec<(usize, usize, u64)> = vec![(0, 0, 0)];
    while let Some((at, depth, left)) = open.pop() {
        let Some(node) = tree.nodes.get(at) else { continue };
        let width = share(node.counts.total, total);
        if node.counts.total == 0 || width < min_width {
            continue;
        }
        let delta = other_total.map(|other| width - share(node.counts.other_total, other));
        scale = scale.max(delta.unwrap_or(0.0).abs());
        while rows.len() <= depth {
            rows.push(Vec::new());
        }
        if let Some(row) = rows.get_mut(depth) {
            row.push(Frame {
                name: node.name.clone(),
                x: share(left, total),
                width,
                total: node.counts.total,
                own: node.counts.own,
                delta,
                depth: depth.saturating_sub(1),
            });
        }
        let mut edge = left;
        for child in node.children.values() {
            open.push((*child, depth + 1, edge));
            edge = edge.saturating_add(tree.nodes.get(*child).map_or(0, |child| child.counts.total));
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    if orientation == Orientation::Flame {
        rows.reverse();
    }
    Layout { rows, total, scale }
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
            0.0,
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
        let flame = layout(&folded("main;a 1\n"), None, Orientation::Flame, 0.0);
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
            0.0,
        );
        assert_eq!(same.scale, 0.0);
        let moved = layout(
            &folded("m;a 3\nm;b 1\n"),
            Some(&folded("m;a 1\nm;c 1\n")),
            Orientation::Icicle,
            0.0,
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
            0.0,
        );
        let found = all.search("read");
        assert_eq!(found.boxes.len(), 3);
        assert!((found.share - 0.8).abs() < 1e-12, "{found:?}");
        assert_eq!(all.search("").boxes, []);
        let wide = layout(&folded("m;a 99\nm;b;c 1\n"), None, Orientation::Icicle, 0.05);
        assert_eq!(wide.rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert!(
            layout(&Folded::default(), None, Orientation::Flame, 0.0)
                .rows
                .is_empty()
        );
    }
}
