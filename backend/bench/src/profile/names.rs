//! From counted addresses to lines `thread;outermost;…;innermost COUNT`.

use std::collections::HashMap;

use fleethold_bench_model::flame::{MAX_DEPTH, MAX_FRAME_NAME};

use super::drain::{Counts, Stack};
use super::objects::Objects;

/// The first frame of a thread's stacks whose beginning is not known.
const CUT: &str = "[cut]";
/// How many stacks were to be taken but had no room; in place of a thread.
const LOST: &str = "[lost]";

/// Folded stacks, in no order.
pub(super) fn text(counts: &Counts) -> String {
    let mut names = Names {
        objects: &counts.objects,
        of_place: HashMap::new(),
    };
    let mut text = String::new();
    for (stack, count) in &counts.stacks {
        text.push_str(&format!("{} {count}\n", names.line(stack)));
    }
    if counts.lost > 0 {
        text.push_str(&format!("{LOST} {}\n", counts.lost));
    }
    text
}

struct Names<'a> {
    objects: &'a Objects,
    /// The functions at a place, innermost first: more than one where some were inlined.
    of_place: HashMap<u64, Vec<String>>,
}

impl Names<'_> {
    /// Outermost frame first; the thread's name without its number is the first.
    fn line(&mut self, stack: &Stack) -> String {
        let mut frames: Vec<&str> = Vec::new();
        for place in &stack.calls.places {
            let objects = self.objects;
            self.of_place.entry(*place).or_insert_with(|| at(*place, objects));
        }
        for place in &stack.calls.places {
            let names = self.of_place.get(place).into_iter().flatten();
            frames.extend(names.map(String::as_str));
        }
        // Room for the thread and for the sign that some are not there.
        let whole = stack.calls.whole && frames.len() < MAX_DEPTH;
        frames.truncate(MAX_DEPTH - 2);
        if !whole {
            frames.push(CUT);
        }
        let thread = thread_name(&stack.thread);
        frames.push(&thread);
        frames.reverse();
        frames.join(";")
    }
}

fn thread_name(bytes: &[u8]) -> String {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    frame_name(if name.is_empty() { "thread" } else { name })
}

/// The functions at a place, innermost first; the object's name when it does not tell.
fn at(place: u64, objects: &Objects) -> Vec<String> {
    let mut names = Vec::new();
    // The crate looks one byte before what it is given: it expects the place after a call.
    let after = usize::try_from(place).unwrap_or(usize::MAX).saturating_add(1);
    backtrace::resolve(std::ptr::without_provenance_mut(after), |symbol| {
        // The other form of names has a hash at the end.
        names.extend(symbol.name().map(|name| frame_name(&format!("{name:#}"))));
    });
    if names.is_empty() {
        let object = objects.at(place).map_or("unknown", |object| &object.name);
        names.push(frame_name(&format!("[{object}]")));
    }
    names
}

/// What separates frames and stacks cannot be part of a name, nor is there room for more than [`MAX_FRAME_NAME`] bytes.
fn frame_name(name: &str) -> String {
    let mut name = name.replace(';', ",").replace(['\n', '\r'], " ");
    name.truncate(name.floor_char_boundary(MAX_FRAME_NAME));
    name
}

#[cfg(test)]
mod tests {
    use super::super::unwind::Calls;
    use super::*;

    fn stack(thread: &[u8], places: Vec<u64>, whole: bool) -> Stack {
        let mut name = [0; 16];
        name[..thread.len()].copy_from_slice(thread);
        Stack {
            thread: name,
            calls: Calls { places, whole },
        }
    }

    fn lines(stacks: Vec<(Stack, u64)>, lost: u64) -> Vec<String> {
        let counts = Counts {
            stacks: stacks.into_iter().collect(),
            lost,
            objects: Objects::default(),
        };
        let mut lines: Vec<String> = text(&counts).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    #[test]
    fn what_is_missing_is_said() {
        let stacks = vec![
            (stack(b"worker-12", vec![1], true), 3),
            (stack(b"a;b\n", vec![1, 2], false), 4),
        ];
        assert_eq!(
            lines(stacks, 7),
            [
                "[lost] 7",
                "a,b ;[cut];[unknown];[unknown] 4",
                "worker;[unknown] 3"
            ]
        );
        assert_eq!(lines(vec![(stack(b"7", vec![], true), 1)], 0), ["thread 1"]);
    }

    #[test]
    fn a_stack_too_deep_loses_its_beginning_not_its_end() {
        let deep = lines(vec![(stack(b"t", vec![1; MAX_DEPTH - 1], true), 1)], 0);
        let more = lines(vec![(stack(b"t", vec![1; MAX_DEPTH], true), 1)], 0);
        assert!(deep[0].starts_with("t;[unknown];"), "{deep:?}");
        assert!(more[0].starts_with("t;[cut];"), "{more:?}");
        for line in [deep, more] {
            fleethold_bench_model::flame::Folded::parse(&line[0]).unwrap();
        }
    }

    #[test]
    fn a_name_too_long_is_cut_between_characters() {
        let name = frame_name(&"ä".repeat(MAX_FRAME_NAME));
        assert!(name.len() <= MAX_FRAME_NAME && name.ends_with('ä'));
    }
}
