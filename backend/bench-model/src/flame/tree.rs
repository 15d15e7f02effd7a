//! Stacks as a tree of frames in one array: no recursion, no depth to fear.

use std::collections::BTreeMap;

use super::Folded;

/// Counts of one frame, of the stacks drawn and of those compared with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) total: u64,
    pub(super) own: u64,
    pub(super) other_total: u64,
}

pub(super) struct Node {
    pub(super) name: String,
    pub(super) counts: Counts,
    /// Children by name, so that equal stacks are drawn in equal places.
    pub(super) children: BTreeMap<String, usize>,
}

/// The first node is the root above all outermost frames.
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
}

impl Tree {
    pub(super) fn new(folded: &Folded, other: Option<&Folded>) -> Self {
        let mut tree = Self {
            nodes: vec![Node {
                name: "all".to_owned(),
                counts: Counts::default(),
                children: BTreeMap::new(),
            }],
        };
        for (stack, count) in folded.stacks() {
            tree.add(stack, |counts, is_leaf| {
                counts.total = counts.total.saturating_add(count);
                if is_leaf {
                    counts.own = counts.own.saturating_add(count);
                }
            });
        }
        for (stack, count) in other.into_iter().flat_map(Folded::stacks) {
            tree.add(stack, |counts, _| {
                counts.other_total = counts.other_total.saturating_add(count)
            });
        }
        tree
    }

    fn add(&mut self, stack: &str, mut count: impl FnMut(&mut Counts, bool)) {
        let mut at = 0;
        if let Some(root) = self.nodes.first_mut() {
            count(&mut root.counts, false);
        }
        let mut frames = stack.split(';').peekable();
        while let Some(frame) = frames.next() {
            at = self.child(at, frame);
            if let Some(node) = self.nodes.get_mut(at) {
                count(&mut node.counts, frames.peek().is_none());
            }
        }
    }

    fn child(&mut self, parent: usize, name: &str) -> usize {
        let next = self.nodes.len();
        let Some(node) = self.nodes.get_mut(parent) else {
            return parent;
        };
        if let Some(known) = node.children.get(name) {
            return *known;
        }
        node.children.insert(name.to_owned(), next);
        self.nodes.push(Node {
            name: name.to_owned(),
            counts: Counts::default(),
            children: BTreeMap::new(),
        });
        next
    }
}
