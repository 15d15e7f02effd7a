//! Axis ticks at values people count in.

/// Round steps of an axis that starts at zero and reaches at least `max`: at most `most` intervals.
pub fn value_ticks(max: f64, most: usize) -> Vec<f64> {
    let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
    let raw = max / most.max(1) as f64;
    let magnitude = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * magnitude)
        .find(|step| *step >= raw * 0.999_999)
        .unwrap_or(magnitude * 10.0);
    let count = (max / step).ceil().max(1.0) as usize;
    (0..=count).map(|i| i as f64 * step).collect()
}

/// Seconds between time ticks so that a range shows at most `most` of them.
pub fn time_step_s(range_s: f64, most: usize) -> f64 {
    const STEPS: [f64; 17] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0,
        43_200.0, 86_400.0,
    ];
    let raw = range_s / most.max(1) as f64;
    STEPS
        .into_iter()
        .find(|step| *step >= raw)
        .unwrap_or(86_400.0 * (raw / 86_400.0).ceil())
}

/// Ticks of elapsed time inside `from..=to` seconds.
pub fn time_ticks(from_s: f64, to_s: f64, most: usize) -> Vec<f64> {
    let step = time_step_s((to_s - from_s).max(1.0), most);
    let mut tick = (from_s / step).ceil() * step;
    let mut out = Vec::new();
    while tick <= to_s + 1e-9 && out.len() <= most.max(1) + 1 {
        out.push(tick);
        tick += step;
    }
    out
}

/// Elapsed seconds as `0:05`, `12:30`, `1:02:03`.
pub fn elapsed(s: f64) -> String {
    let s = s.max(0.0).round() as u64;
    if s < 3600 {
        format!("{}:{:02}", s / 60, s % 60)
    } else {
        format!("{}:{:02}:{:02}", s / 3600, s % 3600 / 60, s % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_ticks_are_round_and_cover_the_maximum() {
        assert_eq!(
            value_ticks(287.0, 6),
            [0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0]
        );
        assert_eq!(value_ticks(1.0, 4), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(value_ticks(0.0, 2), [0.0, 0.5, 1.0]);
        for max in [0.3, 7.7, 99.0, 1234.5, 9.9e6] {
            let ticks = value_ticks(max, 5);
            assert!(
                ticks.last().is_some_and(|last| *last >= max) && ticks.len() <= 6,
                "{max}: {ticks:?}"
            );
        }
    }

    #[test]
    fn time_ticks_stay_inside() {
        assert_eq!(time_ticks(0.0, 60.0, 4), [0.0, 15.0, 30.0, 45.0, 60.0]);
        assert_eq!(time_ticks(7.0, 22.0, 4), [10.0, 15.0, 20.0]);
        assert_eq!(elapsed(3723.0), "1:02:03");
        assert_eq!(elapsed(65.4), "1:05");
    }
}
