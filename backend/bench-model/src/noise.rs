//! The practical threshold: no difference is called one that the series makes by itself.

use crate::quantile::{MAD_TO_SIGMA, Sorted};

/// Fewest points of a series whose noise is estimated; fewer say too little.
pub const MIN_POINTS: usize = 8;

/// Two independent points of one series differ by less than this many standard deviations in 95 of 100 cases:
/// 1.96 √2.
const TWO_POINTS: f64 = 2.771_807_648_699_169;

/// The relative standard deviation of the noise of a series of positive `values` in the order of its commits.
/// `None` below [`MIN_POINTS`] positive values.
///
/// Estimator: the median absolute difference of the logarithms of neighbours, times 1.4826 / √2. Differences of
/// neighbours forget levels and slow drift (Rice 1984), so a jump between two commits counts once and not for the
/// rest of the series; the median makes it indifferent to up to a quarter of wild points (Rousseeuw & Croux 1993).
pub fn relative_sigma(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values
        .iter()
        .filter(|value| **value > 0.0 && value.is_finite())
        .map(|value| value.ln())
        .collect();
    if logs.len() < MIN_POINTS {
        return None;
    }
    let steps: Sorted = logs
        .iter()
        .zip(logs.iter().skip(1))
        .map(|(one, next)| (next - one).abs())
        .collect();
    Some(steps.median()? * MAD_TO_SIGMA / std::f64::consts::SQRT_2)
}

/// The difference of two points that 95 of 100 pairs of unchanged code stay below: 0.03 for 3 %.
pub fn noise_ratio(values: &[f64]) -> Option<f64> {
    relative_sigma(values).map(|sigma| (sigma * TWO_POINTS).exp_m1())
}

/// The practical threshold of a cell: the user's minimum or the noise of the series, whichever is larger.
pub fn threshold(min_effect_ratio: f64, noise_ratio: Option<f64>) -> f64 {
    min_effect_ratio.max(noise_ratio.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// About normal: the sum of twelve uniform draws.
    fn noise(random: &mut Random) -> f64 {
        (0..12)
            .map(|_| random.below(1 << 30) as f64 / (1_u64 << 30) as f64)
            .sum::<f64>()
            - 6.0
    }

    #[test]
    fn a_level_shift_and_an_outlier_are_no_noise() {
        let mut random = Random::new(5, 0);
        let mut values: Vec<f64> = (0..200)
            .map(|i| (if i < 90 { 10.0 } else { 14.0 }) * (1.0 + 0.02 * noise(&mut random)))
            .collect();
        values[50] = 100.0;
        let sigma = relative_sigma(&values).unwrap();
        assert!((0.016..0.025).contains(&sigma), "{sigma}");
        let ratio = noise_ratio(&values).unwrap();
        assert!((0.045..0.072).contains(&ratio), "{ratio}");
        assert_eq!(threshold(0.02, Some(ratio)), ratio);
        assert_eq!(threshold(0.1, Some(ratio)), 0.1);
    }

    #[test]
    fn too_short_a_history_adds_nothing() {
        assert_eq!(noise_ratio(&[1.0; 7]), None);
        assert_eq!(noise_ratio(&[1.0; 8]), Some(0.0));
        assert_eq!(threshold(0.02, None), 0.02);
    }
}
