//! From registers and a copy of the stack to the calls that led there, by the unwind data of the loaded objects.
//!
//! The data is believed in nothing: every loop has a bound, every address is looked up in the copy, and what does not
//! work out ends the stack, which then is not whole.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::{CfaRule, EhFrameOffset, RegisterRule, UnwindContext, UnwindExpression, UnwindSection};

use super::expression::{Known, Memory, evaluate, register_of};
use super::objects::{ADDRESS_BYTES, Object, Objects};
use super::registers::{COUNT, IP, Registers, SP};

/// Most calls of a stack that are kept, innermost first.
pub(super) const MAX_CALLS: usize = 256;
/// Rows that are kept; a program has some ten thousand places that are met often.
const MAX_ROWS: usize = 1 << 16;

/// A stack's calls.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Calls {
    /// Addresses within the instruction that was running or calling, innermost first.
    pub(super) places: Vec<u64>,
    /// Whether the last place is the thread's first function.
    pub(super) whole: bool,
}

/// How to get from one place to its caller.
struct Row {
    cfa: CfaRule<usize>,
    rules: Vec<(usize, RegisterRule<usize>)>,
    /// A signal came here: the caller's place is an instruction that had not run yet, not the one after a call.
    signal: bool,
}

/// Unwinds stacks, and remembers what it read for that.
pub(super) struct Unwinder {
    objects: Objects,
    rows: HashMap<u64, Option<Rc<Row>>>,
    context: UnwindContext<usize>,
}

impl Unwinder {
    /// With what is loaded now.
    pub(super) fn new() -> Self {
        Self {
            objects: Objects::loaded(),
            rows: HashMap::new(),
            context: UnwindContext::new(),
        }
    }

    /// Looks whether objects came or went.
    pub(super) fn refresh(&mut self) {
        if self.objects.changed() {
            self.objects = Objects::loaded();
            self.rows.clear();
        }
    }

    /// What was loaded when it was looked at last.
    pub(super) fn into_objects(self) -> Objects {
        self.objects
    }

    /// The calls that led to `registers`.
    pub(super) fn calls(&mut self, registers: &Registers, memory: Memory<'_>) -> Calls {
        let mut known = registers.map(Some);
        let mut places = Vec::new();
        // The innermost place is where execution stood; all others are after a call, which may be its function's last
        // instruction.
        let mut exact = true;
        let whole = loop {
            let Some(ip) = known[IP].filter(|ip| *ip != 0) else {
                break true;
            };
            if places.len() == MAX_CALLS {
                break false;
            }
            let place = if exact { ip } else { ip - 1 };
            places.push(place);
            let Some(row) = self.row(place) else { break false };
            let Some(object) = self.objects.at(place) else {
                break false;
            };
            let Some(caller) = caller(object, &row, &known, memory) else {
                break false;
            };
            // A stack grows down, except that a signal may have one of its own. What does not come nearer to the end
            // would go round.
            if !row.signal && caller[SP] <= known[SP] {
                break false;
            }
            known = caller;
            exact = row.signal;
        };
        Calls { places, whole }
    }

    fn row(&mut self, place: u64) -> Option<Rc<Row>> {
        if let Some(row) = self.rows.get(&place) {
            return row.clone();
        }
        let row = self
            .objects
            .at(place)
            .and_then(|object| read_row(object, &mut self.context, place))
            .map(Rc::new);
        if self.rows.len() >= MAX_ROWS {
            self.rows.clear();
        }
        self.rows.insert(place, row.clone());
        row
    }
}

fn read_row(object: &Object, context: &mut UnwindContext<usize>, place: u64) -> Option<Row> {
    let (index, entries, bases) = object.unwind()?;
    let index = index.parse(bases, ADDRESS_BYTES).ok()?;
    let found = index.table()?.lookup(place, bases).ok()?.direct().ok()?;
    // Not by the table's own way to the entry: it takes for granted that this lies behind the first.
    let offset = found.checked_sub(bases.eh_frame.section?)?;
    let offset = EhFrameOffset(usize::try_from(offset).ok()?);
    let entry = entries
        .fde_from_offset(bases, offset, UnwindSection::cie_from_offset)
        .ok()?;
    if !entry.contains(place) {
        return None;
    }
    let row = entry
        .unwind_info_for_address(&entries, bases, context, place)
        .ok()?;
    // Where the return address goes is the same register in all code for this processor.
    if usize::from(entry.cie().return_address_register().0) != IP {
        return None;
    }
    Some(Row {
        cfa: row.cfa().clone(),
        // Vector registers may have rules, too; no address depends on them.
        rules: row
            .registers()
            .map(|(register, rule)| (usize::from(register.0), rule.clone()))
            .filter(|(register, _)| *register < COUNT)
            .collect(),
        signal: entry.is_signal_trampoline(),
    })
}

