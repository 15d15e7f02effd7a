//! The order in which the two sides are measured.

use crate::random::Random;
use crate::sample::Side;

/// Before and after `runs_per_side` times each, in pairs whose inner order is drawn from `seed`.
///
/// Pairs (randomised blocks of two) keep a drift of the machine from falling on one side, the draw keeps the side
/// that runs second from always finding the caches that the first has warmed.
pub fn interleave(runs_per_side: usize, seed: u64) -> Vec<Side> {
    let mut random = Random::new(seed, 0);
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
        let order = interleave(200, 11);
        assert_eq!(order, interleave(200, 11));
        assert_ne!(order, interleave(200, 12));
        assert!(order.chunks(2).all(|pair| pair[0] == pair[1].other()));
        let first = order.chunks(2).filter(|pair| pair[0] == Side::Before).count();
        assert!((60..140).contains(&first), "{first}");
    }
}
