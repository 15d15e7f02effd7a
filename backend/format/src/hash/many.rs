//! SHA-256 of several messages at once.
//!
//! One SHA-256 is a chain that no CPU without SHA instructions walks quickly; independent ones fill the lanes of its
//! vector registers, one message a lane. Messages are hashed by lanes as far as that is the cheaper way, else one after
//! the other.

use super::Sha256;
#[cfg(target_arch = "x86_64")]
use super::vector::Vector;

const BLOCK: usize = 64;

/// What one digest covers: `bytes`, then `tail`.
#[derive(Copy, Clone, Debug)]
pub struct Message<'a> {
    /// Most of it.
    pub bytes: &'a [u8],
    /// What follows, of the length of a key's id.
    pub tail: Option<&'a [u8; 32]>,
}

impl Message<'_> {
    fn digest(&self) -> [u8; 32] {
        match self.tail {
            None => Sha256::digest(self.bytes),
            Some(tail) => Sha256::new()
                .chain_update(self.bytes)
                .chain_update(tail)
                .finalize(),
        }
    }
}

/// The SHA-256 of each message, in their order.
pub fn digests(messages: &[Message<'_>]) -> Vec<[u8; 32]> {
    #[cfg(target_arch = "x86_64")]
    if let Some(vector) = Vector::of_this_cpu() {
        return lanes::digests(vector, messages);
    }
    messages.iter().map(Message::digest).collect()
}

/// Messages that [`digests`] hashes best together; 1 where it hashes one after the other.
pub fn digests_at_once() -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(vector) = Vector::of_this_cpu() {
        return vector.lanes();
    }
    1
}

#[cfg(target_arch = "x86_64")]
mod lanes {
    use std::array::from_fn;
    use std::cmp::Reverse;

    use super::super::vector::{Compress, NARROW, State, Vector};
    use super::{BLOCK, Message};

