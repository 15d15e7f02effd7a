//! The order in which the two sides are measured.

use crate::random::Random;
use crate::sample::Side;

/// The stream of a seed from which field 0 draws its order; those below are for others.
pub const FIRST_STREAM: u64 = 1000;

/// Before and after `runs_per_side` times each, in pairs whose inner order is drawn from `seed`. Fields of one run have
/// the same seed and orders that are independent of each other, and of anything that is drawn from the streams of
/// `ChaCha8` below [`FIRST_STREAM`] with this seed.
///
/// Pairs (randomised blocks of two) keep a drift of the machine from falling on one side, the draw keeps the side
/// that runs second from always finding the caches that the first has warmed.
pub fn interleave(runs_per_side: usize, seed: u64, field: u32) -> Vec<Side> {
    let mut random = Random::new(seed, FIRST_STREAM + u64::from(field));
    (0..runs_per_side)
        .flat_map(|_| {
            if random.coin() {
                [Side::After, Side::Before]
            } else {
                Side::BOTH
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_an_order_that_the_seed_decides() {
        let order = interleave(200, 11, 0);
        assert_eq!(order, interleave(200, 11, 0));
        assert_ne!(order, interleave(200, 12, 0));
        assert_ne!(order, interleave(200, 11, 1));
        assert_ne!(
            interleave(200, 12, 0),
            interleave(200, 11, 1),
            "a seed and the next share nothing"
        );
        assert!(order.chunks(2).all(|pair| pair[0] == pair[1].other()));
        let first = order.chunks(2).filter(|pair| pair[0] == Side::Before).count();
        assert!((60..140).contains(&first), "{first}");
    }
}
