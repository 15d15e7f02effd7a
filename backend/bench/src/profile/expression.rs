//! Expressions of unwind data: how to find an address that no register is a fixed distance from.

use gimli::{
    Encoding, EndianSlice, EvaluationResult, Expression, Format, LittleEndian, Location, Piece, Register,
    Value,
};

use super::objects::ADDRESS_BYTES;
use super::registers::COUNT;

/// Steps of an expression. The longest known ones have some twenty.
const MAX_STEPS: u32 = 1000;

const ENCODING: Encoding = Encoding {
    address_size: ADDRESS_BYTES,
    format: Format::Dwarf32,
    version: 4,
};

/// Bytes of a stack and where they lay.
#[derive(Clone, Copy)]
pub(super) struct Memory<'a> {
    /// Address of the first byte.
    pub(super) start: u64,
    /// What was there.
    pub(super) bytes: &'a [u8],
}

impl Memory<'_> {
    /// The number of `size` bytes at `address`.
    pub(super) fn read(&self, address: u64, size: u8) -> Option<u64> {
        let from = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(from..from.checked_add(usize::from(size))?)?;
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }
}

/// Registers, as far as they are known.
pub(super) type Known = [Option<u64>; COUNT];

/// A register's value, if it is known.
pub(super) fn register_of(known: &Known, register: Register) -> Option<u64> {
    known.get(usize::from(register.0)).copied().flatten()
}

/// What an expression comes to: an address, or a value used as one. It begins with `first`, if there is any.
pub(super) fn evaluate(
    expression: Expression<EndianSlice<'_, LittleEndian>>,
    first: Option<u64>,
    known: &Known,
    memory: Memory<'_>,
) -> Option<u64> {
    let mut evaluation = expression.evaluation(ENCODING);
    evaluation.set_max_iterations(MAX_STEPS);
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let mut state = evaluation.evaluate().ok()?;
    loop {
        // What is answered is part of the expression's own steps, which are counted.
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory {
                address, size, space, ..
            } => {
                if space.is_some() {
                    return None;
                }
                evaluation.resume_with_memory(Value::Generic(memory.read(address, size)?))
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(register_of(known, register)?))
            }
            _ => return None,
        }
        .ok()?;
    }
    match evaluation.result().as_slice() {
        [
            Piece {
                location: Location::Address { address },
                ..
            },
        ] => Some(*address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::SP;
    use super::*;

    const NO_MEMORY: Memory<'_> = Memory { start: 0, bytes: &[] };

    fn evaluated(code: &[u8], memory: Memory<'_>) -> Option<u64> {
        let mut known: Known = [Some(1); COUNT];
        known[SP] = Some(0x1000);
        evaluate(
            Expression(EndianSlice::new(code, LittleEndian)),
            None,
            &known,
            memory,
        )
    }

    /// `DW_OP_breg7 152, DW_OP_deref, DW_OP_plus_uconst 8`: the CFA within libcrypto's SHA-256 for AVX2.
    const SHA: [u8; 6] = [0x77, 0x98, 0x01, 0x06, 0x23, 0x08];

    #[test]
    fn an_address_that_lies_on_the_stack_is_read_from_the_copy() {
        let mut bytes = [0; 0xa0];
        bytes[0x98..].copy_from_slice(&0x2000_u64.to_le_bytes());
        let memory = Memory {
            start: 0x1000,
            bytes: &bytes,
        };
        assert_eq!(evaluated(&SHA, memory), Some(0x2008));
    }

    #[test]
    fn what_is_not_in_the_copy_has_no_value() {
        assert_eq!(evaluated(&SHA, NO_MEMORY), None);
        let cut = Memory {
            start: 0x1000,
            bytes: &[0; 0x9f],
        };
        assert_eq!(evaluated(&SHA, cut), None);
        let above = Memory {
            start: 0x1099,
            bytes: &[0; 64],
        };
        assert_eq!(evaluated(&SHA, above), None);
    }

    #[test]
    fn expressions_that_go_round_or_mean_nothing_end() {
        // `DW_OP_skip -3` jumps to itself.
        assert_eq!(evaluated(&[0x2f, 0xfd, 0xff], NO_MEMORY), None);
        for first in 0..=u8::MAX {
            for second in [0, 1, 0x7f, 0x80, 0xff] {
                // Whatever comes out: no panic, and an end.
                evaluated(&[first, second, second, 0x06], NO_MEMORY);
            }
        }
    }
}
