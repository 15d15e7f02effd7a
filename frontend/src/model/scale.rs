//! Axes: values to shares of a plot, linear or logarithmic, with ticks at values people count in.

/// An axis from its low to its high end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Value at the left or lower end.
    pub low: f64,
    /// Value at the other end, always above `low`.
    pub high: f64,
    /// Equal steps are equal factors.
    pub log: bool,
}

/// Steps of linear axes, times a power of ten.
const STEPS: [f64; 5] = [1.0, 2.0, 2.5, 5.0, 10.0];

impl Scale {
    /// Exactly from `low` to `high`; values that leave no room are widened.
    pub fn exact(low: f64, high: f64) -> Self {
        let (low, high) = ordered(low, high);
        Self {
            low,
            high,
            log: false,
        }
    }

    /// Around values, ending at ticks; from zero when they are far apart anyway. Logarithmic only for values above zero.
    pub fn around(values: impl IntoIterator<Item = f64>, most: usize, log: bool) -> Self {
        let (mut low, mut high, mut above_zero) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY);
        for value in values.into_iter().filter(|v| v.is_finite()) {
            low = low.min(value);
            high = high.max(value);
            if value > 0.0 {
                above_zero = above_zero.min(value);
            }
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if log && above_zero.is_finite() {
            let room = (high / above_zero).powf(0.04).max(1.02);
            return Self {
                low: above_zero / room,
                high: high * room,
                log: true,
            };
        }
        let (mut low, high) = ordered(low, high);
        // a small difference far from zero is what the chart is for; else zero is the honest foot
        if low > 0.0 && low < 0.4 * high {
            low = 0.0;
        }
        let step = step((high - low) * 1.04, most);
        let mut foot = (low / step).floor() * step;
        let mut top = (high / step).ceil() * step;
        if low != 0.0 && low - foot < 0.04 * step {
            foot -= step / 2.0;
        }
        if top - high < 0.04 * step {
            top += step / 2.0;
        }
        Self {
            low: foot,
            high: top,
            log: false,
        }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end, beyond for values outside.
    pub fn share(&self, value: f64) -> f64 {
        if self.log {
            let floor = self.low.max(f64::MIN_POSITIVE);
            (value.max(floor * 1e-3) / floor).ln() / (self.high / floor).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// The value at a share.
    pub fn value(&self, share: f64) -> f64 {
        if self.log {
            self.low * (self.high / self.low).powf(share)
        } else {
            self.low + share * (self.high - self.low)
        }
    }

    /// Ticks inside, at most about `most`.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        if self.log {
            return self.log_ticks(most);
        }
        let step = step(self.high - self.low, most);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last.min(first + 50)).map(|i| i as f64 * step).collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        // less than a decade holds hardly a power of ten: linear ticks are easier to read
        if decades < 0.8 {
            let linear = Self { log: false, ..*self };
            return linear.ticks(most);
        }
        let within: &[f64] = if decades * 3.0 <= most as f64 + 1.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let (from, to) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        // as many powers as lie inside, counted before some are left out
        let inside = (self.high.log10().floor() - self.low.log10().ceil() + 1.0).max(1.0) as usize;
        let every = inside.div_ceil(most.max(1)).max(1);
        (from..=to)
            .step_by(every)
            .flat_map(|power| within.iter().map(move |m| m * 10f64.powi(power)))
            .filter(|v| *v >= self.low && *v <= self.high)
            .collect()
    }
}

fn ordered(low: f64, high: f64) -> (f64, f64) {
    if high > low {
        (low, high)
    } else {
        let room = if low == 0.0 { 1.0 } else { low.abs() * 0.05 };
        (low - room, high + room)
    }
}

/// A round step that divides a range into at most `most` intervals.
fn step(range: f64, most: usize) -> f64 {
    let raw = range / most.max(1) as f64;
    let magnitude = 10f64.powf(raw.log10().floor());
    STEPS
        .into_iter()
        .map(|m| m * magnitude)
        .find(|step| *step >= raw * 0.999_999)
        .unwrap_or(magnitude * 10.0)
}

/// An even spread of -1 to 1 for the nth of points that would lie on each other; the same for the same n.
pub fn jitter(n: usize) -> f64 {
    // multiples of the golden ratio never bunch
    let turn = (n as f64 + 1.0) * 0.618_033_988_749_895;
    (turn - turn.floor()) * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_difference_far_from_zero_fills_the_axis() {
        let scale = Scale::around([778.0, 812.0, 1086.0], 6, false);
        assert!(scale.low >= 650.0 && scale.high <= 1200.0, "{scale:?}");
        assert_eq!(scale.ticks(6), [700.0, 800.0, 900.0, 1000.0, 1100.0]);
    }

    #[test]
    fn values_far_apart_start_at_zero() {
        assert_eq!(Scale::around([3.0, 100.0], 5, false).low, 0.0);
        let one = Scale::around([5.0], 5, false);
        assert!(one.low < 5.0 && one.high > 5.0, "{one:?}");
        assert!(Scale::around([], 5, false).high > 0.0);
        assert!(Scale::around([0.0, 0.0], 5, false).high > 0.0);
    }

    #[test]
    fn logarithmic_axes_count_in_powers_of_ten() {
        let scale = Scale::around([6e-8, 1e-2], 6, true);
        assert!(scale.log);
        assert_eq!(scale.ticks(6).len(), 6, "{:?}", scale.ticks(6));
        assert!((scale.share(scale.low)).abs() < 1e-9 && (scale.share(scale.high) - 1.0).abs() < 1e-9);
        assert!((scale.value(scale.share(1e-5)) / 1e-5 - 1.0).abs() < 1e-9);
        let zero = Scale::around([0.0, 10.0], 6, true);
        assert!(zero.log && zero.low > 0.0 && zero.share(0.0).is_finite());
    }

    #[test]
    fn all_values_lie_inside() {
        for log in [false, true] {
            for values in [[1.0, 1.0001], [0.3, 0.9], [1e9, 3e12], [99.9, 100.0]] {
                let scale = Scale::around(values, 6, log);
                for value in values {
                    let share = scale.share(value);
                    assert!((0.0..=1.0).contains(&share), "{value} at {share} of {scale:?}");
                }
                assert!(scale.ticks(6).len() >= 2, "{scale:?} {:?}", scale.ticks(6));
            }
        }
    }

    #[test]
    fn jitter_is_even_and_bounded() {
        let spread: Vec<f64> = (0..100).map(jitter).collect();
        assert!(spread.iter().all(|j| (-1.0..=1.0).contains(j)));
        assert!(spread.iter().sum::<f64>().abs() < 5.0);
    }
}
