//! The one source of chance: `ChaCha8` from a seed, so that every number can be had again.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of one seed. Streams of one seed with different numbers are independent of each other.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// A number below `bound`; 0 when the bound is 0. The bias of the multiplication is below `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.0.next_u64()) * (bound as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// True or false, equally likely.
    pub(crate) fn coin(&mut self) -> bool {
        self.0.next_u32() & 1 == 1
    }
}
