//! Frames one after the other, innermost first: stacks in the order of their frames have every frame's samples side by
//! side, so no tree is built, and memory is that of one stack however many frames there are.

use super::Folded;

/// A frame with its counts, of the stacks drawn and of those compared with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Swept<'a> {
    pub(super) name: &'a str,
    /// 0 is the root above all outermost frames.
    pub(super) depth: usize,
    /// Left edge in samples.
    pub(super) left: u64,
    pub(super) total: u64,
    pub(super) own: u64,
    pub(super) other_total: u64,
    /// Samples of the frames inside of it that have ended.
    inside: u64,
}

/// Tells `each` of every frame of both, a frame after the frames inside of it. Frames that share a place stand by name,
/// so that equal stacks are drawn in equal places.
pub(super) fn sweep<'a>(folded: &'a Folded, other: Option<&'a Folded>, mut each: impl FnMut(&Swept<'a>)) {
    let mut stacks: Vec<(&str, u64, bool)> = Vec::with_capacity(folded.len() + other.map_or(0, Folded::len));
    stacks.extend(folded.stacks().map(|(stack, count)| (stack, count, true)));
    let others = other.into_iter().flat_map(Folded::stacks);
    stacks.extend(others.map(|(stack, count)| (stack, count, false)));
    // By frames, not by text: a `;` sorts behind characters that names may hold.
    stacks.sort_unstable_by(|a, b| a.0.split(';').cmp(b.0.split(';')));
    let mut open = vec![Swept {
        name: "all",
        ..Swept::default()
    }];
    for (stack, count, is_drawn) in stacks {
        let frames = || stack.split(';');
        let shared = open
            .iter()
            .skip(1)
            .zip(frames())
            .take_while(|(known, name)| known.name == *name)
            .count();
        while open.len() > shared + 1 {
            close(&mut open, &mut each);
        }
        for name in frames().skip(shared) {
            let left = open
                .last()
                .map_or(0, |outer| outer.left.saturating_add(outer.inside));
            open.push(Swept {
                name,
                depth: open.len(),
                left,
                ..Swept::default()
            });
        }
        if let Some(last) = open.last_mut() {
            if is_drawn {
                last.own = last.own.saturating_add(count);
                last.total = last.total.saturating_add(count);
            } else {
                last.other_total = last.other_total.saturating_add(count);
            }
        }
    }
    while !open.is_empty() {
        close(&mut open, &mut each);
    }
}

/// Ends the innermost frame.
fn close<'a>(open: &mut Vec<Swept<'a>>, each: &mut impl FnMut(&Swept<'a>)) {
    let Some(ended) = open.pop() else { return };
    each(&ended);
    if let Some(outer) = open.last_mut() {
        outer.total = outer.total.saturating_add(ended.total);
        outer.inside = outer.inside.saturating_add(ended.total);
        outer.other_total = outer.other_total.saturating_add(ended.other_total);
    }
}
