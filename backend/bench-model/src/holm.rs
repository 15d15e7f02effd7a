//! Holm's correction: many tests at once, one chance of a false alarm (Holm 1979, Scandinavian J. of Statistics 6).

/// The adjusted p value of each of `p_values`, in their order.
///
/// The k-th smallest of m is multiplied by m - k + 1, made at least as large as the one before it and at most 1.
/// Rejecting where the result is at most alpha keeps the chance of any false rejection in the whole matrix at alpha.
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut at_least: f64 = 0.0;
    for (before, (position, p)) in order.into_iter().enumerate() {
        let left = p_values.len() - before;
        at_least = at_least.max(p * left as f64).min(1.0);
        if let Some(slot) = adjusted.get_mut(position) {
            *slot = at_least;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_example() {
        // Four tests: 4·0.005, 3·0.01, then 2·0.03 and its neighbour may not be smaller than it.
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(adjust(&[]).is_empty());
        assert_eq!(adjust(&[0.7, 0.9]), [1.0, 1.0]);
        assert_eq!(adjust(&[0.04]), [0.04]);
    }
}