    /// Value before the first block (FIPS 180-4 §5.3.3).
    const START: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];

    /// The end of a message: what is left of it after its whole blocks, one bit, zeros, its length in bits
    /// (FIPS 180-4 §5.1.1). Whole blocks itself.
    struct End {
        bytes: [u8; 3 * BLOCK],
        len: usize,
    }

    /// Where a lane is.
    struct Lane<'a> {
        rest: &'a [u8],
        end: Option<&'a [u8]>,
    }

    pub(super) fn digests(vector: Vector, messages: &[Message<'_>]) -> Vec<[u8; 32]> {
        let mut digests = vec![[0; 32]; messages.len()];
        let mut longest_first: Vec<usize> = (0..messages.len()).collect();
        longest_first
            .sort_by_key(|&index| Reverse(messages.get(index).map_or(0, |message| message.bytes.len())));
        for group in longest_first.chunks(vector.lanes()) {
            let lens = group
                .iter()
                .filter_map(|&index| Some(messages.get(index)?.bytes.len()));
            let (alone, together) = group.split_at(hashed_alone(vector, &lens.collect::<Vec<_>>()));
            for &index in alone {
                if let (Some(message), Some(digest)) = (messages.get(index), digests.get_mut(index)) {
                    *digest = message.digest();
                }
            }
            let chosen: Vec<Message<'_>> = together
                .iter()
                .filter_map(|&index| messages.get(index).copied())
                .collect();
            let hashed = match vector.wide {
                Some(wide) if chosen.len() > NARROW => by_lanes(&chosen, wide),
                _ => by_lanes(&chosen, vector.narrow),
            };
            for (&index, hash) in together.iter().zip(hashed) {
                if let Some(digest) = digests.get_mut(index) {
                    *digest = hash;
                }
            }
        }
        digests
    }

    /// How many of the longest messages are cheaper hashed alone: all lanes run until the longest of theirs ends.
    pub(super) fn hashed_alone(vector: Vector, longest_first: &[usize]) -> usize {
        let mut alone_cost = 0_usize;
        let mut best = (usize::MAX, 0);
        for (alone, &longest) in longest_first.iter().enumerate() {
            let pass = vector.pass_cost(longest_first.len() - alone);
            best = best.min((alone_cost.saturating_add(longest.saturating_mul(pass)), alone));
            alone_cost = alone_cost.saturating_add(longest);
        }
        let (by_lanes_cost, alone) = best;
        if alone_cost <= by_lanes_cost {
            longest_first.len()
        } else {
            alone
        }
    }

    /// Hashes at most `L` messages, one a lane; spare lanes repeat what others hash.
    fn by_lanes<const L: usize>(messages: &[Message<'_>], compress: Compress<L>) -> Vec<[u8; 32]> {
        let ends: Vec<End> = messages.iter().map(End::of).collect();
        let mut lanes: Vec<Lane<'_>> = messages.iter().zip(&ends).map(Lane::new).collect();
        let mut digests = vec![[0; 32]; lanes.len()];
        let mut state: State<L> = START.map(|word| [word; L]);
        loop {
            let running = lanes.iter().filter(|lane| !lane.rest.is_empty());
            let Some(shortest) = running.min_by_key(|lane| lane.rest.len()).map(|lane| lane.rest) else {
                return digests;
            };
            // Lanes that ended, and spare ones, go along with what is there; nobody reads what they come to.
            let data: [&[u8]; L] = from_fn(|lane| {
                let rest = lanes.get(lane).map_or(shortest, |lane| lane.rest);
                if rest.is_empty() { shortest } else { rest }
            });
            compress(&mut state, &data, shortest.len() / BLOCK);
            let step = shortest.len();
            for (number, (lane, digest)) in lanes.iter_mut().zip(&mut digests).enumerate() {
                if !lane.rest.is_empty() && lane.advance(step) {
                    for (bytes, word) in digest.chunks_exact_mut(4).zip(&state) {
                        bytes.copy_from_slice(&word.get(number).copied().unwrap_or_default().to_be_bytes());
                    }
                }
            }
        }
    }

    impl End {
        fn of(message: &Message<'_>) -> Self {
            let left = message.bytes.len() % BLOCK;
            let (_, left) = message.bytes.split_at(message.bytes.len() - left);
            let tail = message.tail.map_or(&[][..], |tail| &tail[..]);
            let bits = (message.bytes.len() as u64 + tail.len() as u64) * 8;
            let len = (left.len() + tail.len() + 1 + 8).next_multiple_of(BLOCK);
            let mut bytes = [0; 3 * BLOCK];
            let content = left.iter().chain(tail).chain(&[0x80]);
            for (byte, content) in bytes.iter_mut().zip(content) {
                *byte = *content;
            }
            for (byte, length) in bytes.iter_mut().skip(len - 8).zip(bits.to_be_bytes()) {
                *byte = length;
            }
            Self { bytes, len }
        }
    }

    impl<'a> Lane<'a> {
        fn new((message, end): (&Message<'a>, &'a End)) -> Self {
            let whole = message.bytes.len() / BLOCK * BLOCK;
            let (whole, _) = message.bytes.split_at(whole);
            let (end, _) = end.bytes.split_at(end.len);
            if whole.is_empty() {
                Self { rest: end, end: None }
            } else {
                Self {
                    rest: whole,
                    end: Some(end),
                }
            }
        }

        /// Leaves `bytes` behind; says whether the message is over.
        fn advance(&mut self, bytes: usize) -> bool {
            self.rest = self.rest.get(bytes..).unwrap_or_default();
            if self.rest.is_empty()
                && let Some(end) = self.end.take()
            {
                self.rest = end;
            }
            self.rest.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Contents that differ, so that exchanged lanes show.
    fn contents(lens: &[usize]) -> Vec<Vec<u8>> {
        let byte = |seed: usize, at: usize| {
            (seed.wrapping_mul(31).wrapping_add(at.wrapping_mul(2_654_435_761)) >> 7) as u8
        };
        lens.iter()
            .enumerate()
            .map(|(seed, &len)| (0..len).map(|at| byte(seed + 1, at)).collect())
            .collect()
    }

    fn messages<'a>(contents: &'a [Vec<u8>], tail: Option<&'a [u8; 32]>) -> Vec<Message<'a>> {
        // Every other one has the tail.
        let tails = [tail, None].into_iter().cycle();
        contents
            .iter()
            .zip(tails)
            .map(|(bytes, tail)| Message { bytes, tail })
            .collect()
    }

    #[cfg(target_arch = "x86_64")]
    fn agree(messages: &[Message<'_>]) {
        let expected: Vec<_> = messages.iter().map(Message::digest).collect();
        assert_eq!(digests(messages), expected);
        for vector in Vector::all_of_this_cpu() {
            assert_eq!(lanes::digests(vector, messages), expected, "{vector:?}");
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn agree(messages: &[Message<'_>]) {
        let expected: Vec<_> = messages.iter().map(Message::digest).collect();
        assert_eq!(digests(messages), expected);
    }

    /// Each number of messages, and each length around the borders of a block and of its padding.
    #[test]
    fn many_hash_like_one() {
        for count in 0..=40 {
            let contents = contents(&vec![1000; count]);
            agree(&messages(&contents, Some(&[7; 32])));
        }
        for len in 0..=200 {
            let contents = contents(&[len; 16]);
            agree(&messages(&contents, Some(&[7; 32])));
        }
    }

    #[test]
    fn nothing_hashes_to_nothing() {
        assert!(digests(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn lengths_may_differ(lens in prop::collection::vec(0_usize..5000, 0..40), tail: [u8; 32]) {
            let contents = contents(&lens);
            agree(&messages(&contents, Some(&tail)));
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn one_long_message_does_not_hold_up_the_lanes() {
        for vector in Vector::all_of_this_cpu() {
            assert_eq!(lanes::hashed_alone(vector, &[4096; 8]), 0, "{vector:?}");
            assert_eq!(
                lanes::hashed_alone(vector, &[1 << 20, 64, 64, 64, 64, 64, 64]),
                1,
                "{vector:?}"
            );
            assert_eq!(lanes::hashed_alone(vector, &[4096]), 1, "{vector:?}");
        }
    }
}