/// The registers of who called, or nothing when they cannot be told.
fn caller(object: &Object, row: &Row, known: &Known, memory: Memory<'_>) -> Option<Known> {
    let value = |expression: &UnwindExpression<usize>, first: Option<u64>| {
        let (_, entries, _) = object.unwind()?;
        evaluate(expression.get(&entries).ok()?, first, known, memory)
    };
    let cfa = match &row.cfa {
        CfaRule::RegisterAndOffset { register, offset } => {
            register_of(known, *register)?.wrapping_add_signed(*offset)
        }
        CfaRule::Expression(expression) => value(expression, None)?,
    };
    let mut caller = *known;
    // Unless a rule says otherwise: what the CFA is, by its definition.
    caller[SP] = Some(cfa);
    // Without a rule there is no way on.
    let mut returns = false;
    for (register, rule) in &row.rules {
        let word = |address: u64| memory.read(address, ADDRESS_BYTES);
        let found = match rule {
            RegisterRule::Undefined => None,
            RegisterRule::SameValue => known.get(*register).copied().flatten(),
            RegisterRule::Offset(offset) => word(cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => register_of(known, *other),
            RegisterRule::Expression(expression) => value(expression, Some(cfa)).and_then(word),
            RegisterRule::ValExpression(expression) => value(expression, Some(cfa)),
            RegisterRule::Constant(value) => Some(*value),
            // No augmentation defines any here.
            _ => None,
        };
        if *register == IP {
            // Undefined is how a thread's first function says that nobody called it.
            if found.is_none() && *rule != RegisterRule::Undefined {
                return None;
            }
            returns = true;
        }
        *caller.get_mut(*register)? = found;
    }
    returns.then_some(caller)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const NO_MEMORY: Memory<'_> = Memory { start: 0, bytes: &[] };

    #[test]
    fn registers_that_point_nowhere_end_the_stack() {
        let mut unwinder = Unwinder::new();
        for ip in [
            1,
            u64::MAX,
            registers_that_point_nowhere_end_the_stack as fn() as usize as u64,
        ] {
            let mut registers = [u64::MAX; COUNT];
            registers[IP] = ip;
            let calls = unwinder.calls(&registers, NO_MEMORY);
            assert_eq!((calls.places, calls.whole), (vec![ip], false));
        }
    }

    /// Stacks of random places and registers, by the real data and by data with ever more wrong bytes.
    #[test]
    fn damaged_data_ends_stacks_and_nothing_else() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut unwinder = Unwinder::new();
        let code = unwinder.objects.code();
        let bytes: Vec<u8> = (0..4096).map(|_| random.random()).collect();
        let memory = Memory {
            start: 0x1000,
            bytes: &bytes,
        };
        let mut steps = 0;
        for _ in 0..40 {
            for _ in 0..200 {
                let mut registers: Registers = [0; COUNT].map(|_: u64| random.random_range(0x1000..0x2000));
                let lies = code[random.random_range(0..code.len())].clone();
                registers[IP] = random.random_range(lies);
                let calls = unwinder.calls(&registers, memory);
                assert!((1..=MAX_CALLS).contains(&calls.places.len()));
                steps += calls.places.len() - 1;
            }
            unwinder.rows.clear();
            unwinder.objects.damage(|data| {
                // What all else depends on, in its turn.
                if random.random_ratio(1, 4) {
                    data[random.random_range(0..16)] = random.random();
                }
                for _ in 0..data.len() / 64 {
                    let place = random.random_range(0..data.len());
                    data[place] = random.random();
                }
            });
        }
        assert!(steps > 0, "some data still says something");
    }
}
