//! How evenly this machine works: the same work again and again should take the same time.

use std::hint::black_box;

use crate::clock;

/// Times each piece of work is repeated.
const REPEATS: usize = 20;
/// Rounds of the loop, some 5 ms.
const ROUNDS: u64 = 4_000_000;
/// Bytes that are copied: more than the caches of a core hold.
const COPIED: usize = 16 << 20;

/// The spread of equal work, as a share of its mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Of a loop that touches no memory.
    pub cpu: f64,
    /// Of a copy that touches nothing else.
    pub memory: f64,
}

/// Measures for some 0.2 s. Blocking.
pub fn noise_probe() -> Noise {
    let mut seed = 1_u64;
    let cpu = spread(|| {
        for number in 0..ROUNDS {
            seed = black_box(seed.rotate_left(5) ^ number);
        }
    });
    let from = vec![7_u8; COPIED];
    let mut to = vec![0_u8; COPIED];
    let memory = spread(|| {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    });
    Noise { cpu, memory }
}

/// Relative standard deviation of the times of `work`; the first, which meets cold caches and pages, does not count.
fn spread(mut work: impl FnMut()) -> f64 {
    let mut timed = || {
        let start = clock::now();
        work();
        clock::since(start).as_secs_f64()
    };
    timed();
    let times: Vec<f64> = (0..REPEATS).map(|_| timed()).collect();
    relative_sigma(&times)
}

fn relative_sigma(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // A clock that stands still has nothing to tell.
    if mean > 0.0 {
        (squares / (count - 1.0)).sqrt() / mean
    } else {
        0.0
    }
}

impl std::fmt::Display for Noise {
    /// Such as `cpu 0.8 %, memory 2.1 %`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cpu {:.1} %, memory {:.1} %",
            self.cpu * 100.0,
            self.memory * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_known_values() {
        assert!((relative_sigma(&[9.0, 10.0, 11.0]) - 0.1).abs() < 1e-12);
        assert!(relative_sigma(&[0.0, 0.0]).abs() < 1e-12);
    }

    #[test]
    fn this_machine_is_probed() {
        let noise = noise_probe();
        assert!(noise.cpu.is_finite() && noise.cpu >= 0.0);
        assert!(noise.memory.is_finite() && noise.memory > 0.0, "{noise}");
        assert!(noise.to_string().starts_with("cpu "));
    }
}
