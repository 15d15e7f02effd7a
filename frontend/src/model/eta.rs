//! When a job will be done: a band, never a bare time. The band narrows as the job goes on; it does not jump.

use crate::model::series::Series;

/// Seconds left: fastest, expected, slowest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eta {
    /// If it goes on as fast as in its best stretch.
    pub early_s: f64,
    /// At the median rate.
    pub middle_s: f64,
    /// If it goes on as slowly as in its worst stretch.
    pub late_s: f64,
}

/// Samples below which nothing is promised.
const ENOUGH: usize = 6;

/// Estimates from the rates of the job so far; `done` and `left` in the unit of the rates, times a second.
///
/// The quartiles of the recent half of the samples make the band; the mean since the start pulls the middle so that a
/// short stall neither hides the estimate nor makes it leap.
pub fn estimate(rates: &Series, done: f64, elapsed_s: f64, left: f64) -> Option<Eta> {
    if rates.len() < ENOUGH || elapsed_s <= 0.0 || done <= 0.0 {
        return None;
    }
    let mut recent: Vec<f64> = rates
        .iter()
        .rev()
        .take((rates.len() / 2).max(ENOUGH))
        .map(|s| s.v)
        .collect();
    recent.sort_by(f64::total_cmp);
    let quantile = |q: f64| {
        recent
            .get(((recent.len() - 1) as f64 * q).round() as usize)
            .copied()
            .unwrap_or(0.0)
    };
    let mean = done / elapsed_s;
    let blend = |rate: f64| (rate + mean) / 2.0;
    let middle = blend(quantile(0.5)).max(1e-3);
    // at least 2 % either way: a perfectly even past is no promise
    let fast = blend(quantile(0.9)).max(middle * 1.02);
    let slow = blend(quantile(0.1)).clamp(middle * 0.2, middle * 0.98);
    Some(Eta {
        early_s: left / fast,
        middle_s: left / middle,
        late_s: left / slow,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::series::Sample;

    fn rates(values: impl IntoIterator<Item = f64>) -> Series {
        Series::from_samples(
            values
                .into_iter()
                .enumerate()
                .map(|(i, v)| Sample { t: i as f64, v }),
        )
    }

    #[test]
    fn an_even_job_gets_a_narrow_band_around_the_truth() {
        let eta = estimate(&rates([100.0; 50]), 5_000.0, 50.0, 1_000.0).expect("enough samples");
        assert!((eta.middle_s - 10.0).abs() < 1e-9);
        assert!(eta.early_s < eta.middle_s && eta.middle_s < eta.late_s && eta.late_s < 11.0);
    }

    #[test]
    fn a_stall_does_not_hide_the_estimate() {
        let eta = estimate(
            &rates((0..50).map(|i| if i > 40 { 0.0 } else { 100.0 })),
            4_100.0,
            50.0,
            1_000.0,
        );
        let eta = eta.expect("still an estimate");
        assert!(eta.late_s.is_finite() && eta.late_s < 200.0, "{eta:?}");
    }

    #[test]
    fn nothing_is_promised_too_early() {
        assert_eq!(estimate(&rates([1.0; 3]), 10.0, 3.0, 10.0), None);
        assert_eq!(estimate(&rates([1.0; 30]), 0.0, 30.0, 10.0), None);
    }
}
